//! Tasks that build on the changes of others, with real processes and real sandboxes.

use std::path::Path;

use cynode_domain::status::ShownTaskStatus;

use crate::programs::ProgramOutput;
use crate::repositories::{git, system_with_repository};
use crate::system::System;

/// Runs a task on the repository to its end.
fn run_task(
    system: &System,
    remote: &Path,
    name: &str,
    line: &str,
    options: &[&str],
) -> ProgramOutput {
    let create = ["task", "create", "--repo", remote.to_str().unwrap(), "--name", name];
    let work = ["--command", line, "--wait"];
    system.cynork(&[&create[..], options, &work[..]].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_builds_on_two_others_is_pushed_with_their_commits() {
    let (system, _home, remote) = system_with_repository().await;
    let commit =
        |file: &str| format!("echo {file} > {file} && git add . && git commit -qm 'Add {file}'");
    run_task(&system, &remote, "one", &commit("one.txt"), &[]).expect_success();
    run_task(&system, &remote, "two", &commit("two.txt"), &[]).expect_success();

    let line = format!("cat one.txt two.txt && {}", commit("three.txt"));
    let on = ["--on", "one", "--on", "two"];
    run_task(&system, &remote, "three", &line, &on).expect_success();

    let own = system.cynork(&["task", "diff", "three"]).expect_success().stdout;
    let all = system.cynork(&["task", "diff", "three", "--all"]).expect_success().stdout;
    assert!(own.contains("three.txt") && !own.contains("one.txt"), "{own}");
    for file in ["one.txt", "two.txt", "three.txt"] {
        assert!(all.contains(&format!("+{file}")), "{all}");
    }
    let shown = system.cynork(&["task", "get", "three"]).expect_success().stdout;
    assert!(shown.contains("cynode/one") && shown.contains("cynode/two"), "{shown}");
    system.cynork(&["task", "push", "three", "--wait"]).expect_success();
    let log = git(&remote, &["log", "--topo-order", "--format=%s", "cynode/three"]);
    let expected =
        ["Add three.txt", "Merge cynode/two into cynode/one", "Add two.txt", "Add one.txt"];
    for subject in expected.iter().chain(&["first"]) {
        assert!(log.lines().any(|line| line == *subject), "{subject}: {log}");
    }
    assert_eq!(log.lines().count(), 5, "{log}");
    // The branches that it builds on were not pushed.
    let branches = git(&remote, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    assert_eq!(branches, "cynode/three\nmain");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_fails_a_task_at_once_or_is_left_to_it() {
    let (system, _home, remote) = system_with_repository().await;
    for name in ["one", "two"] {
        let line = format!("echo {name} > greeting.txt");
        run_task(&system, &remote, name, &line, &[]).expect_success();
    }
    let on = ["--on", "one", "--on", "two"];

    let failed = run_task(&system, &remote, "strict", "true", &on);

    assert_eq!(failed.code, 1, "{failed:?}");
    let task = system.client.task_get("strict").await.unwrap();
    assert_eq!(task.status, ShownTaskStatus::Failed, "{task:?}");
    let summary = task.summary.unwrap();
    let conflict = "merge conflict: cynode/two conflicts with cynode/one in greeting.txt";
    assert!(summary.contains(conflict), "{summary}");
    let jobs = system.client.task_result("strict").await.unwrap().jobs;
    assert_eq!(jobs.len(), 1, "it was not tried again: {jobs:?}");
    let resolve = "grep -q '^=======' greeting.txt && echo both > greeting.txt";
    let on = ["--on", "one", "--on", "two", "--mark-conflicts"];
    run_task(&system, &remote, "resolve", resolve, &on).expect_success();
    system.cynork(&["task", "push", "resolve", "--wait"]).expect_success();
    assert_eq!(git(&remote, &["show", "cynode/resolve:greeting.txt"]), "both");
    let parents = git(&remote, &["log", "-1", "--format=%P", "cynode/resolve^"]);
    assert_eq!(parents.split(' ').count(), 2, "{parents}");
}
