//! Worker nodes, their jobs, and what jobs leave.

on_both_engines! {
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
}
