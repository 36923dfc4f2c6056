//! Tasks that build on the changes of other tasks.

use std::fs;

use cynode_domain::git::ChangeSource;
use cynode_domain::ids::TaskId;
use cynode_domain::job::JobEnding;
use cynode_wire::git::{ALL_CHANGES_FILE, ALL_PATCH_FILE, CollectedChanges};
use cynode_wire::nodes::Assignment;

use crate::repositories::{RepositoryTestbed, SUCCESS, git, uploaded};
use crate::workbench::{eventually, rerun_unprivileged};

impl RepositoryTestbed {
    /// Runs a job of a new task on its own branch.
    async fn run_task(&self, name: &str, line: &str) -> Assignment {
        let mut job = self.job(TaskId::generate(), line);
        job.repository.as_mut().unwrap().branch = format!("cynode/{name}").parse().unwrap();
        assert_eq!(self.run(&job).await, SUCCESS);
        job
    }

    fn source(&self, job: &Assignment) -> ChangeSource {
        let (changes, _) = self.changes(job.job_id);
        ChangeSource {
            task: job.task_id,
            job: job.job_id,
            base: changes.base,
            head: changes.head,
            branch: changes.branch,
        }
    }

    /// A job of a task that builds on others.
    fn job_on(&self, task: TaskId, sources: &[&Assignment], line: &str) -> Assignment {
        let mut job = self.job(task, line);
        let sources = sources.iter().map(|source| self.source(source)).collect();
        job.repository.as_mut().unwrap().builds_on = sources;
        job
    }

    /// The refs of tasks in the only mirror of the node.
    fn task_refs(&self) -> String {
        let mirrors = self.stage.state.path().join("node/git/mirrors");
        let mut entries = fs::read_dir(mirrors).unwrap().flatten().map(|entry| entry.path());
        let mirror = entries.find(|path| path.extension().is_some_and(|kind| kind == "git"));
        git(&mirror.unwrap(), &["for-each-ref", "--format=%(refname)", "refs/cynode"])
    }
}

