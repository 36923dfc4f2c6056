//! Tasks on git repositories, on either engine.

on_both_engines! {
    repositories {
        a_job_with_a_repository_waits_for_a_node_that_works_on_one,
        every_task_has_a_branch_and_a_fork_has_its_own,
        a_key_with_another_repository_is_a_conflict,
        a_schedule_keeps_the_repository_of_its_task,
        an_address_with_a_password_is_rejected_and_kept_nowhere,
    }
    project_repositories {
        tasks_and_requests_use_the_repository_of_their_project,
        a_repeated_request_returns_its_task_after_the_repository_of_the_project_changed,
        a_key_of_a_task_without_a_repository_is_not_that_of_one_on_its_project,
        members_of_a_shared_project_use_its_repository_and_do_not_change_it,
        a_job_leases_the_credential_that_its_project_names_and_no_other_one,
        tools_use_the_repository_of_a_project,
    }
    repository_rules {
        a_rule_allows_clone_and_denies_push_on_one_host,
        a_denied_clone_creates_no_task_and_no_request_and_starts_no_job,
        without_the_default_rules_repositories_need_one,
        a_clone_that_is_denied_after_its_task_was_created_is_made_by_no_sandbox_and_no_fork,
        a_rule_about_a_task_stops_its_sandboxes_and_no_others,
    }
    builds_on {
        a_task_builds_on_the_newest_changes_and_its_node_gets_those_commits_only,
        changes_that_a_task_cannot_build_on_are_refused_with_a_reason,
        changes_of_another_profile_are_no_input_of_a_task,
        repeated_requests_retries_and_forks_keep_what_a_task_builds_on,
        a_task_on_a_path_runs_where_the_tasks_that_it_builds_on_ran,
        a_task_that_builds_on_others_waits_for_a_node_that_merges_them,
        the_diff_has_the_changes_of_the_task_or_all_of_them,
    }
    git_credentials {
        a_node_leases_the_credential_for_the_host_of_a_job_that_it_holds_and_no_other,
        the_credential_of_another_user_host_or_kind_is_not_leased,
        nothing_is_leased_for_a_repository_that_is_denied_meanwhile,
        credentials_of_git_hosts_are_validated,
    }
    pushes {
        a_push_is_a_task_whose_node_gets_the_commits_and_nothing_else,
        findings_forbid_a_push_or_make_it_wait_for_a_person,
        agents_request_pushes_only_where_a_rule_allows_it_and_people_approve_them,
    }
    collected_changes {
        a_node_uploads_what_it_collected_and_the_task_shows_it,
        changes_are_accepted_from_the_process_that_holds_the_open_job_only,
        a_job_without_a_repository_has_no_changes,
        changes_of_another_user_are_not_there,
        collected_changes_meet_no_criterion_about_files,
        the_diff_is_that_of_the_newest_job_with_a_complete_set,
        changes_count_as_files_and_are_deleted_with_them,
        changes_beyond_a_storage_limit_are_rejected,
        agents_create_tasks_on_repositories_and_read_their_changes,
    }
}
