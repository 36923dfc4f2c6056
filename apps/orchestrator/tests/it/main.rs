//! The orchestrator over HTTP: real router, real listener, real databases.
//!
//! A behaviour is a function over a running [`harness::OrchestratorHarness`], one file per subject;
//! [`on_both_engines!`] generates the tests `sqlite::<behaviour>` and `postgres::<behaviour>` from each; lists that
//! belong together have a file `*_tests.rs`. Tests without a database run once, as ordinary tests of their file.
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

mod access_tests;
mod model_tests;
mod node_tests;
mod profile_tests;
mod repository_tests;
mod run_tests;

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
    skills {
        people_load_read_change_and_remove_skills_with_the_checks_of_the_tools,
        people_see_compare_and_restore_versions_and_release_a_skill_from_quarantine,
        a_groups_skill_is_read_by_its_members,
        the_default_skill_is_replaced_by_administrators_and_stays_so_after_a_start,
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
    request_lists {
        lists_of_requests_are_filtered_by_status_phase_text_and_owner,
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
        a_page_of_skills_is_filled_with_those_of_the_bound_project,
        a_token_of_an_analyst_that_a_user_issued_writes_no_findings,
        findings_are_written_listed_and_read,
        agents_change_no_preference_about_verification,
        runs_are_shown_to_those_they_belong_to,
        a_task_is_ended_by_status_but_never_completed_by_hand,
    }
}
