//! Tasks and their runs, from the start to the verdict.

on_both_engines! {
    changing {
        a_person_changes_an_open_task_unless_somebody_else_just_did,
        an_agent_sharpens_and_adds_criteria_and_takes_none_away,
        criteria_stand_while_the_last_result_is_judged,
        prose_that_leaves_no_doubt_is_judged_by_rule,
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
    events {
        events_arrive_in_order_as_soon_as_they_happen,
        a_stream_goes_on_after_the_last_event_seen,
        a_stream_shows_one_task_if_asked_to,
        events_of_others_are_invisible,
        a_stream_ends_when_its_token_no_longer_counts,
        an_unknown_event_id_is_refused,
    }
}
