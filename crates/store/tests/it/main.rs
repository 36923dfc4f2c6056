//! The tests of the store, each run against both engines.
//!
//! A test is a function over an open [`cynode_store::Store`] in `conformance/`, one file per aggregate;
//! [`conformance_tests!`] generates `sqlite::<test>` and `postgres::<test>` from it. Tests for one engine are in
//! separate files.
#![expect(clippy::unwrap_used, reason = "called by tests; a panic is a test failure")]

#[macro_use]
mod world;
mod audit_plans;
mod audit_tampering;
mod baseline;
mod blob_groups;
mod checkpoint_reference;
mod conformance;
mod encrypted_connections;
mod list_plans;
mod many_files;
mod old_history;
mod on_postgres;
mod on_sqlite;
mod opening;
mod outdated;
mod quarantine;
mod upgrade;

/// Generates a test per engine.
macro_rules! conformance_tests {
    ($($aggregate:ident { $($test:ident,)+ })+) => {
        mod sqlite {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    let database = cynode_testkit::sqlite_database();
                    let store = cynode_store::Store::open(&database.url).await.unwrap();
                    Box::pin(crate::conformance::$aggregate::$test(store)).await;
                }
            )+)+
        }

        mod postgres {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    let database = cynode_testkit::migrated_postgres_database().await;
                    let store = cynode_store::Store::open(&database.url).await.unwrap();
                    Box::pin(crate::conformance::$aggregate::$test(store)).await;
                }
            )+)+
        }
    };
}

mod access_tests;
mod run_tests;

