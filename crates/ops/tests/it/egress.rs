//! Model calls: access, credentials, cost, records. Each test runs on both databases.

mod apart;
mod calls;
mod credentials;
mod groups;
mod lifecycle;
mod money;
mod request_budget;
mod routing;
mod streams;
mod structured;
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
                    let database = cynode_testkit::migrated_postgres_database().await;
                    let world = super::world::World::over(database).await;
                    Box::pin(super::$file::$test(world)).await;
                }
            )+)+
        }
    };
}

on_both_engines! {
    apart {
        what_was_held_back_is_said_before_a_stream_fails,
        an_answer_beside_its_reader_is_the_same_answer,
        an_answer_beside_its_reader_ends_with_it,
        an_answer_is_given_up_and_on_record_when_the_process_stops,
    }
    calls {
        without_a_provider_there_is_none_to_ask,
        a_call_sends_the_credential_and_is_recorded_with_its_cost,
        a_call_is_a_span_with_its_usage_and_without_what_was_said,
        a_call_that_fails_is_a_span_with_the_class_of_the_error,
        a_provider_that_nobody_allows_is_not_asked_and_the_refusal_is_on_record,
        a_denying_rule_wins_over_an_open_provider_for_agents_too,
        an_agent_of_an_administrator_may_use_what_administrators_may,
        a_spent_budget_blocks_before_anything_is_sent,
        one_s_own_models_are_asked_when_the_budget_is_spent,
        one_s_own_models_cost_nothing_also_if_they_do_not_count,
        the_budget_of_a_run_counts_its_own_calls_only,
        a_model_without_a_price_is_refused_while_there_is_a_budget,
        models_are_listed_for_those_who_may_use_them,
        calls_are_shown_to_those_whose_they_are_with_their_sums,
        providers_are_checked_tried_and_managed_by_administrators_alone,
    }
    routing {
        another_provider_answers_when_the_first_cannot,
        a_request_that_is_at_fault_is_not_sent_elsewhere,
        a_provider_that_keeps_failing_is_left_alone,
        preferences_route_the_calls_of_their_own_role_alone,
    }
    structured {
        a_forced_function_reaches_each_model_in_the_form_that_it_honours,
        a_probe_is_on_record_like_any_call_and_repeated_when_the_provider_changes,
        a_model_that_stops_answering_as_it_was_made_to_is_probed_again,
        a_model_that_cannot_be_probed_is_asked_as_the_caller_said_and_probed_later,
    }
    groups {
        a_groups_rule_and_credential_count_while_the_user_is_in_it,
        a_credential_is_set_for_a_group_that_exists_and_by_administrators,
    }
    credentials {
        a_secret_is_nowhere_in_the_database_nor_in_anything_shown,
        users_manage_their_own_credentials_and_administrators_all,
        a_rotated_credential_is_used_from_the_next_call_on,
        an_expired_credential_is_not_sent,
        a_new_key_reseals_every_credential_and_the_old_one_opens_none,
        an_interrupted_change_of_the_key_loses_nothing,
        what_another_process_was_sealing_while_the_key_changed_still_opens,
        a_missing_key_file_is_refused_loudly_and_nothing_is_lost,
        a_sealed_secret_moved_to_another_row_does_not_open,
        another_process_uses_the_new_key_at_once,
    }
    lifecycle {
        a_disabled_credential_is_not_sent_until_it_is_enabled,
        a_rotation_keeps_the_end_unless_it_is_told_another,
        the_sort_of_a_credential_decides_in_which_header_it_goes,
        the_history_of_a_credential_is_for_its_owner_and_administrators,
    }
    money {
        calls_made_at_once_do_not_pass_the_budget_together,
        a_call_whose_process_died_counts_with_what_was_set_aside,
        streams_that_nobody_reads_to_their_end_use_up_the_budget,
        a_provider_that_does_not_count_is_charged_for_what_it_said,
        what_was_set_aside_is_free_again_once_a_call_has_ended,
        a_call_that_was_turned_away_costs_nothing,
        a_provider_that_asks_to_be_left_alone_is_not_asked_meanwhile,
    }
    request_budget {
        units_of_a_request_do_not_pass_its_budget_together,
        the_budget_of_a_request_limits_no_other_task,
        the_budget_of_a_request_holds_in_warn_mode_and_without_a_price,
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
