//! Runs jobs in real sandboxes without an orchestrator.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::job::{Action, JobEnding, Limits};
use cynode_sandbox::job_dir::JobDir;
use cynode_sandbox::sandbox::{Sandbox, SandboxOptions};
use cynode_sandbox::spec::SandboxJobOutcome;
use cynode_wire::jobs::Stream;
use cynode_wire::nodes::Assignment;

/// Names the node's program if the one of the build directory is out of reach.
pub(crate) const NODE_PROGRAM_VAR: &str = "CYNODE_TEST_NODE_PROGRAM";

/// Timeout for a test on a busy machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct SandboxWorkbench {
    pub(crate) sandbox: Sandbox,
    pub(crate) state: tempfile::TempDir,
}

/// Result of a job.
#[derive(Debug)]
pub(crate) struct FinishedJob {
    pub(crate) outcome: SandboxJobOutcome,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) dir: JobDir,
}

impl FinishedJob {
    pub(crate) fn ending(&self) -> &JobEnding {
        &self.outcome.ending
    }
}

impl SandboxWorkbench {
    pub(crate) fn new() -> Self {
        Self::with_exposed(vec![])
    }

    pub(crate) fn exposing(path: &Path) -> Self {
        Self::with_exposed(vec![path.to_owned()])
    }

    fn with_exposed(expose: Vec<PathBuf>) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut options = SandboxOptions::new(state.path().to_owned());
        options.executable = node_program();
        options.expose = expose;
        let sandbox = Sandbox::prepare(options).unwrap();
        assert!(sandbox.level().supported, "no sandbox here: {:?}", sandbox.level().reason);
        Self { sandbox, state }
    }

    pub(crate) fn run(&self, line: &str) -> FinishedJob {
        self.run_within(line, limits())
    }

    pub(crate) fn run_within(&self, line: &str, limits: Limits) -> FinishedJob {
        self.run_assignment(Assignment { limits, ..command(line) })
    }

    pub(crate) fn run_assignment(&self, assignment: Assignment) -> FinishedJob {
        let dir = self.sandbox.accept(assignment).unwrap();
        let outcome = self.sandbox.start(&dir).wait();
        FinishedJob {
            outcome,
            stdout: read_stream(&dir, Stream::Stdout),
            stderr: read_stream(&dir, Stream::Stderr),
            dir,
        }
    }
}

impl Drop for SandboxWorkbench {
    fn drop(&mut self) {
        let left = processes_naming(self.state.path());
        assert!(left.is_empty() || std::thread::panicking(), "left behind: {left:?}");
    }
}

/// The node's program.
pub(crate) fn node_program() -> PathBuf {
    std::env::var_os(NODE_PROGRAM_VAR)
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_cynode-node")), PathBuf::from)
}

pub(crate) fn command(line: &str) -> Assignment {
    let action = Action::Command { line: line.to_owned() };
    let job = Assignment::new(JobId::generate(), TaskId::generate(), RunId::generate(), action);
    Assignment { limits: limits(), ..job }
}

pub(crate) fn script(text: &str) -> Assignment {
    Assignment { action: Action::Script { text: text.to_owned() }, ..command("") }
}

/// Limits that end a hanging test early.
pub(crate) fn limits() -> Limits {
    Limits { timeout_s: 30, ..Limits::default() }
}

pub(crate) fn read_stream(dir: &JobDir, stream: Stream) -> String {
    fs::read_to_string(dir.stream(stream)).unwrap()
}

/// Processes of the host whose command line contains `text`.
pub(crate) fn processes_naming(text: &Path) -> Vec<i32> {
    let text = text.to_str().unwrap();
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(text).then_some(pid)
    });
    pids.collect()
}

/// Polls until `look` finds something.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < TEST_TIMEOUT, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Set for the copy of a test that runs as another user.
const RERUN_VAR: &str = "CYNODE_TEST_RERUN";
const NOBODY: &str = "65534";

/// Runs another test of this program again, as an unprivileged user. Does nothing if this process is unprivileged: then
/// that test is this one.
pub(crate) fn rerun_unprivileged(name: &str) {
    rerun_all_unprivileged(&[name]);
}

/// As [`rerun_unprivileged`], for several tests.
pub(crate) fn rerun_all_unprivileged(names: &[&str]) {
    if std::env::var_os(RERUN_VAR).is_some() || !nix::unistd::geteuid().is_root() {
        return;
    }
    // The build directory may be out of reach for another user.
    let shelf = tempfile::tempdir().unwrap();
    fs::set_permissions(shelf.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (test, node) = (shelf.path().join("test"), shelf.path().join("node"));
    fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_cynode-node"), &node).unwrap();

    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(&test)
        .args(["--test-threads", "2", "--exact"])
        .args(names)
        .env(RERUN_VAR, "1")
        .env(NODE_PROGRAM_VAR, &node)
        .current_dir(shelf.path())
        .output()
        .unwrap();

    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    assert!(report.contains(&format!(" {} passed", names.len())), "{report}");
}