fn paths(changes: &CollectedChanges) -> Vec<&str> {
    changes.files.iter().map(|file| file.path.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_starts_with_the_changes_of_others_and_its_own_are_shown_apart() {
    let bed = RepositoryTestbed::new().await;
    let node = bed.stage.start_node().await;
    let one = bed.run_task("one", "echo 1 > one.txt").await;
    let two = bed.run_task("two", "echo 2 > two.txt").await;
    let task = TaskId::generate();
    let job = bed.job_on(task, &[&one, &two], "set -e; cat one.txt two.txt; echo 3 > three.txt");

    assert_eq!(bed.run(&job).await, SUCCESS);

    let (own, patch) = bed.changes(job.job_id);
    let all = uploaded(&bed.stage.fake.state(), job.job_id, ALL_CHANGES_FILE).unwrap();
    let all: CollectedChanges = serde_json::from_slice(&all).unwrap();
    let all_patch = uploaded(&bed.stage.fake.state(), job.job_id, ALL_PATCH_FILE).unwrap();
    let base = git(&bed.remote, &["rev-parse", "HEAD"]);
    assert_eq!((own.base.as_str(), &own.start, &own.head), (base.as_str(), &all.start, &all.head));
    assert!(own.start.is_some());
    assert_eq!(paths(&own), ["three.txt"]);
    assert_eq!(paths(&all), ["one.txt", "three.txt", "two.txt"]);
    assert_eq!((own.commits.len(), all.commits.len()), (1, 4));
    assert!(patch.contains("+3") && !patch.contains("one.txt"), "{patch}");
    let all_patch = String::from_utf8(all_patch).unwrap();
    assert!(all_patch.contains("one.txt") && all_patch.contains("+3"), "{all_patch}");
    // A later step of the task continues in the checkout, and a task that builds on it has everything.
    let later =
        Assignment { needs_workspace: true, ..bed.job_on(task, &[&one, &two], "rm one.txt") };
    assert_eq!(bed.run(&later).await, SUCCESS);
    assert_eq!(paths(&bed.changes(later.job_id).0), ["one.txt", "three.txt"]);
    let next = bed.job_on(TaskId::generate(), &[&later], "ls; test ! -e one.txt && cat two.txt");
    assert_eq!(bed.run(&next).await, SUCCESS);
    let (unchanged, patch) = bed.changes(next.job_id);
    assert_eq!((Some(&unchanged.head), patch.as_str()), (unchanged.start.as_ref(), ""));
    node.stop().await;
}

#[test]
fn tasks_on_an_unprivileged_node_start_with_the_changes_of_others() {
    rerun_unprivileged(
        "builds_on::a_task_starts_with_the_changes_of_others_and_its_own_are_shown_apart",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_is_reported_before_anything_runs_or_marked_for_the_job() {
    let bed = RepositoryTestbed::new().await;
    let node = bed.stage.start_node().await;
    let one = bed.run_task("one", "echo one > README.md").await;
    let two = bed.run_task("two", "echo two > README.md").await;

    let failing = bed.job_on(TaskId::generate(), &[&one, &two], "touch ran");
    let ending = bed.run(&failing).await;

    let JobEnding::NotStarted { reason } = &ending else { panic!("{ending:?}") };
    let expected = "merge conflict: cynode/two conflicts with cynode/one in README.md: ";
    assert!(reason.starts_with(expected) && ending.is_merge_conflict(), "{reason}");
    let mut marked = bed.job_on(
        TaskId::generate(),
        &[&one, &two],
        "grep -q '^<<<<<<<' README.md && git log -1 --format=%s && echo both > README.md",
    );
    marked.repository.as_mut().unwrap().mark_conflicts = true;
    assert_eq!(bed.run(&marked).await, SUCCESS);
    let (changes, patch) = bed.changes(marked.job_id);
    assert_eq!(paths(&changes), ["README.md"]);
    assert!(patch.contains("-<<<<<<<") && patch.contains("+both"), "{patch}");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_are_not_what_the_orchestrator_named_are_not_used() {
    let bed = RepositoryTestbed::new().await;
    let node = bed.stage.start_node().await;
    let one = bed.run_task("one", "echo 1 > one.txt").await;
    let two = bed.run_task("two", "echo 2 > two.txt").await;
    let mut swapped = bed.job_on(TaskId::generate(), &[&one], "true");
    let source = &mut swapped.repository.as_mut().unwrap().builds_on[0];
    source.head = bed.source(&two).head;
    let secret = format!("echo 'api_key = \"sk-{}\"' > key.txt", "a1B2c3D4".repeat(6));
    let leaking = bed.run_task("leaking", &secret).await;
    let leaking = bed.job_on(TaskId::generate(), &[&leaking], "true");

    for (job, expected) in [(swapped, "they end at"), (leaking, "they must not be used")] {
        let ending = bed.run(&job).await;
        let JobEnding::NotStarted { reason } = ending else { panic!("{ending:?}") };
        assert!(reason.starts_with("the changes of cynode/"), "{reason}");
        assert!(reason.contains(expected), "{reason}");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_killed_between_import_and_checkout_starts_the_next_attempt_from_the_same_commit()
 {
    let bed = RepositoryTestbed::new().await;
    let mut node = bed.stage.spawn_process();
    let one = bed.run_task("one", "echo 1 > one.txt").await;
    let two = bed.run_task("two", "echo 2 > two.txt").await;
    let undisturbed = bed.job_on(TaskId::generate(), &[&one, &two], "echo 3 > three.txt");
    assert_eq!(bed.run(&undisturbed).await, SUCCESS);
    // The second bundle does not arrive, so that the kill hits the node after the first import.
    bed.stage.fake.state().broken.insert(two.task_id.to_string());
    let task = TaskId::generate();
    let job = bed.job_on(task, &[&one, &two], "echo 3 > three.txt");
    bed.stage.fake.assign(&job);
    bed.stage.fake.wait_for("a request", |known| (known.failures > 0).then_some(())).await;
    assert!(bed.task_refs().contains(&format!("refs/cynode/{task}/source/0")));
    node.kill();

    bed.stage.fake.state().broken.clear();
    let mut next = bed.stage.spawn_process();
    let ending = bed.stage.fake.result_of(job.job_id).await.ending;
    assert!(matches!(ending, JobEnding::Interrupted { .. }), "{ending:?}");
    let again = bed.job_on(task, &[&one, &two], "echo 3 > three.txt");
    assert_eq!(bed.run(&again).await, SUCCESS);

    let start = |job: &Assignment| bed.changes(job.job_id).0.start.unwrap();
    assert_eq!(start(&again), start(&undisturbed));
    assert!(next.stop());
}

#[tokio::test(flavor = "multi_thread")]
async fn refs_of_a_task_that_was_never_checked_out_are_removed_with_its_workspace() {
    let bed = RepositoryTestbed::new().await;
    let node = bed.stage.start_node().await;
    let one = bed.run_task("one", "echo one > README.md").await;
    let two = bed.run_task("two", "echo two > README.md").await;
    let job = bed.job_on(TaskId::generate(), &[&one, &two], "true");
    assert!(bed.run(&job).await.is_merge_conflict());
    assert!(bed.task_refs().contains(&job.task_id.to_string()));
    node.stop().await;

    bed.stage.fake.state().closed.insert(job.task_id);
    let node = bed.stage.start_node().await;
    eventually("the workspace is removed", || (!bed.stage.workspace(&job).exists()).then_some(()));

    assert!(!bed.task_refs().contains(&job.task_id.to_string()));
    node.stop().await;
}
