//! Jobs without their node: canceled, orphaned, killed, and never run twice.

use std::fs;

use cynode_domain::job::JobEnding;
use cynode_sandbox::job_dir::{JobDir, JobDirError, StopRequest};
use cynode_sandbox::sandbox::resolve_outcome;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::workbench::{SandboxWorkbench, command, eventually, processes_naming};

/// Starts a job and returns once its command has started.
fn start_job(bench: &SandboxWorkbench, line: &str) -> (JobDir, cynode_sandbox::sandbox::JobWatch) {
    let job = command(&format!("touch begun; {line}"));
    let workspace = bench.sandbox.workspace(job.task_id);
    let dir = bench.sandbox.accept(job).unwrap();
    let watch = bench.sandbox.start(&dir);
    eventually("the start", || workspace.join("begun").exists().then_some(()));
    (dir, watch)
}

/// The supervisor process of a job; other processes name the same directory.
fn supervisor_pid(dir: &JobDir) -> Pid {
    let is_shim = |pid: &i32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split('\0').nth(1) == Some("sandbox-shim")
    };
    Pid::from_raw(processes_naming(dir.path()).into_iter().find(is_shim).unwrap())
}

#[test]
fn a_canceled_job_says_so() {
    let bench = SandboxWorkbench::new();
    let (dir, watch) = start_job(&bench, "sleep 60");

    dir.request_stop(StopRequest::Cancel).unwrap();

    assert_eq!(watch.wait().ending, JobEnding::Canceled);
}

#[test]
fn a_job_of_a_stopping_node_is_interrupted() {
    let bench = SandboxWorkbench::new();
    let (dir, watch) = start_job(&bench, "sleep 60");

    dir.request_stop(StopRequest::NodeShutdown).unwrap();

    let reason = "the worker node was stopped".to_owned();
    assert_eq!(watch.wait().ending, JobEnding::Interrupted { reason });
}

#[test]
fn a_supervisor_told_to_end_ends_its_job_first() {
    let bench = SandboxWorkbench::new();
    let (dir, watch) = start_job(&bench, "sleep 60");

    kill(supervisor_pid(&dir), Signal::SIGTERM).unwrap();

    let reason = "the job's supervisor was terminated".to_owned();
    assert_eq!(watch.wait().ending, JobEnding::Interrupted { reason });
}

#[test]
fn a_killed_supervisor_takes_its_sandbox_along_and_the_job_is_interrupted() {
    let bench = SandboxWorkbench::new();
    let (dir, watch) = start_job(&bench, "for i in $(seq 100); do sleep 3131.3131 & done; wait");

    kill(supervisor_pid(&dir), Signal::SIGKILL).unwrap();

    let reason = "its supervisor ended without a result".to_owned();
    assert_eq!(watch.wait().ending, JobEnding::Interrupted { reason });
    let left = processes_naming("3131.3131".as_ref());
    assert!(left.is_empty(), "the job has ended, and these live: {left:?}");
}

#[test]
fn a_job_accepted_twice_runs_once() {
    let bench = SandboxWorkbench::new();
    let job = command("echo run >> count; cat count");
    let done = bench.run_assignment(job.clone());

    let again = bench.sandbox.accept(job.clone());
    let restarted = bench.sandbox.start(&done.dir).wait();

    assert!(matches!(again, Err(JobDirError::Exists)));
    assert_eq!(restarted, done.outcome);
    let count = fs::read_to_string(bench.sandbox.workspace(job.task_id).join("count")).unwrap();
    assert_eq!(count, "run\n");
}

#[test]
fn a_job_accepted_but_never_started_counts_as_interrupted() {
    let bench = SandboxWorkbench::new();
    let dir = bench.sandbox.accept(command("true")).unwrap();

    let outcome = bench.sandbox.watch(&dir).wait();

    let reason = "its node stopped before it started".to_owned();
    assert_eq!(outcome.ending, JobEnding::Interrupted { reason });
    assert_eq!(resolve_outcome(&dir), outcome);
}
