//! Durability: everything that a job's outcome reports is on disk before the outcome.
//!
//! A preloaded library logs, in order, what the job's supervisor syncs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use cynode_domain::job::Ending;
use cynode_worker::sandbox::{Sandbox, SandboxOptions};

use crate::workbench::{command, limits};

/// Logs each sync with its path.
const SYNC_LOGGER_SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void note(const char *what, int fd) {
    char link[64], path[4096], line[4200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    int count = snprintf(line, sizeof line, "%s %s\n", what, path);
    int log = open(getenv("SYNC_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log < 0 || write(log, line, count) != count) abort();
    close(log);
}
int fsync(int fd) {
    note("fsync", fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
int syncfs(int fd) {
    note("syncfs", fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "syncfs"))(fd);
}
"#;

/// A wrapper of the sandbox executable that logs its syncs to `log`.
fn build_sync_logger(place: &Path, log: &Path) -> std::path::PathBuf {
    let (source, library) = (place.join("watch.c"), place.join("watch.so"));
    fs::write(&source, SYNC_LOGGER_SOURCE).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(compiled.success());
    let program = place.join("watched");
    let text = format!(
        "#!/bin/sh\nSYNC_LOG={} LD_PRELOAD={} exec {} \"$@\"\n",
        log.display(),
        library.display(),
        env!("CARGO_BIN_EXE_cynode-node"),
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    program
}

#[test]
fn what_a_job_wrote_is_durable_before_its_outcome_is() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let mut options = SandboxOptions::new(place.path().join("state"));
    options.executable = build_sync_logger(place.path(), &log);
    let sandbox = Sandbox::prepare(options).unwrap();
    assert!(sandbox.level().supported, "no sandbox here: {:?}", sandbox.level().reason);
    let few = "echo x > a; mkdir d; echo y > d/b; echo z > $CYNODE_ARTIFACTS_DIR/c; echo out";
    let many = "for i in $(seq 200); do echo x > f$i; done";

    let mut logged = vec![];
    for line in [few, many] {
        fs::write(&log, "").unwrap();
        let job = cynode_wire::nodes::Assignment { limits: limits(), ..command(line) };
        let (job_id, workspace) = (job.job_id, sandbox.workspace(job.task_id));
        let dir = sandbox.accept(job).unwrap();
        assert_eq!(sandbox.start(&dir).wait().ending, Ending::Exited { code: 0 });
        let text = fs::read_to_string(&log).unwrap();
        let dir = dir.path().display().to_string();
        // The outcome is first written to a temporary file.
        let outcome = text.lines().position(|line| line.starts_with(&format!("fsync {dir}/.tmp")));
        let outcome = outcome.unwrap_or_else(|| panic!("job {job_id}: no outcome in\n{text}"));
        let before: Vec<_> = text.lines().take(outcome).map(str::to_owned).collect();
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
