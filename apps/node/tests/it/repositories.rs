//! Jobs that work on a repository: checkout, collected changes, and what a hostile job can do about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::job::JobEnding;
use cynode_wire::git::{
    BUNDLE_FILE, CHANGES_FILE, CollectedChanges, FileChange, PATCH_FILE, RepositoryAssignment,
};
use cynode_wire::nodes::Assignment;

use crate::fake_orchestrator::{OrchestratorFakeState, REPOSITORIES};
use crate::testbed::NodeTestbed;
use crate::workbench::{command, processes_naming};

/// A testbed whose node allows one repository with two files.
pub(crate) struct RepositoryTestbed {
    pub(crate) stage: NodeTestbed,
    pub(crate) remote: PathBuf,
}

impl RepositoryTestbed {
    pub(crate) async fn new() -> Self {
        let stage = NodeTestbed::new().await;
        let remote = stage.state.path().join(REPOSITORIES).join("app");
        fs::create_dir_all(&remote).unwrap();
        git(&remote, &["init", "--quiet", "--initial-branch=main"]);
        fs::write(remote.join("README.md"), "hello\n").unwrap();
        fs::write(remote.join("run.sh"), "echo 1\n").unwrap();
        git(&remote, &["add", "."]);
        git(&remote, &["commit", "--quiet", "-m", "first"]);
        Self { stage, remote }
    }

    pub(crate) fn job(&self, task: TaskId, line: &str) -> Assignment {
        let repository = RepositoryAssignment {
            url: self.remote.to_str().unwrap().to_owned().try_into().unwrap(),
            base_branch: None,
            branch: "cynode/change".parse().unwrap(),
            builds_on: vec![],
            mark_conflicts: false,
            commit_subject: Some("Say it twice".to_owned().try_into().unwrap()),
        };
        Assignment { task_id: task, repository: Some(repository), ..command(line) }
    }

    pub(crate) async fn run(&self, job: &Assignment) -> JobEnding {
        self.stage.fake.assign(job);
        let result = self.stage.fake.result_of(job.job_id).await;
        if result.ending != (JobEnding::Exited { code: 0 }) {
            println!("{} {}", result.stdout, result.stderr);
        }
        result.ending
    }

    /// The description of a job's changes, and its patch.
    pub(crate) fn changes(&self, job: JobId) -> (CollectedChanges, String) {
        let known = self.stage.fake.state();
        let json = uploaded(&known, job, CHANGES_FILE).expect("no changes were uploaded");
        let patch = uploaded(&known, job, PATCH_FILE).unwrap();
        (serde_json::from_slice(&json).unwrap(), String::from_utf8(patch).unwrap())
    }
}

pub(crate) fn uploaded(known: &OrchestratorFakeState, job: JobId, name: &str) -> Option<Vec<u8>> {
    let files = known.changes.iter().rev();
    files
        .into_iter()
        .find(|(of, file, _)| *of == job && file == name)
        .map(|(_, _, content)| content.clone())
}

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

fn changed_paths(changes: &CollectedChanges) -> Vec<(&str, FileChange)> {
    changes.files.iter().map(|file| (file.path.as_str(), file.status)).collect()
}

pub(crate) const SUCCESS: JobEnding = JobEnding::Exited { code: 0 };

