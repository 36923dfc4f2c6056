//! Tasks on a git repository: checkout, diff, push, with real processes and real sandboxes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cynode_domain::question::Reply;
use cynode_domain::status::ShownTaskStatus;
use cynode_wire::runs::AnswerRun;
use cynode_wire::tasks::TaskView;

use crate::system::{PATIENCE, System, SystemDatabase};
use crate::work::wait_until_closed;

pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    let ran = Command::new("git")
        .current_dir(directory)
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(args)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{args:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// A repository with one file.
pub(crate) fn create_repository() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let remote = home.path().canonicalize().unwrap().join("app");
    fs::create_dir(&remote).unwrap();
    git(&remote, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(remote.join("greeting.txt"), "helo\n").unwrap();
    git(&remote, &["add", "."]);
    git(&remote, &["commit", "--quiet", "-m", "first"]);
    (home, remote)
}

/// A system whose node allows such a repository.
pub(crate) async fn system_with_repository() -> (System, tempfile::TempDir, PathBuf) {
    let (home, remote) = create_repository();
    let config = format!("[node]\nrepository_paths = [{:?}]\n", remote.parent().unwrap());
    (System::with(SystemDatabase::Embedded, &config).await, home, remote)
}

/// Waits until a task has a question for a person.
async fn wait_until_waiting(system: &System, name: &str) -> TaskView {
    let begun = Instant::now();
    loop {
        let task = system.client.task_get(name).await.unwrap();
        if task.status == ShownTaskStatus::Waiting {
            return task;
        }
        assert!(begun.elapsed() < PATIENCE && !task.closed, "{task:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_changes_of_a_task_are_shown_and_pushed_to_a_branch() {
    let (system, _home, remote) = system_with_repository().await;
    let url = remote.to_str().unwrap();
    let line = "sed -i s/helo/hello/ greeting.txt && git commit -qam 'Spell it right'";

    let create = ["task", "create", "--repo", url, "--name", "fix", "--command", line, "--wait"];
    system.cynork(&create).expect_success();

    let patch = system.cynork(&["task", "diff", "fix"]).expect_success().stdout;
    assert!(patch.contains("-helo\n+hello\n"), "{patch}");
    let stat = system.cynork(&["task", "diff", "fix", "--stat"]).expect_success().stdout;
    assert!(stat.contains("greeting.txt") && stat.contains("Spell it right"), "{stat}");
    let printed = system.cynork(&["task", "push", "fix", "--wait"]).expect_success().stdout;
    let head = git(&remote, &["rev-parse", "cynode/fix"]);
    assert!(printed.contains(&format!("cynode/fix is at {head}")), "{printed}");
    assert_eq!(git(&remote, &["show", "cynode/fix:greeting.txt"]), "hello");
    assert_eq!(git(&remote, &["show", "main:greeting.txt"]), "helo");
    // A patch from standard output applies.
    fs::write(remote.join("../p"), patch).unwrap();
    git(&remote, &["apply", "--check", "../p"]);
    // The default branch is nothing that a task pushes to.
    let main = system.cynork(&["task", "push", "fix", "--branch", "main", "--wait"]);
    assert_eq!(main.code, 1, "{main:?}");
    assert_eq!(git(&remote, &["show", "main:greeting.txt"]), "helo");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_what_a_forge_executes_are_pushed_when_a_person_approves() {
    let (system, _home, remote) = system_with_repository().await;
    let line = "mkdir -p .github/workflows && echo 'on: push' > .github/workflows/ci.yml";
    let url = remote.to_str().unwrap();
    let create = ["task", "create", "--repo", url, "--name", "ci", "--command", line, "--wait"];
    system.cynork(&create).expect_success();

    system.cynork(&["task", "push", "ci"]).expect_success();

    let push = wait_until_waiting(&system, "push-ci").await;
    assert_eq!(git(&remote, &["for-each-ref", "refs/heads/cynode"]), "");
    let yes = AnswerRun { reply: Reply::Yes {}, comment: None };
    system.client.run_answer(&push.id.to_string(), &yes).await.unwrap();
    let closed = wait_until_closed(&system.client, push.id, PATIENCE).await;
    assert_eq!(closed.status, ShownTaskStatus::Completed, "{closed:?}");
    assert_eq!(git(&remote, &["show", "cynode/ci:.github/workflows/ci.yml"]), "on: push");
}
