//! Hostile programs against the broker of repositories. Each prepares its checkout for the next program that runs git on it;
//! the node collects what it changed, and prepares the checkout for a second job of the same task. A command that runs outside
//! of a sandbox leaves a canary.
//!
//! They run on a node of this process's user, and again on an unprivileged one.

mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cynode_domain::ids::TaskId;
use cynode_domain::job::{JobEnding, Limits};
use cynode_wire::nodes::Assignment;

use crate::repositories::{RepositoryTestbed, git};
use crate::workbench::rerun_unprivileged;
use programs::{HostileRepository, PRELUDE, PROGRAMS};

const SECRET: &str = "the secret of the node";

/// What the programs are after.
struct Targets {
    canary: PathBuf,
    secret: PathBuf,
    mirrors: PathBuf,
}

impl Targets {
    fn below(directory: &Path, state: &Path) -> Self {
        let targets = Self {
            canary: directory.join("canary"),
            secret: directory.join("secret"),
            mirrors: state.join("node/git/mirrors"),
        };
        fs::write(&targets.secret, SECRET).unwrap();
        targets
    }

    fn script(&self, program: &HostileRepository, workspace: &Path) -> String {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let filled = format!("{PRELUDE}\n{}\ntrue", program.body)
            .replace("@CANARY@", &text(&self.canary))
            .replace("@SECRET@", &text(&self.secret))
            .replace("@WORKSPACE@", &text(workspace))
            .replace("@MIRRORS@", &text(&self.mirrors));
        format!("/bin/bash <<'PROGRAM'\n{filled}\nPROGRAM")
    }
}

/// A job of the task; the second one has a checkout already.
fn job(bed: &RepositoryTestbed, task: TaskId, line: &str, needs_workspace: bool) -> Assignment {
    let job = bed.job(task, line);
    Assignment { needs_workspace, limits: Limits { timeout_s: 60, ..job.limits }, ..job }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hostile_repository_runs_a_program_or_reads_a_file_outside_of_its_sandbox() {
    let bed = RepositoryTestbed::new().await;
    let state = bed.stage.state.path().to_owned();
    // Outside of what the node removes.
    let directory = tempfile::tempdir().unwrap();
    let targets = Targets::below(directory.path(), &state);
    let before = git(&bed.remote, &["for-each-ref"]);
    let node = bed.stage.start_node().await;
    let untouched = bed.job(TaskId::generate(), "echo mine > mine.txt");
    bed.run(&untouched).await;

    let tasks: Vec<_> = PROGRAMS.iter().map(|program| (TaskId::generate(), program)).collect();
    let mut endings: BTreeMap<&str, Vec<JobEnding>> = BTreeMap::new();
    for is_second in [false, true] {
        let mut jobs = vec![];
        for (task, program) in &tasks {
            let workspace = state.join("node/workspaces").join(task.to_string());
            let first = targets.script(program, &workspace);
            let second = "timeout 5 git status > /dev/null; timeout 5 git log -3 > /dev/null; echo more >> more.txt";
            let line = if is_second { second.to_owned() } else { first };
            let job = job(&bed, *task, &line, is_second);
            bed.stage.fake.assign(&job);
            jobs.push((program.name, job));
        }
        for (name, job) in jobs {
            let ending = bed.stage.fake.result_of(job.job_id).await.ending;
            endings.entry(name).or_default().push(ending);
        }
        assert!(!targets.canary.exists(), "a program ran outside of its sandbox: {endings:#?}");
    }

    // Whatever a program did to its checkout, the node says what came of it, and never hangs.
    for (name, of_program) in &endings {
        let is_told = |ending: &JobEnding| {
            matches!(
                ending,
                JobEnding::Exited { code: 0 }
                    | JobEnding::Interrupted { .. }
                    | JobEnding::NotStarted { .. }
            )
        };
        assert!(of_program.len() == 2 && of_program.iter().all(is_told), "{name}: {of_program:?}");
    }
    assert_eq!(fs::read_to_string(&targets.secret).unwrap(), SECRET);
    assert_eq!(git(&bed.remote, &["for-each-ref"]), before, "the repository was changed");
    assert!(!state.parent().unwrap().join("escape").exists() && !state.join("escape").exists());
    {
        let known = bed.stage.fake.state();
        let contains = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
        for (of, name, content) in &known.changes {
            assert!(!contains(content), "{name} of {of} has a file of the node");
        }
        assert!(known.logs.values().chain(known.artifacts.values()).all(|log| !contains(log)));
    }
    // The mirror has commits of these tasks only, each under its own name, and others are as they were.
    let mirror = fs::read_dir(&targets.mirrors).unwrap().flatten().map(|entry| entry.path());
    let mirror = mirror.filter(|path| path.is_dir()).collect::<Vec<_>>();
    assert_eq!(mirror.len(), 1, "{mirror:?}");
    let refs = git(&mirror[0], &["for-each-ref", "--format=%(refname)", "refs/cynode"]);
    for name in refs.lines() {
        let is_of_a_task = |task: &TaskId| name.contains(&task.to_string());
        let is_known =
            is_of_a_task(&untouched.task_id) || tasks.iter().any(|(it, _)| is_of_a_task(it));
        assert!(is_known, "{name} in {refs}");
    }
    git(&mirror[0], &["fsck", "--strict", "--no-dangling"]);
    let again = bed.job(untouched.task_id, "test $(cat mine.txt) = mine && git status");
    let again = Assignment { needs_workspace: true, ..again };
    assert_eq!(bed.run(&again).await, JobEnding::Exited { code: 0 });
    node.stop().await;
}

#[test]
fn no_hostile_repository_runs_a_program_on_an_unprivileged_node() {
    rerun_unprivileged(
        "hostile_repositories::no_hostile_repository_runs_a_program_or_reads_a_file_outside_of_its_sandbox",
    );
}

/// A control: the programs that would run a command do so where git is used without precautions.
#[test]
fn git_without_precautions_runs_what_hostile_repositories_prepare() {
    let mut without_effect = vec![];
    for program in PROGRAMS {
        let Some(trigger) = program.trigger else { continue };
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let targets = Targets::below(&home, &home);
        let checkout = home.join("checkout");
        fs::create_dir(&checkout).unwrap();
        git(&checkout, &["init", "-q", "-b", "main"]);
        fs::write(checkout.join("README.md"), "hello\n").unwrap();
        git(&checkout, &["add", "."]);
        git(&checkout, &["commit", "-qm", "first"]);
        git(&checkout, &["checkout", "-qb", "cynode/change"]);
        // The preparation may run the command too; the canary must come from the trigger.
        run_in(&checkout, &targets.script(program, &checkout));
        let _ = fs::remove_file(&targets.canary);
        run_in(&checkout, trigger);
        if !targets.canary.exists() {
            without_effect.push(program.name);
        }
    }
    assert_eq!(without_effect, Vec::<&str>::new());
}

fn run_in(checkout: &Path, line: &str) {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", line]).current_dir(checkout).env("HOME", checkout.parent().unwrap());
    command.envs([("GIT_AUTHOR_NAME", "x"), ("GIT_AUTHOR_EMAIL", "x@example.com")]);
    command.envs([("GIT_COMMITTER_NAME", "x"), ("GIT_COMMITTER_EMAIL", "x@example.com")]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("GIT_TERMINAL_PROMPT", "0").status().unwrap();
}
