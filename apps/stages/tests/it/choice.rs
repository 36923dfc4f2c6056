//! A node uses the small program beside its own if both were built from the same sources.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::job::{Action, JobEnding, Limits};
use cynode_sandbox::sandbox::{Sandbox, SandboxOptions};
use cynode_wire::nodes::Assignment;

const STAGES: &str = env!("CARGO_BIN_EXE_cynode-stages");

/// A directory with the program of a node, and the small program beside it.
struct Installation {
    directory: tempfile::TempDir,
}

impl Installation {
    fn new(node: &str, stages: &str) -> Self {
        let installed = Self { directory: tempfile::tempdir().unwrap() };
        fs::copy(node, installed.node()).unwrap();
        fs::copy(stages, installed.stages()).unwrap();
        installed
    }

    fn node(&self) -> PathBuf {
        self.directory.path().join("node")
    }

    fn stages(&self) -> PathBuf {
        self.directory.path().join("cynode-stages")
    }

    fn prepare(&self) -> Sandbox {
        let mut options = SandboxOptions::new(self.directory.path().join("state"));
        options.executable = self.node();
        Sandbox::prepare(options).unwrap()
    }
}

fn run_true(sandbox: &Sandbox) -> JobEnding {
    let action = Action::Command { line: "true".to_owned() };
    let job = Assignment::new(JobId::generate(), TaskId::generate(), RunId::generate(), action);
    let limits = Limits { timeout_s: 30, ..Limits::default() };
    let assignment = Assignment { limits, ..job };
    let dir = sandbox.accept(assignment).unwrap();
    sandbox.start(&dir).wait().ending
}

#[test]
fn the_small_program_beside_the_node_runs_the_stages() {
    // A node that cannot run a stage itself.
    let installed = Installation::new("/bin/false", STAGES);

    let sandbox = installed.prepare();

    assert!(sandbox.level().supported, "{:?}", sandbox.level().reason);
    assert_eq!(run_true(&sandbox), JobEnding::Exited { code: 0 });
}

#[test]
fn a_program_of_another_build_is_not_used() {
    let installed = Installation::new(STAGES, "/bin/echo");

    let sandbox = installed.prepare();

    assert!(sandbox.level().supported, "{:?}", sandbox.level().reason);
    assert_eq!(run_true(&sandbox), JobEnding::Exited { code: 0 });
}

#[test]
fn an_upgrade_on_disk_does_not_change_the_program_of_a_running_node() {
    let installed = Installation::new("/bin/false", STAGES);
    let sandbox = installed.prepare();

    replace(&installed.stages(), "/bin/false");

    assert_eq!(run_true(&sandbox), JobEnding::Exited { code: 0 });
}

#[test]
fn arguments_that_name_no_stage_are_refused() {
    let ended = std::process::Command::new(STAGES).arg("up").status().unwrap();

    assert!(!ended.success());
}

/// Replaces a program as package managers do.
fn replace(path: &Path, program: &str) {
    let new = path.with_extension("new");
    fs::copy(program, &new).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(new, path).unwrap();
}
