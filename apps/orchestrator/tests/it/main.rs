//! The orchestrator over HTTP: real router, real listener, real databases.
//!
//! A behaviour is a function over a running [`harness::OrchestratorHarness`], one file per subject;
//! [`on_both_engines!`] generates the tests `sqlite::<behaviour>` and `postgres::<behaviour>` from each. Tests
//! without a database run once, as ordinary tests of their file.
#![expect(clippy::unwrap_used, reason = "behaviours are called by tests; a failure is the finding")]

mod access;
mod accounts;
mod actors;
mod agent_connections;
mod agent_profiles;
mod audit_tampering;
mod bad_input;
mod bad_requests;
mod blob_collection;
mod brain;
mod branching;
mod builds_on;
mod caches;
mod canaries;
mod cancel;
mod capability_leases;
mod changing;
mod chat;
mod collected_changes;
mod console;
mod damage;
mod documents;
mod egress;
mod events;
mod fencing;
mod first_run;
mod gateway;
mod git_credentials;
mod groups;
mod harness;
mod health;
mod history;
mod images;
mod job_tokens;
mod job_traces;
mod mcp;
mod messages;
mod node_keys;
mod node_labels;
mod nodes;
mod notifications;
mod payloads;
mod preferences;
mod profile_boundaries;
mod profile_isolation;
mod profile_narrowing;
mod project_excerpts;
mod project_repositories;
mod pushes;
mod reports;
mod repositories;
mod repository_rules;
mod request_limits;
mod request_lists;
mod request_tools;
mod runs;
mod sandboxes;
mod schedules;
mod secrets;
mod server_names;
mod sign_in;
mod skills;
mod start_triggers;
mod state_tools;
mod steering;
mod storage;
mod tasks;
mod token_bindings;
mod tokens;
mod tool_calls;
mod traces;
mod verification;
mod versions;
mod workflow;

/// Makes each behaviour a test on either engine.
macro_rules! on_both_engines {
    ($($subject:ident { $($behaviour:ident,)+ })+) => {
        mod sqlite {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $behaviour() {
                    let harness = crate::harness::OrchestratorHarness::sqlite().await;
                    Box::pin(crate::$subject::$behaviour(harness)).await;
                }
            )+)+
        }

        mod postgres {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $behaviour() {
                    let harness = crate::harness::OrchestratorHarness::postgres().await;
                    Box::pin(crate::$subject::$behaviour(harness)).await;
                }
            )+)+
        }
    };
}

mod profile_tests;
mod repository_tests;

