//! Runs of tasks, their leases, and their jobs on worker nodes.

conformance_tests! {
    workflow {
        the_newest_run_of_a_task_is_its_run,
        a_run_that_ended_is_never_moved_or_claimed_again,
        the_oldest_free_run_is_next,
        a_run_waits_until_every_dependency_is_completed,
        a_leased_run_is_skipped_until_its_lease_is_over,
        concurrent_claimers_get_every_run_exactly_once,
        the_first_answer_of_an_effect_stays,
        only_effects_after_the_checkpoint_are_listed,
        any_text_survives_in_json,
    }
    moves {
        a_move_advances_the_checkpoint_adds_history_and_tells_of_it,
        a_move_out_of_order_is_not_made,
        a_stale_an_expired_and_a_fenced_holder_move_nothing,
        the_last_move_ends_task_run_and_lease_together,
        a_closed_task_is_not_ended_again,
        moves_of_many_runs_at_once_are_each_made_once,
        the_state_at_every_row_is_what_it_was_then,
        a_move_extends_a_lease_of_which_a_third_is_over,
        an_effect_is_journalled_by_the_holder_only_and_once,
        effects_of_a_name_are_counted_without_those_of_one_thing,
    }
    claims {
        one_claim_takes_several_runs_oldest_first,
        a_run_taken_up_again_is_known_as_such,
        a_run_is_given_only_to_runners_that_know_its_graph,
        a_run_that_needs_a_newer_graph_is_kept_from_older_runners,
        a_run_that_has_not_begun_may_need_a_newer_graph,
        a_run_that_was_put_down_says_why_and_is_left_alone_for_a_while,
        a_run_that_waits_is_left_alone_for_as_long_as_it_is_said_and_woken_at_once,
        a_run_made_with_open_dependencies_waits_until_it_is_let_go,
    }
    leases {
        a_live_lease_is_granted_to_nobody_else,
        what_a_node_waits_for_is_known_while_its_lease_lives,
        a_free_or_expired_lease_is_granted_in_a_higher_epoch,
        a_lease_in_force_passes_its_check,
        a_stranger_can_neither_check_nor_renew_nor_release,
        a_fenced_holder_is_refused,
        an_expired_lease_is_refused_until_it_is_granted_again,
        a_renewed_lease_outlives_its_first_term,
        leases_of_a_runner_that_has_ended_are_free_and_those_of_others_are_not,
        of_many_concurrent_claims_one_is_granted,
    }
    jobs {
        a_job_reads_back_as_it_was_asked,
        a_step_attempt_has_one_job,
        jobs_are_listed_by_step_and_by_whether_they_are_open,
        unassigned_jobs_are_listed_oldest_first_up_to_the_limit,
        only_a_queued_job_is_assigned_or_started,
        jobs_of_a_silent_node_are_taken_back_unless_they_run,
        queued_jobs_of_a_drained_node_are_taken_back,
        a_job_is_renewed_by_the_process_that_holds_it_only,
        a_successor_takes_over_the_jobs_of_its_predecessor_only,
        a_running_job_expires_when_nobody_renews_it,
        renewing_all_saves_running_jobs_and_never_shortens_a_lease,
        a_closed_job_never_changes_again,
        what_came_of_an_expired_job_is_added_once_by_its_holder,
        a_cancel_request_reaches_open_jobs_only,
    }
    placement {
        a_job_is_left_alone_while_somebody_is_asked_where_it_belongs,
        a_job_that_was_given_a_node_waits_for_no_placement,
        open_jobs_of_a_task_gather_where_one_of_them_is,
        jobs_for_a_node_that_takes_none_are_in_nobodys_way,
        of_jobs_of_a_task_that_are_pinned_nowhere_the_oldest_goes_first,
        jobs_whose_node_is_not_there_are_found_after_a_while,
        a_task_of_which_nothing_has_begun_is_pinned_nowhere,
        a_job_that_never_began_leaves_its_task_nowhere,
    }
    sandboxes {
        a_handle_on_a_workspace_reads_back_with_the_node_of_its_job,
        a_handle_that_was_given_up_is_not_counted_and_stays_so,
        a_key_finds_the_job_that_one_handle_made_with_it,
        commands_of_a_run_are_counted_apart_from_its_steps,
        what_ended_commands_left_is_forgotten_up_to_a_number,
        what_ended_commands_left_is_kept_up_to_so_many_bytes_and_the_last_ones_always,
    }
    logs {
        output_is_kept_in_order_and_byte_for_byte,
        a_repeated_piece_of_output_changes_nothing,
        a_gap_in_the_output_is_refused,
        streams_and_jobs_are_kept_apart,
    }
    nodes {
        a_node_that_registers_again_keeps_its_id,
        a_node_is_found_by_slug_and_by_token,
        nodes_are_listed_by_slug_in_byte_order,
        a_poll_activates_a_node_unless_it_is_drained,
        one_process_at_a_time_works_under_a_nodes_name,
        a_silent_node_is_retired,
        a_node_counts_its_open_jobs,
        a_removed_node_leaves_its_name_and_its_row,
        a_join_token_is_used_revoked_and_deleted,
    }
    steering {
        nobody_is_granted_a_paused_run,
        a_run_waits_for_one_thing_after_the_other,
        a_question_is_overdue_when_its_time_is_over_and_its_run_is_open,
        a_branch_begins_with_the_row_it_goes_on_from,
        only_a_failed_or_canceled_task_is_opened_again,
        acts_are_kept_in_their_order_between_transitions,
        runs_are_listed_by_what_they_wait_for,
    }
    runs {
        runs_of_a_task_are_paged_newest_first_with_their_times,
    }
}
