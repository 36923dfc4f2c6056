//! What profiles isolate, narrow and remember, on either engine.

on_both_engines! {
    profile_isolation {
        a_token_without_a_profile_uses_the_profile_of_the_memory_of_its_project,
        no_operation_over_rest_or_mcp_crosses_profiles,
    }
    project_excerpts {
        a_chat_turn_quotes_what_fits_of_its_profile_and_of_no_other,
        hostile_memory_is_fenced_in_chat_and_marked_as_unconfirmed,
        a_plan_quotes_what_fits_and_a_model_that_plans_is_offered_no_catalogue,
        a_default_project_reads_as_empty_before_anything_is_stored,
    }
    profile_boundaries {
        an_agent_reads_work_and_traces_of_its_own_profile_only,
        a_task_of_another_profile_does_not_exist_for_an_agent_of_the_project,
        lists_of_an_agent_have_the_work_of_default_profiles_only,
        an_agent_lists_messages_on_tasks_of_its_own_profile_only,
        an_agent_makes_no_task_wait_for_one_of_another_profile,
        a_push_is_a_task_of_the_profile_of_its_changes,
        schedules_of_other_profiles_do_not_exist_for_an_agent,
    }
    profile_narrowing {
        a_model_that_the_profile_does_not_allow_is_refused_before_anything_is_sent,
        the_budget_of_the_profile_blocks_the_calls_of_a_run,
        the_limits_of_the_profile_lower_those_of_a_job,
        the_hosts_of_the_profile_narrow_those_of_the_agent_of_a_job,
        a_job_shows_the_cost_of_the_model_calls_of_its_agent,
    }
}
