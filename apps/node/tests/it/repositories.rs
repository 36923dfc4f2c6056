//! Jobs that work on a repository: checkout, collected changes, and what a hostile job can do about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cynode_domain::git::PushOrder;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::job::Ending;
use cynode_wire::git::{
    BUNDLE_FILE, CHANGES_FILE, CollectedChanges, FileChange, PATCH_FILE, RepositoryAssignment,
};
use cynode_wire::nodes::Assignment;

use crate::fake_orchestrator::{OrchestratorFakeState, REPOSITORIES};
use crate::testbed::NodeTestbed;
use crate::workbench::{command, processes_naming};

/// A testbed whose node allows one repository with two files.
struct RepositoryTestbed {
    stage: NodeTestbed,
    remote: PathBuf,
}

impl RepositoryTestbed {
    async fn new() -> Self {
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

    fn job(&self, task: TaskId, line: &str) -> Assignment {
        let repository = RepositoryAssignment {
            url: self.remote.to_str().unwrap().to_owned().try_into().unwrap(),
            base_branch: None,
            branch: "cynode/change".parse().unwrap(),
        };
        Assignment { task_id: task, repository: Some(repository), ..command(line) }
    }

    async fn run(&self, job: &Assignment) -> Ending {
        self.stage.fake.assign(job);
        let result = self.stage.fake.result_of(job.job_id).await;
        if result.ending != (Ending::Exited { code: 0 }) {
            println!("{} {}", result.stdout, result.stderr);
        }
        result.ending
    }

    /// The description of a job's changes, and its patch.
    fn changes(&self, job: JobId) -> (CollectedChanges, String) {
        let known = self.stage.fake.state();
        let json = uploaded(&known, job, CHANGES_FILE).expect("no changes were uploaded");
        let patch = uploaded(&known, job, PATCH_FILE).unwrap();
        (serde_json::from_slice(&json).unwrap(), String::from_utf8(patch).unwrap())
    }
}

fn uploaded(known: &OrchestratorFakeState, job: JobId, name: &str) -> Option<Vec<u8>> {
    let files = known.changes.iter().rev();
    files
        .into_iter()
        .find(|(of, file, _)| *of == job && file == name)
        .map(|(_, _, content)| content.clone())
}

fn git(directory: &Path, args: &[&str]) -> String {
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

const SUCCESS: Ending = Ending::Exited { code: 0 };

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
    assert_eq!(subjects, ["Say more", "Uncommitted changes of the job"]);
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
        matches!(ending, Ending::Exited { code: 0 } | Ending::Interrupted { .. }),
        "{ending:?}"
    );
    let known = bed.stage.fake.state();
    assert!(!format!("{:?}", known.logs.values()).contains("s3cret"));
    drop(known);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_destroys_its_repository_is_not_reported_as_done() {
    let bed = RepositoryTestbed::new().await;
    let node = bed.stage.start_node().await;
    for line in ["rm -rf .git", "rm -rf .git; ln -s / .git", "rm -rf .git/objects; echo x > y"] {
        let job = bed.job(TaskId::generate(), line);

        let ending = bed.run(&job).await;

        let Ending::Interrupted { reason } = ending else { panic!("{line}: {ending:?}") };
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
        let Ending::NotStarted { reason } = ending else { panic!("{path}: {ending:?}") };
        assert!(reason.contains("--repository-path"), "{reason}");
        reasons.push(reason.replace(path, "PATH"));
    }
    assert_eq!(reasons[0], reasons[1]);
    // Addresses in internal networks are refused before a connection is made.
    for url in ["https://127.0.0.1:1/app", "ssh://git@169.254.169.254/app", "http://[::1]:9/app"] {
        let mut job = bed.job(TaskId::generate(), "true");
        job.repository.as_mut().unwrap().url = url.to_owned().try_into().unwrap();
        let ending = bed.run(&job).await;
        let Ending::NotStarted { reason } = ending else { panic!("{url}: {ending:?}") };
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
        let mirror = fs::read_dir(&mirrors).unwrap().flatten().map(|entry| entry.path());
        let mirror =
            mirror.filter(|path| path.extension().is_some_and(|kind| kind == "git")).next();
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
        };
        let push = self.job(TaskId::generate(), "echo this never runs; exit 9");
        Assignment { push: Some(order), ..push }
    }

    /// What a job printed and how it ended.
    async fn outcome(&self, job: &Assignment) -> (Ending, String) {
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

const FAILURE: Ending = Ending::Exited { code: 1 };

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
