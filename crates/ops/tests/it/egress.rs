//! Asking models: by whom, with what, at what cost, on record. Each test runs on both databases.

mod calls;
mod credentials;
mod streams;
mod world;

/// Makes each function a test on either engine.
macro_rules! on_both_engines {
    ($($file:ident { $($test:ident,)+ })+) => {
        mod sqlite {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    let world = super::world::World::over(cynode_testkit::sqlite_database()).await;
                    Box::pin(super::$file::$test(world)).await;
                }
            )+)+
        }

        mod postgres {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    let database = cynode_testkit::postgres_database().await;
                    let world = super::world::World::over(database).await;
                    Box::pin(super::$file::$test(world)).await;
                }
            )+)+
        }
    };
}

on_both_engines! {
    calls {
        without_a_provider_there_is_none_to_ask,
        a_call_sends_the_credential_and_is_recorded_with_its_cost,
        a_provider_that_nobody_allows_is_not_asked_and_the_refusal_is_on_record,
        a_denying_rule_wins_over_an_open_provider_for_agents_too,
        an_agent_of_an_administrator_may_use_what_administrators_may,
        a_spent_budget_blocks_before_anything_is_sent,
        one_s_own_models_are_asked_when_the_budget_is_spent,
        one_s_own_models_cost_nothing_also_if_they_do_not_count,
        the_budget_of_a_run_counts_its_own_calls_only,
        a_model_without_a_price_is_refused_while_there_is_a_budget,
        another_provider_answers_when_the_first_cannot,
        a_request_that_is_at_fault_is_not_sent_elsewhere,
        a_provider_that_keeps_failing_is_left_alone,
        preferences_route_the_calls_of_their_own_role_alone,
        models_are_listed_for_those_who_may_use_them,
        calls_are_shown_to_those_whose_they_are_with_their_sums,
        providers_are_checked_tried_and_managed_by_administrators_alone,
    }
    credentials {
        a_secret_is_nowhere_in_the_database_nor_in_anything_shown,
        users_manage_their_own_credentials_and_administrators_all,
        a_rotated_credential_is_used_from_the_next_call_on,
        an_expired_credential_is_not_sent,
        a_new_key_reseals_every_credential_and_the_old_one_opens_none,
        an_interrupted_change_of_the_key_loses_nothing,
        a_missing_key_file_is_refused_loudly_and_nothing_is_lost,
        a_sealed_secret_moved_to_another_row_does_not_open,
        another_process_uses_the_new_key_at_once,
    }
    streams {
        pieces_come_through_and_the_usage_only_if_asked_for,
        a_stream_that_nobody_reads_to_its_end_is_recorded_as_canceled,
        the_record_of_a_call_on_a_tab_is_left_to_whoever_asked,
        another_provider_streams_when_the_first_cannot_begin,
        a_stream_that_breaks_off_fails_and_nobody_else_is_asked,
        a_secret_split_over_pieces_is_taken_out,
        a_secret_in_a_whole_answer_is_taken_out,
    }
}
