//! Users, their sessions, and what decides what they may do.

conformance_tests! {
    users {
        a_user_is_found_by_id_and_by_handle,
        a_taken_handle_is_a_duplicate,
        a_new_password_replaces_the_old_one,
        sign_in_records_are_listed_newest_first,
        users_are_listed_by_handle_and_updated,
    }
    groups {
        a_group_reads_back_and_its_name_is_taken_once,
        groups_of_a_user_are_listed_ascending_whenever_they_were_joined,
        groups_are_paged_by_name_for_one_member_or_for_all,
        a_groups_skill_is_read_by_its_members_and_outlives_the_group,
        a_shared_project_is_listed_for_a_member_but_not_among_own_ones,
        a_place_of_a_turn_knows_of_preferences_of_the_users_groups,
    }
    sessions {
        a_session_is_found_by_either_of_its_tokens,
        what_is_presented_is_found_together_with_its_user,
        a_rotated_session_answers_to_its_new_tokens_only,
        a_refresh_token_is_spent_only_once,
        an_ended_session_stays_ended,
        api_tokens_are_paged_newest_first,
        an_api_token_is_revoked_by_its_owner_only_and_for_good,
        a_token_hash_is_stored_only_once,
        all_sessions_and_tokens_of_a_user_end_and_no_others,
        the_last_use_of_a_token_is_recorded_once_in_a_while,
    }
    capability_leases {
        a_lease_is_listed_revoked_once_and_deleted_after_its_end,
        a_retired_lease_key_is_listed_for_a_while,
        a_chain_belongs_to_the_key_that_began_it,
        records_of_a_node_are_stored_once_whatever_is_repeated,
        records_that_do_not_continue_a_nodes_chain_are_refused,
    }
    agent_tokens {
        an_agent_token_is_found_by_its_hash_with_all_it_is_bound_to,
        a_revoked_agent_token_keeps_the_time_it_was_revoked,
        the_end_of_a_job_revokes_its_agent_tokens_only,
        agent_tokens_are_paged_newest_first_for_one_user_or_for_all,
        agent_tokens_that_ended_long_ago_are_forgotten,
    }
    rules {
        a_rule_of_every_kind_of_subject_reads_back_as_written,
        a_removed_rule_is_gone,
    }
    settings {
        a_setting_is_replaced_by_its_next_version_only,
        settings_are_listed_by_prefix_and_page,
        every_touch_raises_the_policy_revision,
    }
    preferences {
        a_scope_has_one_preference_for_a_key,
        a_preference_is_replaced_and_removed_by_version,
        preferences_are_listed_by_prefix_and_page_within_their_scope,
        preferences_of_several_scopes_come_scope_by_scope,
    }
    changes {
        changes_of_a_preference_outlive_it,
        changes_of_a_setting_are_its_own_and_newest_first,
        changes_of_access_are_found_by_thing_and_by_who_made_them,
    }
}