on_both_engines! {
    notifications {
        the_end_of_a_request_reaches_its_owner_signed_and_once,
        only_administrators_set_the_mail_server,
    }
    request_tools {
        people_and_their_manager_submit_list_show_and_answer_requests,
        an_agent_of_a_task_submits_and_answers_no_request,
        a_schedule_submits_a_request_unless_the_last_one_is_open,
    }
    capability_leases {
        records_about_callers_of_others_are_refused,
        a_lease_ends_with_what_it_was_issued_for,
        leases_are_private_and_their_key_is_the_administrators,
    }
    changing {
        a_person_changes_an_open_task_unless_somebody_else_just_did,
        an_agent_sharpens_and_adds_criteria_and_takes_none_away,
        criteria_stand_while_the_last_result_is_judged,
        prose_that_leaves_no_doubt_is_judged_by_rule,
    }
    brain {
        without_a_model_the_manager_creates_shows_and_cancels_tasks,
        without_a_model_questions_are_shown_and_answered_but_nothing_is_approved,
        without_a_model_work_is_submitted_and_its_questions_are_answered,
        what_an_agent_asks_a_person_waits_in_the_api_and_in_chat_until_it_is_answered,
        the_manager_sees_its_tools_and_is_refused_those_of_sandboxes,
        with_a_model_the_manager_acts_through_the_gateway_and_shows_it,
        big_work_is_classified_before_it_is_planned_and_leaves_no_units_that_nothing_executes,
        work_is_answered_by_rule_while_somebody_waits_where_the_model_is_too_slow,
        a_decision_is_thought_through_egress_and_falls_back_with_its_reason,
        a_model_that_ignores_forced_functions_decides_and_calls_tools_in_words,
    }
    chat {
        a_model_answers_through_the_orchestrator,
        a_streamed_answer_ends_with_its_usage_and_done,
        a_stream_without_usage_has_something_new_in_every_piece,
        tools_are_passed_to_the_model_and_its_calls_back,
        the_project_manager_is_always_among_the_models,
        no_planted_secret_is_in_the_database_or_reaches_the_provider,
        requests_that_break_rules_are_refused_as_openai_does,
        callers_without_a_good_token_are_told_to_authenticate,
        whoever_cannot_answer_is_said_by_code,
        every_fault_of_a_provider_has_its_code,
        every_fault_has_its_outcome_in_every_way_of_asking,
        a_stream_that_breaks_off_ends_with_an_error,
        a_client_that_hangs_up_ends_the_call_to_the_model,
        an_answer_that_does_not_come_is_a_timeout,
        a_stop_keeps_an_answer_that_was_begun,
        a_conversation_is_read_back_by_its_owner_only,
        a_new_thread_is_begun_and_added_to,
        everybody_calls_their_own_project_default,
        a_response_is_made_read_back_and_gone_on_from,
        a_streamed_response_is_told_by_events_and_can_be_named,
        a_function_s_result_finds_its_call_in_the_response_before,
        responses_refuse_what_they_cannot_honour_and_fail_in_openai_s_shape,
        what_is_not_stored_cannot_be_named_and_others_cannot_name_mine,
    }
    server_names {
        each_of_two_servers_of_one_name_is_reached_by_its_owner_alone,
        switches_and_approvals_of_one_server_leave_the_other_of_its_name_alone,
        a_rule_about_one_server_grants_no_other_of_its_name,
        a_server_of_the_system_has_its_name_for_every_user,
        a_renamed_server_stays_denied,
    }
    request_limits {
        a_user_at_the_limit_is_refused_with_every_token_and_another_user_is_served,
        a_place_is_returned_when_a_client_hangs_up_while_a_model_thinks,
        open_streams_use_up_no_requests_and_have_a_limit_of_their_own,
        agents_of_one_project_at_their_limit_leave_places_to_another_project,
        a_message_that_ends_a_waiting_call_is_accepted_at_the_limit,
        rates_are_off_unless_configured_and_then_hold_for_each_user_and_project,
    }
    secrets {
        no_secret_that_agents_or_people_write_down_is_kept,
        what_an_agent_asks_a_model_holds_no_secret,
        no_secret_of_a_command_is_in_an_event,
    }
    egress {
        providers_are_managed_and_tried_by_administrators_alone,
        a_secret_goes_in_and_never_comes_out,
        an_agent_asks_a_model_with_its_token_and_it_is_on_record,
        an_agent_s_answer_comes_in_pieces_and_says_when_it_breaks_off,
        a_routing_preference_counts_for_agents_of_its_own_role_alone,
        refusals_of_the_agents_way_out_have_openai_s_shape,
    }
    messages {
        an_agent_gets_messages_and_calls_of_tools_and_they_are_on_record,
        messages_are_streamed_as_events_and_an_error_ends_the_stream,
        refusals_of_messages_have_anthropics_form,
        no_secret_in_messages_reaches_a_provider_or_the_database,
        tokens_of_messages_are_counted_without_a_provider,
    }
    groups {
        groups_are_made_filled_emptied_and_removed_by_administrators,
        a_groups_preference_reaches_its_members_and_nobody_else,
        a_rule_about_a_group_holds_for_agents_of_whoever_is_in_it,
    }
    skills {
        people_load_read_change_and_remove_skills_with_the_checks_of_the_tools,
        people_see_compare_and_restore_versions_and_release_a_skill_from_quarantine,
        a_groups_skill_is_read_by_its_members,
        the_default_skill_is_replaced_by_administrators_and_stays_so_after_a_start,
    }
    history {
        who_changed_a_preference_and_why_is_read_by_its_owner,
        changes_of_what_access_is_decided_by_are_read_by_administrators,
        a_call_and_a_chat_are_shown_with_what_let_them_through,
    }
    preferences {
        a_preference_is_written_read_and_removed_with_its_versions,
        what_holds_comes_with_its_sources_and_null_hides,
        preferences_of_others_and_odd_ones_are_refused,
    }
    runs {
        a_run_says_where_it_stands_and_who_drives_it,
        runs_are_listed_by_task_project_and_state,
        a_history_tells_what_every_transition_changed,
        two_rows_and_two_runs_are_compared,
        every_decision_is_explained_with_its_input_rule_and_outcome,
        runs_of_others_are_not_found,
    }
    traces {
        a_trace_shows_task_run_and_transitions_and_marks_what_failed,
        a_retry_continues_the_trace_of_its_task,
        traces_of_others_are_not_found,
    }
    steering {
        a_paused_run_is_granted_to_nobody_until_it_is_resumed,
        a_run_under_way_pauses_after_its_node_and_goes_on_from_there,
        a_pause_that_is_taken_back_in_time_is_not_noticed,
        a_run_that_ends_in_its_node_is_not_paused_any_more,
        a_paused_run_can_be_canceled_and_takes_along_what_waits,
        of_pauses_and_claims_at_once_every_run_is_paused_or_told_to,
        nobody_steers_the_runs_of_others,
        a_task_whose_run_asks_is_shown_and_listed_as_waiting,
        a_run_that_asks_waits_without_a_runner_until_it_is_answered,
        a_run_that_asks_can_be_paused_answered_and_canceled,
        of_many_answers_at_once_one_counts,
        an_agent_answers_what_is_unclear_but_approves_nothing,
    }
    branching {
        a_failed_run_is_retried_from_the_step_that_failed,
        a_run_is_retried_from_any_node_that_it_had,
        only_an_ended_run_that_did_not_complete_is_retried_and_only_once,
        a_canceled_run_goes_on_when_its_jobs_have_ended,
        a_run_is_forked_from_any_row_into_a_task_of_its_own,
        a_fork_has_its_name_and_key_and_the_files_of_its_parent,
    }
    versions {
        a_run_goes_on_only_with_a_runner_that_knows_its_graph,
        a_runner_that_cannot_go_on_leaves_the_run_as_it_is_and_says_why,
        one_claim_may_take_several_tasks,
        who_goes_on_gets_the_whole_state_of_compact_checkpoints,
    }
    sign_in {
        a_user_signs_in_with_handle_and_password,
        a_wrong_password_and_an_unknown_handle_get_the_same_answer,
        the_eleventh_attempt_for_one_handle_in_a_minute_is_refused,
        an_access_token_ends_after_fifteen_minutes,
        a_refresh_gives_new_tokens_and_ends_the_old_ones,
        a_replayed_refresh_token_ends_the_session,
        of_concurrent_refreshes_with_one_token_at_most_one_succeeds,
        a_refresh_token_ends_after_seven_days,
        a_signed_out_session_is_over,
        the_system_user_cannot_sign_in,
    }
    tokens {
        an_api_token_is_shown_once_listed_and_revoked,
        an_api_token_ends_on_its_day,
        nobody_revokes_the_token_of_another,
        requests_without_a_good_token_are_told_to_authenticate,
    }
    accounts {
        a_disabled_user_has_no_way_in_until_enabled,
        only_administrators_manage_other_users,
        an_active_administrator_always_remains,
        a_user_changes_the_password_and_stays_signed_in_here_only,
        an_administrator_resets_a_password_and_ends_sessions_and_tokens,
        tokens_expire_unless_told_otherwise_and_show_their_last_use,
    }
    access {
        users_cannot_see_what_belongs_to_each_other,
        members_of_a_projects_group_read_its_work_and_change_nothing,
        administrators_see_what_belongs_to_everybody,
        only_administrators_administer,
        each_kind_of_token_opens_its_own_routes_only,
        nobody_can_take_the_slug_of_anothers_default_project,
    }
    first_run {
        the_first_start_writes_secrets_that_only_their_owner_can_read,
        a_second_start_keeps_the_secrets_and_the_work,
        secrets_without_a_database_are_replaced_by_working_ones,
    }
    bad_input {
        text_with_nul_characters_is_refused_wherever_it_is_stored,
        names_with_nul_characters_are_found_nowhere,
        every_fault_of_a_task_is_named,
        odd_names_become_plain_ones,
        a_name_that_reads_as_an_id_is_refused,
        things_that_do_not_exist_are_not_found,
        odd_pages_are_refused,
        tasks_cannot_wait_for_each_other,
        a_failed_or_canceled_task_is_no_dependency,
        a_task_behind_a_failed_one_says_why_it_will_not_start,
        concurrent_dependencies_never_make_a_cycle,
        odd_projects_are_refused,
        odd_users_are_refused,
        a_task_cannot_ask_for_more_than_the_installation_allows,
        jobs_of_older_tasks_are_held_to_a_lowered_ceiling,
    }
    tasks {
        a_task_name_is_normalised_and_numbered,
        fifty_concurrent_tasks_of_one_name_get_fifty_names,
        one_idempotency_key_gives_one_task,
        concurrent_requests_with_one_idempotency_key_give_one_task,
        pages_hold_every_task_once_newest_first,
        tasks_are_listed_by_the_status_people_see,
        concurrent_first_tasks_share_one_default_project,
        an_inactive_project_takes_no_tasks,
        attachments_are_stored_and_downloaded,
    }
    workflow {
        a_start_is_started_then_already_running_and_names_its_holder_to_others,
        a_start_of_an_unknown_task_is_not_found,
        the_gate_says_why_a_task_may_not_start,
        a_waiting_claim_wakes_when_a_task_is_created,
        a_waiting_claim_wakes_when_a_dependency_completes,
        concurrent_claimers_never_get_the_same_task,
        a_released_task_can_be_started_by_another_at_once,
        an_expired_lease_is_taken_over_with_checkpoint_and_effects,
        a_dispatched_step_has_one_job_however_often_it_is_asked_for,
        a_finished_task_is_closed_and_lets_its_dependents_start,
        a_task_without_checkpoint_cannot_be_resumed,
        a_result_is_judged_by_the_criteria_of_the_task,
        lease_times_out_of_range_are_refused,
    }
    start_triggers {
        a_task_by_api_starts_without_another_step,
        a_task_of_an_agent_starts_like_any_other,
        independent_tasks_run_at_once_and_a_joint_one_waits_for_both,
        a_run_is_told_how_hard_to_try,
    }
    verification {
        findings_are_on_record_and_asking_again_doubles_none,
        concurrent_verifications_write_one_set_of_findings,
        a_check_runs_where_the_step_ran_and_decides,
        a_runner_cannot_take_the_number_of_a_check,
        a_run_shows_what_its_node_waits_for,
        a_file_of_a_failed_attempt_is_no_evidence_for_the_next,
        only_accepted_attempts_of_earlier_steps_are_evidence_about_the_task,
        a_fork_and_a_retry_have_the_inputs_and_none_of_the_evidence,
        an_analyst_reads_the_files_and_changes_of_the_attempt_it_judges,
        an_analyst_of_a_step_before_the_last_reads_the_files_of_that_attempt_alone,
    }
    fencing {
        a_checkpoint_out_of_order_is_refused,
        a_state_that_is_no_object_is_rejected_and_nothing_is_stored,
        the_same_checkpoint_again_changes_nothing,
        concurrent_copies_of_one_checkpoint_are_stored_once,
        a_stale_holder_is_refused_everywhere,
        a_summary_may_quote_anything_a_command_printed,
    }
    cancel {
        canceling_fences_the_runner_and_stops_the_jobs,
        canceling_cascades_to_everything_that_waits,
        canceling_twice_changes_nothing,
        a_completed_task_cannot_be_canceled,
        a_job_that_was_canceled_before_it_arrived_is_not_handed_out,
        claims_and_cancellations_at_once_leave_no_task_half_canceled,
    }
    sandboxes {
        a_command_in_a_sandbox_is_a_job_that_is_none_of_the_steps,
        a_task_that_names_its_node_waits_for_it,
        sandboxes_are_for_the_project_manager_and_open_tasks,
    }
    node_keys {
        a_join_token_does_not_take_over_the_name_of_a_node,
        a_one_time_token_registers_one_node_once,
        of_two_nodes_with_one_token_one_registers,
        a_rotated_node_joins_again_with_its_own_token_only,
        a_removed_node_is_gone_and_its_name_is_free,
        a_node_of_an_older_version_gets_its_key_when_it_joins_again,
    }
    nodes {
        a_node_that_registers_again_keeps_its_id_and_loses_its_old_token,
        long_jobs_of_one_user_do_not_keep_another_waiting,
        a_second_node_with_a_name_in_use_is_rejected_and_changes_nothing,
        a_process_with_a_copied_token_gets_no_job_and_reports_none,
        a_restarted_node_takes_over_at_once_with_the_jobs_it_had,
        a_stopped_node_leaves_its_name_and_not_its_jobs,
        a_job_that_goes_on_with_earlier_files_says_so,
        only_workspaces_of_closed_tasks_may_be_removed,
        an_assignment_is_handed_out_again_until_the_node_has_it,
        a_drained_node_gets_nothing_until_it_is_enabled,
        a_job_that_a_drained_node_has_not_begun_goes_to_another,
        a_waiting_poll_wakes_when_a_job_is_queued,
        jobs_nobody_waits_for_are_forgotten,
        the_least_loaded_node_gets_the_next_job,
        the_steps_of_a_task_stay_on_one_node,
        a_node_without_sandbox_gets_no_job,
        odd_registrations_are_refused,
        a_node_with_a_full_disk_gets_no_job_and_the_task_says_so,
        settings_that_a_running_node_reports_are_used_and_invalid_ones_refused,
    }
    reports {
        output_is_accepted_where_the_last_piece_ended,
        artifacts_are_stored_by_content_listed_and_downloaded,
        a_path_that_climbs_is_refused,
        the_same_result_again_changes_nothing_and_another_is_refused,
        a_job_of_another_node_is_refused,
        a_job_whose_node_falls_silent_is_interrupted,
        a_result_that_comes_late_makes_an_unknown_job_known,
        an_attachment_whose_content_is_missing_is_reported_as_missing,
        a_job_stays_alive_while_its_node_waits_for_news,
        output_may_hold_any_byte,
    }
    caches {
        a_job_has_a_cache_only_if_a_preference_allows_it_and_the_quota_is_not_zero,
        jobs_share_a_cache_only_if_equally_trusted_authors_wrote_their_commands,
        a_step_after_a_handle_to_its_workspace_has_the_cache_of_agents,
        the_caches_of_projects_and_users_are_apart,
        the_caches_of_profiles_of_a_project_are_apart,
    }
    images {
        a_task_in_an_image_runs_on_a_node_that_has_it,
        a_pinned_task_does_not_run_on_a_node_without_its_image,
        only_allowed_images_are_used,
        a_node_cannot_register_images_with_invalid_names,
        agents_list_allowed_images_and_add_one_only_while_a_setting_allows_it,
        commands_of_a_sandbox_run_in_its_image,
    }
    node_labels {
        a_task_runs_on_a_node_with_the_labels_that_it_demands,
        labels_that_are_invalid_or_those_of_a_machine_are_rejected,
    }
    agent_profiles {
        an_administrator_defines_changes_and_deletes_profiles,
        nobody_but_an_administrator_defines_profiles,
        odd_profiles_are_rejected_with_every_fault,
        a_task_names_a_profile_that_exists,
        forks_and_schedules_keep_the_profile,
        a_step_whose_profile_was_deleted_fails_and_does_not_wait,
        an_unreadable_profile_breaks_nothing_else,
    }
    canaries {
        a_job_waits_for_the_canary_run_of_its_revision_on_its_node,
        a_new_revision_needs_its_own_canary_run_and_waiting_jobs_get_it,
        a_failed_canary_run_withdraws_the_admission,
        reports_are_accepted_from_the_holder_of_a_running_canary_job_only,
        a_canary_run_is_one_pinned_task_for_each_usable_node,
        a_canary_run_that_is_interrupted_fails_and_asks_no_person,
        many_jobs_that_wait_for_a_canary_run_do_not_keep_it_from_running,
    }
    request_lists {
        lists_of_requests_are_filtered_by_status_phase_text_and_owner,
    }
    storage {
        files_count_for_the_creator_and_the_project_of_their_task,
        uploads_that_race_for_the_last_bytes_do_not_exceed_the_limit,
        attachments_beyond_a_limit_create_no_task,
        an_agent_stores_files_within_the_limits_of_the_tasks_creator,
        files_of_a_closed_task_are_deleted_by_its_owner_or_an_administrator,
        deleting_the_files_of_a_task_keeps_those_of_its_forks,
        a_fork_and_a_deletion_at_once_leave_no_fork_without_its_files,
        a_fork_counts_its_attachments,
    }
    blob_collection {
        unused_content_is_collected_after_its_grace_period,
        content_that_is_uploaded_while_it_is_collected_is_kept,
        content_that_a_killed_process_left_aside_is_restored,
        content_of_another_database_is_not_collected,
    }
    events {
        events_arrive_in_order_as_soon_as_they_happen,
        a_stream_goes_on_after_the_last_event_seen,
        a_stream_shows_one_task_if_asked_to,
        events_of_others_are_invisible,
        a_stream_ends_when_its_token_no_longer_counts,
        an_unknown_event_id_is_refused,
    }
    tool_calls {
        tools_are_listed_called_refused_and_put_on_record,
        an_edited_record_of_a_call_is_reported_by_the_verification,
        the_record_of_calls_goes_on_in_one_chain_after_a_restart,
        rejected_requests_are_on_record_in_sum,
    }
    audit_tampering {
        a_cut_tail_with_an_earlier_signed_head_is_reported,
        a_dropped_chain_is_reported,
        records_behind_a_forged_anchor_are_reported,
        every_log_is_chained,
        a_rebuilt_chain_of_logs_is_not_extended,
        a_head_kept_elsewhere_proves_what_came_before,
        records_at_impossible_and_taken_positions_are_reported,
        unreadable_rows_of_logs_do_not_stop_the_sealing,
        every_record_reaches_the_configured_targets,
    }
    token_bindings {
        a_token_is_bound_only_to_ids_of_its_user_that_belong_together,
        ids_of_others_are_rejected_in_the_words_for_ids_that_do_not_exist,
        calls_are_on_record_with_checked_ids_only,
    }
    job_traces {
        what_an_agent_recorded_is_in_the_trace_of_its_request_with_its_profile,
        a_sandbox_writes_events_of_no_other_trace_user_profile_or_agent,
        events_of_a_job_are_stored_once_and_bounded,
        only_the_holder_of_an_open_job_of_an_agent_records_its_trace,
        a_project_manager_reads_a_trace_and_an_agent_of_a_task_no_other_one,
    }
    agent_connections {
        connections_of_an_agent_are_in_the_access_log,
        only_the_holder_of_an_open_job_of_an_agent_records_connections,
    }
    job_tokens {
        an_agents_token_ends_when_its_job_is_reported,
        an_agents_token_ends_when_its_waiting_job_is_canceled,
        an_agents_token_ends_when_its_canceled_job_never_arrived,
        an_agents_token_ends_when_the_node_of_its_job_falls_silent,
        agent_tokens_are_forgotten_a_month_after_their_end,
    }
    payloads {
        what_tools_are_told_and_answer_is_stored_nowhere,
    }
    damage {
        a_task_that_cannot_be_read_stops_nothing_else,
        rows_that_cannot_be_read_do_not_keep_it_from_starting,
        a_job_that_cannot_be_read_ends_and_its_node_gets_the_next,
        nothing_is_ready_while_nothing_can_be_written,
        an_idempotency_key_is_good_for_one_request,
        a_file_that_was_changed_is_not_served,
        a_database_that_is_gone_is_not_replaced_beside_files_of_its_tasks,
    }
    health {
        readiness_names_what_is_missing_until_it_is_there,
        unknown_agents_in_the_configuration_are_named_and_can_be_corrected,
        the_status_counts_what_is_going_on,
    }
    schedules {
        a_schedule_is_made_changed_fired_skipped_and_deleted,
        schedules_of_others_are_not_there_and_bad_ones_are_explained,
        agents_reach_the_schedules_of_their_own_project_only,
        no_agent_can_say_that_a_schedule_made_its_task,
        an_agent_schedules_no_work_on_the_repository_of_a_shared_project,
    }
    state_tools {
        preferences_are_written_by_version_and_resolved_by_scope,
        an_analyst_reads_the_preferences_of_its_own_task_only,
        a_token_of_one_task_lists_that_task_and_changes_no_skill,
        an_agent_keeps_notes_until_its_job_ends,
        skill_tools_are_for_those_whom_the_gateway_permits_and_on_record,
        skills_are_scanned_kept_and_read,
        a_token_of_an_analyst_that_a_user_issued_writes_no_findings,
        findings_are_written_listed_and_read,
        agents_change_no_preference_about_verification,
        runs_are_shown_to_those_they_belong_to,
        a_task_is_ended_by_status_but_never_completed_by_hand,
    }
}
