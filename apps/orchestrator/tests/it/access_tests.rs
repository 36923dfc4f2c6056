//! Who may do what, and which records show it.

on_both_engines! {
    capability_leases {
        records_about_callers_of_others_are_refused,
        a_lease_ends_with_what_it_was_issued_for,
        leases_are_private_and_their_key_is_the_administrators,
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
    groups {
        groups_are_made_filled_emptied_and_removed_by_administrators,
        a_groups_preference_reaches_its_members_and_nobody_else,
        a_rule_about_a_group_holds_for_agents_of_whoever_is_in_it,
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
    payloads {
        what_tools_are_told_and_answer_is_stored_nowhere,
    }
}
