//! Pushes that the node executes: the commits and the branch that it was told, and nothing else.

use std::fs;

use cynode_domain::git::PushOrder;
use cynode_domain::ids::TaskId;
use cynode_domain::job::JobEnding;
use cynode_wire::nodes::Assignment;

use crate::repositories::{RepositoryTestbed, SUCCESS, git};

impl RepositoryTestbed {
    /// A push of the changes of `source` to a branch.
    fn push(&self, source: &Assignment, branch: &str) -> Assignment {
        let (changes, _) = self.changes(source.job_id);
        let order = PushOrder {
            source_task: source.task_id,
            source_job: source.job_id,
            base: changes.base,
            head: changes.head,
            source_branch: changes.branch,
            branch: branch.parse().unwrap(),
            replaces: None,
            is_reviewed: false,
        };
        let push = self.job(TaskId::generate(), "echo this never runs; exit 9");
        Assignment { push: Some(order), ..push }
    }

    /// What a job printed and how it ended.
    async fn outcome(&self, job: &Assignment) -> (JobEnding, String) {
        self.stage.fake.assign(job);
        let result = self.stage.fake.result_of(job.job_id).await;
        (result.ending, result.stdout + &result.stderr)
    }

    fn remote_branch(&self, branch: &str) -> String {
        git(
            &self.remote,
            &["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{branch}")],
        )
    }
}

const FAILURE: JobEnding = JobEnding::Exited { code: 1 };

#[tokio::test(flavor = "multi_thread")]
async fn the_node_pushes_the_commits_that_it_is_told_to_and_to_no_other_place() {
    let bed = RepositoryTestbed::new().await;
    let canary = bed.stage.state.path().join("canary");
    let hook = bed.remote.join(".git/hooks/post-update");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", canary.display())).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let node = bed.stage.start_node().await;
    let source = bed.job(TaskId::generate(), "echo more >> README.md");
    assert_eq!(bed.run(&source).await, SUCCESS);

    let push = bed.push(&source, "feature/readme");
    let head = push.push.as_ref().unwrap().head.to_string();
    let (ending, printed) = bed.outcome(&push).await;
    assert_eq!(ending, SUCCESS, "{printed}");
    assert!(printed.starts_with(&format!("feature/readme is at {head}\n")), "{printed}");
    assert_eq!(bed.remote_branch("feature/readme"), head);
    assert!(!canary.exists(), "hooks of a repository on this machine do not run");
    // The same push again changes nothing and succeeds.
    let (ending, printed) = bed.outcome(&bed.push(&source, "feature/readme")).await;
    assert_eq!(ending, SUCCESS, "{printed}");
    assert!(printed.contains("already"), "{printed}");

    let refused = |branch: &str, change: fn(&mut PushOrder)| {
        let mut push = bed.push(&source, branch);
        change(push.push.as_mut().unwrap());
        push
    };
    let first = git(&bed.remote, &["rev-parse", "main"]);
    git(&bed.remote, &["branch", "other", "main"]);
    git(&bed.remote, &["checkout", "--quiet", "-b", "diverged"]);
    fs::write(bed.remote.join("x"), "x").unwrap();
    git(&bed.remote, &["add", "x"]);
    git(&bed.remote, &["commit", "--quiet", "-m", "elsewhere"]);
    let elsewhere = git(&bed.remote, &["rev-parse", "diverged"]);
    git(&bed.remote, &["checkout", "--quiet", "main"]);
    for (job, reason) in [
        (refused("main", |_| {}), "is the default branch"),
        (refused("diverged", |_| {}), "does not continue branch diverged"),
        (refused("other", |order| order.head = order.base.clone()), "the commits end at"),
        (refused("other", |order| order.replaces = Some("1".repeat(40).parse().unwrap())), "is at"),
    ] {
        let (ending, printed) = bed.outcome(&job).await;
        assert_eq!(ending, FAILURE, "{printed}");
        assert!(printed.contains(reason), "{reason}: {printed}");
    }
    assert_eq!(
        [bed.remote_branch("main"), bed.remote_branch("other"), bed.remote_branch("diverged")],
        [first.clone(), first, elsewhere.clone()]
    );

    let mut replacing = bed.push(&source, "diverged");
    replacing.push.as_mut().unwrap().replaces = Some(elsewhere.parse().unwrap());
    let (ending, printed) = bed.outcome(&replacing).await;
    assert_eq!((ending, bed.remote_branch("diverged")), (SUCCESS, head), "{printed}");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_with_a_secret_are_collected_with_a_finding_and_never_pushed() {
    let bed = RepositoryTestbed::new().await;
    let node = bed.stage.start_node().await;
    let line = "echo \"key = ghp_$(printf 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8')\" > config.py";
    let source = bed.job(TaskId::generate(), line);
    assert_eq!(bed.run(&source).await, SUCCESS);

    let (changes, _) = bed.changes(source.job_id);
    assert_eq!(changes.findings[0].rule, "secret", "{changes:?}");
    let (ending, printed) = bed.outcome(&bed.push(&source, "leak")).await;

    assert_eq!(ending, FAILURE);
    assert!(printed.contains("must not be pushed"), "{printed}");
    assert_eq!(bed.remote_branch("leak"), "");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_that_need_a_review_are_pushed_only_if_a_person_approves() {
    let bed = RepositoryTestbed::new().await;
    let node = bed.stage.start_node().await;
    let line = "mkdir -p .github/workflows && echo 'on: push' > .github/workflows/ci.yml";
    let source = bed.job(TaskId::generate(), line);
    assert_eq!(bed.run(&source).await, SUCCESS);

    let (ending, printed) = bed.outcome(&bed.push(&source, "ci")).await;
    assert_eq!((ending, bed.remote_branch("ci")), (FAILURE, String::new()), "{printed}");
    let mut reviewed = bed.push(&source, "ci");
    reviewed.push.as_mut().unwrap().is_reviewed = true;
    let (ending, printed) = bed.outcome(&reviewed).await;
    assert_eq!(ending, SUCCESS, "{printed}");
    node.stop().await;
}