conformance_tests! {
    traces {
        events_read_back_in_order_and_to_their_user_only,
        a_repeated_event_is_stored_once_and_old_ones_are_deleted,
        a_trace_has_the_rows_of_its_runs_and_of_no_other,
        a_trace_belongs_to_the_profiles_of_its_tasks_and_work_to_its_newest_trace,
        the_counts_of_a_trace_do_not_depend_on_the_limit,
        traces_are_listed_by_their_newest_run,
    }
    schedules {
        a_schedule_reads_back_as_it_was_made_and_as_it_was_changed,
        a_schedules_name_is_taken_for_one_owner_and_project_only,
        schedules_are_counted_and_paged_newest_first_for_one_owner_or_for_all,
        of_many_who_look_at_once_one_fires_a_due_time,
        a_schedule_is_busy_while_a_run_or_a_task_of_it_is_open,
        a_deleted_schedule_takes_its_runs_with_it_and_leaves_their_tasks,
        how_long_there_is_to_wait_is_told_by_schedules_and_claims,
        a_schedule_that_cannot_be_read_keeps_no_other_from_coming_due,
    }
    schedule_runs {
        a_due_time_has_one_run_and_a_skipped_one_is_over,
        who_lost_the_claim_of_a_schedules_run_changes_nothing_more,
        a_schedules_run_that_is_put_off_is_claimed_again_when_its_time_has_come,
        a_schedules_run_that_is_given_back_counts_as_nothing,
        only_the_newest_runs_of_a_schedule_are_kept_and_open_ones_always,
        a_run_whose_task_is_open_is_never_forgotten,
        owners_of_schedules_take_turns_however_many_runs_one_of_them_has,
        the_tasks_of_a_schedules_run_are_made_by_one_of_many,
        times_ahead_that_are_skipped_are_counted,
    }
    project_contexts {
        a_context_is_found_by_its_project_tree_and_rules_only,
        the_contexts_of_a_project_that_were_used_last_stay,
        a_context_that_is_too_long_is_not_stored,
    }
    projects {
        a_project_reads_back_as_it_was_made,
        a_taken_slug_is_not_added_again,
        an_owner_has_at_most_one_default_project,
        projects_are_paged_newest_first_for_one_owner_or_for_all,
        a_project_update_leaves_slug_and_owner_alone,
    }
    tasks {
        a_task_reads_back_as_it_was_asked,
        a_name_is_taken_for_one_user_only,
        an_idempotency_key_gives_one_task,
        a_task_of_an_unknown_user_is_refused,
        tasks_are_paged_newest_first_under_every_filter,
        a_closed_task_never_changes,
        an_open_task_takes_another_name_and_other_criteria,
        a_running_task_keeps_the_time_it_started,
        tasks_are_counted_by_status,
        dependencies_are_kept_once_and_seen_from_both_ends,
        a_task_cannot_wait_for_itself,
    }
    names {
        a_free_stem_has_no_number,
        ten_comes_after_nine,
        a_numbered_name_counts_without_its_stem,
        longer_names_do_not_hide_the_numbered_ones,
        only_names_we_would_number_ourselves_count,
        another_users_names_do_not_count,
    }
    artifacts {
        the_newest_artifact_at_a_path_stays,
        artifacts_are_listed_by_kind_and_path_in_byte_order,
        an_artifact_is_found_by_task_kind_and_path,
        an_output_belongs_to_the_job_that_made_it,
        outputs_before_a_step_are_those_of_the_newest_attempts,
    }
    storage {
        the_bytes_of_files_are_those_of_a_recount,
        files_count_for_one_user_and_one_project,
        content_is_in_use_while_a_file_or_an_earlier_output_has_it,
        a_task_remembers_that_its_attachments_were_deleted,
    }
    events {
        events_are_read_in_the_order_they_were_written,
        events_are_filtered_by_owner_and_by_task,
        a_reader_that_goes_on_by_cursor_sees_every_event_once,
        the_latest_cursor_is_past_everything_written,
        a_reader_advances_over_events_of_others_and_misses_none_of_its_own,
        events_of_a_failed_operation_are_never_seen,
    }
    servers {
        a_server_reads_back_with_its_secrets_and_hides_them_in_debug_output,
        a_server_slug_is_taken_for_its_owner_or_for_the_system,
        a_renamed_server_takes_its_own_tools_and_rules_along,
        a_tool_reads_back_as_it_was_written_and_updated,
        tools_go_with_their_server,
    }
    memory {
        the_newest_note_under_a_key_stays,
        notes_are_listed_by_key_without_content,
        notes_go_with_their_job,
    }
    agent_profiles {
        a_profile_is_replaced_by_its_next_revision_only,
        a_profile_continues_the_revisions_of_a_deleted_one,
        the_newest_canary_run_of_a_revision_admits_a_node_or_not,
    }
    profiles {
        a_profile_is_found_in_its_own_project_only,
        a_project_has_one_default_profile_that_stays,
        a_profile_is_replaced_by_its_next_revision_alone,
        deleting_a_profile_revokes_its_tokens_and_no_others,
        a_profile_is_in_use_until_its_tasks_have_ended,
    }
    project_memory {
        an_entry_reads_back_in_its_own_profile_only,
        a_rule_writes_once_in_a_profile,
        an_entry_is_replaced_by_its_next_revision_in_its_profile_alone,
        entries_go_with_their_profile,
        entries_are_paged_newest_first_by_kind,
        contents_of_a_profile_are_its_own,
    }
    skills {
        a_skill_is_replaced_by_its_next_version_only,
        a_reader_finds_own_skills_those_of_own_projects_and_global_ones,
        versions_of_a_skill_stay_until_they_are_pruned_or_it_is_deleted,
        a_verdict_counts_for_its_text_and_its_rules_only,
    }
    findings {
        a_finding_reads_back_as_it_was_written,
        findings_of_a_task_are_paged_newest_first,
    }
    verdicts {
        the_newest_verdict_of_a_run_on_a_job_takes_the_place_of_the_one_before,
    }
    decisions {
        a_decision_reads_back_as_it_was_written_and_with_its_task_only,
        decisions_are_paged_newest_first_by_user_and_by_task,
    }
    audit {
        a_call_is_read_back_with_what_came_of_it,
        a_call_has_one_outcome,
        many_concurrent_calls_make_one_whole_chain,
        calls_left_open_by_a_dead_writer_are_closed_by_the_next,
        a_call_whose_caller_went_away_is_closed_as_interrupted,
        calls_are_filtered_and_paged_newest_first,
        each_writer_has_a_chain_of_its_own,
        forgetting_the_oldest_records_keeps_the_chain_whole,
        a_second_writer_of_the_same_chain_does_not_break_it,
    }
    audit_logs {
        rows_of_a_log_are_sealed_once_and_in_order,
        concurrent_sealers_of_the_logs_make_one_chain,
    }
    task_agents {
        an_agent_is_found_by_its_role_and_by_its_holder,
        a_role_has_one_open_life_and_the_newest_counts,
        the_newest_agent_checkpoints_of_a_role_are_kept,
    }
    chat {
        a_thread_reads_back_and_grows_younger_with_what_is_said,
        a_number_is_taken_once_for_a_user_and_project,
        the_thread_with_the_highest_number_goes_on,
        threads_are_paged_newest_first_for_their_user_alone,
        the_tail_of_a_thread_is_its_newest_messages_in_order,
        a_message_reads_back_as_it_was_said,
        a_turn_is_found_in_its_thread_without_what_was_said_around_it,
        chat_records_are_listed_newest_first_for_their_user_alone,
        the_place_of_a_chat_is_the_default_project_and_the_thread_that_goes_on,
        the_place_of_a_chat_tells_whether_there_are_preferences_for_it,
    }
    ledger {
        entries_of_every_kind_read_back_as_they_were_entered,
        entries_that_many_add_at_once_are_all_kept,
        entries_that_cannot_be_kept_are_nobody_else_s_loss,
    }
    egress {
        a_provider_is_replaced_by_its_next_version_only,
        providers_are_listed_by_name,
        an_owner_has_one_credential_of_a_name_for_a_provider,
        a_credential_is_replaced_by_its_next_version_only,
        calls_to_models_are_summed_and_listed_under_every_filter,
        decisions_about_a_call_are_kept_in_order,
        money_is_set_aside_only_if_it_fits_into_every_limit,
        an_open_call_becomes_what_it_was_once_and_never_again,
        those_who_set_money_aside_at_once_do_not_pass_the_limit_together,
    }
    messages {
        a_message_reads_back_as_it_was_sent,
        a_key_makes_one_message_of_each_sender_on_each_task,
        messages_are_listed_under_every_filter_from_either_end,
        a_processed_message_waits_no_longer_and_keeps_its_first_mark,
        a_report_is_claimed_by_one_and_only_the_last_claim_counts,
        reports_of_a_task_are_claimed_one_after_the_other,
        of_many_who_claim_reports_of_a_task_at_once_one_gets_the_first,
        a_report_that_is_given_up_says_why_and_is_claimed_no_more,
        a_message_left_to_a_person_waits_until_it_is_answered_once,
        an_instruction_is_delivered_once_and_pending_until_acknowledged,
    }
    work {
        a_plan_of_work_reads_back_with_its_units_in_order,
        a_task_has_one_plan_of_work,
        a_closed_work_unit_never_changes,
    }
    work_requests {
        a_hint_shortens_no_delay_after_a_failure,
        a_hint_is_kept_where_no_delay_follows,
    }
    writes {
        an_operation_that_fails_halfway_leaves_nothing,
        a_callers_own_refusal_comes_back_as_it_is,
        an_operation_that_hides_a_failed_statement_keeps_nothing,
        a_panicking_operation_is_undone_and_the_store_goes_on,
        a_panicking_read_leaves_the_store_usable,
        failing_writes_do_not_harm_their_neighbours,
        many_concurrent_writes_are_all_kept,
        a_reader_cannot_write,
        text_with_a_nul_character_is_refused,
        a_reader_sees_what_was_written_before,
    }
}
