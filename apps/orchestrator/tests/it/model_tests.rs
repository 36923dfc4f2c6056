//! Answers of models and of the project manager.

on_both_engines! {
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
}