#[tokio::test(flavor = "multi_thread")]
async fn a_job_works_on_the_repository_of_its_task_and_its_changes_are_collected_after_each_step() {
    let bed = RepositoryTestbed::new().await;
    bed.stage.fake.state().attachments.insert("notes.txt".to_owned(), b"n".to_vec());
    let node = bed.stage.start_node().await;
    let task = TaskId::generate();
    let first = Assignment {
        attachments: vec!["notes.txt".to_owned()],
        ..bed.job(
            task,
            "set -e; test $(git branch --show-current) = cynode/change; cat attachments/notes.txt; \
             echo more >> README.md; echo cache > $HOME/.cache; git commit -qam 'Say more'; touch 'new file'",
        )
    };

    assert_eq!(bed.run(&first).await, SUCCESS);

    let base = git(&bed.remote, &["rev-parse", "HEAD"]);
    let (changes, patch) = bed.changes(first.job_id);
    assert_eq!(changes.base.as_str(), base);
    assert_eq!(changes.branch.as_str(), "cynode/change");
    let subjects: Vec<_> = changes.commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["Say more", "Say it twice"]);
    assert_eq!(
        changed_paths(&changes),
        [("README.md", FileChange::Modified), ("new file", FileChange::Added)]
    );
    assert!(changes.findings.is_empty(), "{:?}", changes.findings);
    assert!(patch.contains("+more"), "{patch}");
    // The bundle brings the commits to a clone of the repository.
    let clone = bed.stage.state.path().join("clone");
    git(&bed.remote, &["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let bundle = uploaded(&bed.stage.fake.state(), first.job_id, BUNDLE_FILE).unwrap();
    fs::write(bed.stage.state.path().join("b"), bundle).unwrap();
    git(&clone, &["fetch", "--quiet", "../b", "cynode/change"]);
    assert_eq!(git(&clone, &["rev-parse", "FETCH_HEAD"]), changes.head.as_str());

    // A later step continues in the same checkout; what it reverts is no change any more.
    let line = "rm 'new file' && git show HEAD~1:README.md > README.md";
    let attachments = first.attachments.clone();
    let second = Assignment { needs_workspace: true, attachments, ..bed.job(task, line) };
    assert_eq!(bed.run(&second).await, SUCCESS);
    let (changes, _) = bed.changes(second.job_id);
    assert_eq!(changed_paths(&changes), [], "{changes:?}");
    // Another task starts from the repository, not from those changes.
    let other = bed.job(TaskId::generate(), "test ! -e 'new file'; cat README.md | grep -c .");
    assert_eq!(bed.run(&other).await, SUCCESS);
    let (unchanged, patch) = bed.changes(other.job_id);
    assert_eq!((unchanged.head, patch.as_str()), (unchanged.base, ""));
    assert_eq!(
        git(&bed.remote, &["status", "--porcelain"]),
        "",
        "the repository itself is untouched"
    );
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_and_configuration_of_the_checkout_are_read_only_and_nothing_of_it_runs_on_the_node()
{
    let bed = RepositoryTestbed::new().await;
    let canary = bed.stage.state.path().join("canary");
    let node = bed.stage.start_node().await;
    let task = TaskId::generate();
    let hostile = bed.job(
        task,
        "echo x > .git/hooks/pre-commit && exit 1; echo '[core]' >> .git/config && exit 2; \
         mv .git/hooks .git/h && exit 3; rm -f .git/config && exit 4; git config core.fsmonitor /tmp/x && exit 5; true",
    );
    assert_eq!(bed.run(&hostile).await, SUCCESS);

    // The whole directory can be replaced. What a job puts there runs in no process of the node.
    let replacing = bed.job(
        task,
        &format!(
            "cp -r .git g && mv .git old && mv g .git && mkdir -p .git/hooks && \
             printf '[core]\\n\\tfsmonitor = touch {0}\\n\\thooksPath = /workspace/.git/hooks\\n[filter \"x\"]\\n\\tclean = touch {0}\\n' >> .git/config && \
             printf '#!/bin/sh\\ntouch {0}\\n' > .git/hooks/post-index-change && chmod +x .git/hooks/* && echo '* filter=x' > .gitattributes",
            canary.display()
        ),
    );
    assert_eq!(bed.run(&replacing).await, SUCCESS);
    assert!(!canary.exists());
    let (changes, _) = bed.changes(replacing.job_id);
    assert!(
        changed_paths(&changes).contains(&(".gitattributes", FileChange::Added)),
        "{changes:?}"
    );

    // Links to files of the node are not followed when the next sandbox is built.
    let secret = bed.stage.state.path().join("secret");
    fs::write(&secret, "s3cret").unwrap();
    let linking = bed.job(
        task,
        &format!(
            "cp -r .git g && mv .git older && mv g .git && rm .git/config && ln -s {} .git/config",
            secret.display()
        ),
    );
    bed.run(&linking).await;
    let reading = bed.job(task, "cat .git/config && exit 1; true");
    let ending = bed.run(&reading).await;
    assert!(
        matches!(ending, JobEnding::Exited { code: 0 } | JobEnding::Interrupted { .. }),
        "{ending:?}"
    );
    let logs = format!("{:?}", bed.stage.fake.state().logs.values());
    assert!(!logs.contains("s3cret"));
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_destroys_its_repository_is_not_reported_as_done() {
    let bed = RepositoryTestbed::new().await;
    let node = bed.stage.start_node().await;
    for line in ["rm -rf .git", "rm -rf .git; ln -s / .git", "rm -rf .git/objects; echo x > y"] {
        let job = bed.job(TaskId::generate(), line);

        let ending = bed.run(&job).await;

        let JobEnding::Interrupted { reason } = ending else { panic!("{line}: {ending:?}") };
        assert!(reason.contains("its changes could not be collected"), "{reason}");
    }
    assert!(bed.stage.fake.state().changes.is_empty());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_the_node_does_not_allow_are_refused_without_telling_whether_they_exist() {
    let bed = RepositoryTestbed::new().await;
    let outside = tempfile::tempdir().unwrap();
    git(outside.path(), &["init", "--quiet"]);
    let node = bed.stage.start_node().await;
    let mut reasons = vec![];
    for path in [outside.path().to_str().unwrap(), "/nonexistent/app"] {
        let mut job = bed.job(TaskId::generate(), "true");
        job.repository.as_mut().unwrap().url = path.to_owned().try_into().unwrap();
        let ending = bed.run(&job).await;
        let JobEnding::NotStarted { reason } = ending else { panic!("{path}: {ending:?}") };
        assert!(reason.contains("--repository-path"), "{reason}");
        reasons.push(reason.replace(path, "PATH"));
    }
    assert_eq!(reasons[0], reasons[1]);
    // Addresses in internal networks are refused before a connection is made.
    for url in ["https://127.0.0.1:1/app", "ssh://git@169.254.169.254/app", "http://[::1]:9/app"] {
        let mut job = bed.job(TaskId::generate(), "true");
        job.repository.as_mut().unwrap().url = url.to_owned().try_into().unwrap();
        let ending = bed.run(&job).await;
        let JobEnding::NotStarted { reason } = ending else { panic!("{url}: {ending:?}") };
        assert!(reason.contains("internal network"), "{reason}");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_killed_while_it_collects_delivers_the_same_changes_once() {
    let bed = RepositoryTestbed::new().await;
    // The upload fails until the node is killed, so that the kill hits the collection.
    bed.stage.fake.state().broken.insert(CHANGES_FILE.to_owned());
    let mut node = bed.stage.spawn_process();
    let job = bed.job(TaskId::generate(), "echo more >> README.md");
    bed.stage.fake.assign(&job);
    bed.stage.fake.wait_for("an upload", |known| (known.failures > 0).then_some(())).await;
    node.kill();
    assert!(bed.stage.fake.state().results.is_empty());
    let before = uploaded(&bed.stage.fake.state(), job.job_id, BUNDLE_FILE).unwrap();

    bed.stage.fake.state().broken.clear();
    let mut next = bed.stage.spawn_process();

    assert_eq!(bed.stage.fake.result_of(job.job_id).await.ending, SUCCESS);
    let (changes, _) = bed.changes(job.job_id);
    assert_eq!(changed_paths(&changes), [("README.md", FileChange::Modified)]);
    assert_eq!(bed.stage.fake.state().results[&job.job_id].len(), 1);
    let after = uploaded(&bed.stage.fake.state(), job.job_id, BUNDLE_FILE).unwrap();
    assert!(!before.is_empty() && !after.is_empty());
    assert!(next.stop());
    assert_eq!(processes_naming(bed.stage.state.path()), Vec::<i32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commits_of_a_closed_task_are_removed_with_its_workspace() {
    let bed = RepositoryTestbed::new().await;
    let node = bed.stage.start_node().await;
    let job = bed.job(TaskId::generate(), "echo more >> README.md");
    assert_eq!(bed.run(&job).await, SUCCESS);
    let mirrors = bed.stage.state.path().join("node/git/mirrors");
    let refs = || {
        let mut entries = fs::read_dir(&mirrors).unwrap().flatten().map(|entry| entry.path());
        let mirror = entries.find(|path| path.extension().is_some_and(|kind| kind == "git"));
        git(&mirror.unwrap(), &["for-each-ref", "refs/cynode"])
    };
    assert!(refs().contains(&job.task_id.to_string()));
    node.stop().await;

    bed.stage.fake.state().closed.insert(job.task_id);
    let node = bed.stage.start_node().await;
    crate::workbench::eventually("the workspace is removed", || {
        (!bed.stage.workspace(&job).exists()).then_some(())
    });

    assert_eq!(refs(), "");
    node.stop().await;
}
