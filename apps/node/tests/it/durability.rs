//! Durability: everything that a job's outcome reports is on disk before the outcome.
//!
//! A preloaded library logs, in order, what the job's supervisor syncs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cynode_domain::job::JobEnding;
use cynode_sandbox::sandbox::{Sandbox, SandboxOptions};
use cynode_testkit::SyncLog;

use crate::workbench::{command, limits};

/// A wrapper of the sandbox executable that logs its syncs.
fn wrap_executable(dir: &Path, syncs: &SyncLog) -> PathBuf {
    let program = dir.join("watched");
    let variable = |(name, value): (&str, &Path)| format!("{name}={} ", value.display());
    let variables: String = syncs.environment().map(variable).concat();
    let node = env!("CARGO_BIN_EXE_cynode-node");
    fs::write(&program, format!("#!/bin/sh\n{variables}exec {node} \"$@\"\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    program
}

#[test]
fn what_a_job_wrote_is_durable_before_its_outcome_is() {
    let dir = tempfile::tempdir().unwrap();
    let syncs = SyncLog::build(dir.path());
    let mut options = SandboxOptions::new(dir.path().join("state"));
    options.executable = wrap_executable(dir.path(), &syncs);
    let sandbox = Sandbox::prepare(options).unwrap();
    assert!(sandbox.level().supported, "no sandbox here: {:?}", sandbox.level().reason);
    let few = "echo x > a; mkdir d; echo y > d/b; echo z > $CYNODE_ARTIFACTS_DIR/c; echo out";
    let many = "for i in $(seq 200); do echo x > f$i; done";

    let mut logged = vec![];
    for line in [few, many] {
        syncs.clear();
        let job = cynode_wire::nodes::Assignment { limits: limits(), ..command(line) };
        let (job_id, workspace) = (job.job_id, sandbox.workspace(job.task_id));
        let dir = sandbox.accept(job).unwrap();
        assert_eq!(sandbox.start(&dir).wait().ending, JobEnding::Exited { code: 0 });
        let lines = syncs.lines();
        let dir = dir.path().display().to_string();
        // The outcome is first written to a temporary file.
        let outcome = lines.iter().position(|line| line.starts_with(&format!("fsync {dir}/.tmp")));
        let outcome = outcome.unwrap_or_else(|| panic!("job {job_id}: no outcome in {lines:#?}"));
        let before = lines[..outcome].to_vec();
        logged.push((before, workspace.display().to_string(), dir));
    }

    let (before, workspace, dir) = &logged[0];
    for path in [
        workspace.clone(),
        format!("{workspace}/a"),
        format!("{workspace}/d"),
        format!("{workspace}/d/b"),
        format!("{dir}/artifacts/c"),
        format!("{dir}/stdout"),
    ] {
        assert!(before.contains(&format!("fsync {path}")), "{path} is not in {before:#?}");
    }
    assert!(!before.iter().any(|line| line.starts_with("syncfs")), "{before:#?}");
    let (before, ..) = &logged[1];
    assert!(before.iter().any(|line| line.starts_with("syncfs")), "{before:#?}");
}
