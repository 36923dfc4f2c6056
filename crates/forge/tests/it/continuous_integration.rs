//! Results of continuous integration.

use cynode_forge::{CiState, ForgeError, ForgeKind};
use cynode_forge_fixture::{FaultKind, ScriptedFault, ScriptedStatusState, commit_id};

use crate::on_each_forge;
use crate::setting::{Setting, TOKEN, small_pages};

on_each_forge!(
    checks_of_the_head_commit_are_combined,
    the_newest_result_of_a_check_counts,
    a_truncated_list_never_passes,
);

async fn read(it: &Setting, number: u64) -> (CiState, Vec<(String, CiState)>) {
    let head = commit_id('b').parse().unwrap();
    let report = it.forge.read_ci(&it.repository(), number, &head).await.unwrap();
    assert_eq!(report.commit, commit_id('b'));
    (report.state, report.checks.into_iter().map(|check| (check.name, check.state)).collect())
}

async fn checks_of_the_head_commit_are_combined(it: Setting) {
    let number = it.open_draft().await.number;
    assert_eq!(read(&it, number).await, (CiState::Absent, vec![]));
    // Of another commit.
    it.server.set_status(it.path, 'a', "lint", ScriptedStatusState::Failure);
    it.server.set_check_run(it.path, 'a', "build", ScriptedStatusState::Failure);
    assert_eq!(read(&it, number).await.0, CiState::Absent);

    it.server.set_status(it.path, 'b', "lint", ScriptedStatusState::Success);
    it.server.set_check_run(it.path, 'b', "build", ScriptedStatusState::Pending);
    let (state, checks) = read(&it, number).await;
    assert_eq!(state, CiState::Pending);
    for expected in [("lint", CiState::Passed), ("build", CiState::Pending)] {
        assert!(
            checks.iter().any(|(name, state)| (name.as_str(), *state) == expected),
            "{checks:?}"
        );
    }

    it.server.set_check_run(it.path, 'b', "build", ScriptedStatusState::Success);
    assert_eq!(read(&it, number).await.0, CiState::Passed);
    it.server.set_status(it.path, 'b', "e2e", ScriptedStatusState::Failure);
    assert_eq!(read(&it, number).await.0, CiState::Failed);
}

async fn the_newest_result_of_a_check_counts(it: Setting) {
    let number = it.open_draft().await.number;
    for state in [
        ScriptedStatusState::Pending,
        ScriptedStatusState::Failure,
        ScriptedStatusState::Pending,
        ScriptedStatusState::Success,
    ] {
        it.server.set_status(it.path, 'b', "lint", state);
        it.server.set_check_run(it.path, 'b', "build", state);
    }

    let (state, checks) = read(&it, number).await;

    assert_eq!(state, CiState::Passed, "{checks:?}");
    assert_eq!(checks.iter().filter(|(name, _)| name == "lint").count(), 1);
}

async fn a_truncated_list_never_passes(it: Setting) {
    let number = it.open_draft().await.number;
    for index in 0..9 {
        let name = format!("check-{index}");
        it.server.set_status(it.path, 'b', &name, ScriptedStatusState::Success);
    }
    let head = commit_id('b').parse().unwrap();

    for (max_pages, state) in [(4, CiState::Passed), (2, CiState::Pending)] {
        let forge = it.connect_with(TOKEN, small_pages(max_pages));
        let report = forge.read_ci(&it.repository(), number, &head).await.unwrap();
        assert_eq!((report.state, report.is_truncated), (state, state == CiState::Pending));
    }
}

#[tokio::test]
async fn a_job_that_may_fail_does_not_fail_the_report_of_gitlab() {
    let it = Setting::new(ForgeKind::Gitlab);
    let number = it.open_draft().await.number;
    it.server.set_status(it.path, 'b', "optional-lint", ScriptedStatusState::Failure);
    it.server.set_status(it.path, 'b', "test", ScriptedStatusState::Success);

    assert_eq!(read(&it, number).await.0, CiState::Passed);
}

#[tokio::test]
async fn a_github_token_without_checks_reads_workflow_runs() {
    let it = Setting::new(ForgeKind::Github);
    let number = it.open_draft().await.number;
    it.server.set_check_run(it.path, 'b', "build", ScriptedStatusState::Failure);
    let message = "Resource not accessible by personal access token".to_owned();
    let refuse = FaultKind::Forbidden { message };
    it.server.fail(ScriptedFault::always("GET", "/check-runs", refuse.clone()));

    assert_eq!(
        read(&it, number).await,
        (CiState::Failed, vec![("build".to_owned(), CiState::Failed)])
    );

    it.server.fail(ScriptedFault::always("GET", "/actions/runs", refuse));
    let head = commit_id('b').parse().unwrap();
    let refused = it.forge.read_ci(&it.repository(), number, &head).await;
    assert!(matches!(refused, Err(ForgeError::Unauthorized { .. })), "{refused:?}");
}
