//! Jobs that reach their limits.

use std::time::Instant;

use cynode_domain::job::{Ending, Limits};
use cynode_wire::jobs::Stream;
use cynode_worker::job_dir::StopRequest;

use crate::workbench::{
    SandboxWorkbench, TEST_TIMEOUT, command, eventually, limits, read_stream, script,
};

/// Prints a line on SIGTERM.
const CLEANUP_TRAP: &str = "trap 'echo cleaned; exit 0' TERM";
const WAIT_LOOP: &str = "while :; do sleep 0.1; done";

fn reached_limit(ending: &Ending) -> &str {
    let Ending::LimitReached { limit } = ending else { panic!("{ending:?}") };
    limit
}

#[test]
fn a_job_that_runs_too_long_is_ended_and_may_clean_up() {
    let short = Limits { timeout_s: 5, ..limits() };
    let line = format!("{CLEANUP_TRAP}; echo begun; {WAIT_LOOP}");
    // On a busy machine a job may not start, or not clean up, within its time.
    for _ in 0..5 {
        let done = SandboxWorkbench::new().run_within(&line, short);
        assert_eq!(done.ending(), &Ending::TimedOut);
        if done.stdout == "begun\ncleaned\n" {
            return;
        }
    }
    panic!("no job that ran too long was asked to end");
}

#[test]
fn a_job_that_ignores_the_request_to_end_is_killed() {
    let short = Limits { timeout_s: 1, ..limits() };
    let begun = Instant::now();

    let line =
        "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & while :; do sleep 1; done";
    let done = SandboxWorkbench::new().run_within(line, short);

    assert_eq!(done.ending(), &Ending::TimedOut);
    assert!(begun.elapsed() < TEST_TIMEOUT);
}

#[test]
fn a_canceled_job_may_clean_up() {
    let bench = SandboxWorkbench::new();
    // On a busy machine a job may not clean up within its time.
    for _ in 0..5 {
        let job = command(&format!("{CLEANUP_TRAP}; touch begun; {WAIT_LOOP}"));
        let begun = bench.sandbox.workspace(job.task_id).join("begun");
        let dir = bench.sandbox.accept(job).unwrap();
        let watch = bench.sandbox.start(&dir);
        eventually("the start", || begun.exists().then_some(()));

        dir.request_stop(StopRequest::Cancel).unwrap();

        assert_eq!(watch.wait().ending, Ending::Canceled);
        if read_stream(&dir, Stream::Stdout) == "cleaned\n" {
            return;
        }
    }
    panic!("no canceled job was asked to end");
}

#[test]
fn long_output_is_cut_and_marked() {
    let few = Limits { output_bytes: 10, ..limits() };

    let done = SandboxWorkbench::new().run_within("seq 100; seq 3 >&2", few);

    assert_eq!(done.ending(), &Ending::Exited { code: 0 });
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("1\n2\n3\n4\n5\n", "1\n2\n3\n"));
    assert!(done.outcome.truncated.stdout && !done.outcome.truncated.stderr);
}

#[test]
fn a_job_that_prints_for_ever_is_ended() {
    let few = Limits { output_bytes: 1024, ..limits() };

    let done = SandboxWorkbench::new().run_within("yes", few);

    assert!(reached_limit(done.ending()).contains("output exceeded"), "{done:?}");
    assert_eq!(done.stdout.len(), 1024);
}

#[test]
fn a_fork_bomb_ends_within_its_bounds() {
    let few = Limits { processes: 64, timeout_s: 3, ..limits() };
    let bomb = script("#!/bin/bash\n:(){ :|:& };:\nwait\nsleep 60\n");
    let bench = SandboxWorkbench::new();

    let done = bench.run_assignment(cynode_wire::nodes::Assignment { limits: few, ..bomb });

    assert!(
        matches!(
            done.ending(),
            Ending::TimedOut | Ending::Exited { .. } | Ending::LimitReached { .. }
        ),
        "{done:?}"
    );
    assert_eq!(bench.run("echo fine").stdout, "fine\n");
}

#[test]
fn a_job_cannot_have_more_processes_than_allowed() {
    let few = Limits { processes: 16, ..limits() };

    let line = "for i in $(seq 40); do sleep 5 & done; echo done";
    let done = SandboxWorkbench::new().run_within(line, few);

    let is_refused =
        done.stderr.contains("fork") || matches!(done.ending(), Ending::LimitReached { .. });
    assert!(is_refused, "{done:?}");
}

#[test]
fn a_job_that_takes_too_much_memory_is_ended() {
    let little = Limits { memory_mib: 64, ..limits() };

    let done =
        SandboxWorkbench::new().run_within("perl -e '$x = \"x\" x 400_000_000; sleep 20'", little);

    assert_eq!(reached_limit(done.ending()), "it used more than 64 MiB of memory");
}

#[test]
fn memory_hidden_in_temporary_files_counts() {
    let little = Limits { memory_mib: 32, ..limits() };

    let line = "head -c 15M /dev/zero > /tmp/a; head -c 15M /dev/zero > /dev/shm/b; exec perl -e '$x = \"x\" x 8_000_000; sleep 20'";
    let done = SandboxWorkbench::new().run_within(line, little);

    assert_eq!(reached_limit(done.ending()), "it used more than 32 MiB of memory");
}

#[test]
fn one_file_cannot_fill_the_disk() {
    let little = Limits { disk_mib: 4, ..limits() };

    let done = SandboxWorkbench::new().run_within("head -c 1G /dev/zero > big", little);

    assert_eq!(reached_limit(done.ending()), "the workspace and artifacts filled 4 MiB of disk");
}

#[test]
fn many_files_cannot_fill_the_disk() {
    let little = Limits { disk_mib: 4, ..limits() };

    let line =
        "i=0; while :; do i=$((i+1)); head -c 100K /dev/zero > $CYNODE_ARTIFACTS_DIR/f$i; done";
    let done = SandboxWorkbench::new().run_within(line, little);

    assert_eq!(reached_limit(done.ending()), "the workspace and artifacts filled 4 MiB of disk");
}

#[test]
fn a_background_process_does_not_outlive_its_job() {
    let bench = SandboxWorkbench::new();
    let begun = Instant::now();

    let done = bench.run("setsid sleep 4242.4242 >/dev/null 2>&1 & echo left");

    assert_eq!((done.ending(), done.stdout.as_str()), (&Ending::Exited { code: 0 }, "left\n"));
    assert!(begun.elapsed() < TEST_TIMEOUT);
    assert!(crate::workbench::processes_naming("4242.4242".as_ref()).is_empty());
}

#[test]
fn disk_cannot_be_hidden_in_directories_with_long_names() {
    let little = Limits { disk_mib: 8, ..limits() };

    let line = "perl -e '$n = \"d\" x 250; for (1..40) { mkdir $n; chdir $n or die; } open F, \">f\"; print F \"x\" x 1000; sleep 20'";
    let bench = SandboxWorkbench::new();
    let done = bench.run_within(line, little);

    assert_eq!(reached_limit(done.ending()), "directories are nested too deep to be measured");
}
