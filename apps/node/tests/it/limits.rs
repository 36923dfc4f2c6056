//! Jobs that reach their limits.

use std::time::Instant;

use cynode_domain::job::{JobEnding, Limits};
use cynode_sandbox::job_dir::StopRequest;
use cynode_wire::jobs::Stream;
use cynode_wire::nodes::Assignment;

use crate::workbench::{
    SandboxWorkbench, TEST_TIMEOUT, command, eventually, limits, read_stream,
    rerun_all_unprivileged, script,
};

/// Prints a line on SIGTERM.
const CLEANUP_TRAP: &str = "trap 'echo cleaned; exit 0' TERM";
const WAIT_LOOP: &str = "while :; do sleep 0.1; done";

fn reached_limit(ending: &JobEnding) -> &str {
    let JobEnding::LimitReached { limit } = ending else { panic!("{ending:?}") };
    limit
}

#[test]
fn a_job_that_runs_too_long_is_ended_and_may_clean_up() {
    let short = Limits { timeout_s: 5, ..limits() };
    let line = format!("{CLEANUP_TRAP}; echo begun; {WAIT_LOOP}");
    // On a busy machine a job may not start, or not clean up, within its time.
    for _ in 0..5 {
        let done = SandboxWorkbench::new().run_within(&line, short);
        assert_eq!(done.ending(), &JobEnding::TimedOut);
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

    assert_eq!(done.ending(), &JobEnding::TimedOut);
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

        assert_eq!(watch.wait().ending, JobEnding::Canceled);
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

    assert_eq!(done.ending(), &JobEnding::Exited { code: 0 });
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
            JobEnding::TimedOut | JobEnding::Exited { .. } | JobEnding::LimitReached { .. }
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
        done.stderr.contains("fork") || matches!(done.ending(), JobEnding::LimitReached { .. });
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

/// Hides 256 MiB from the private memory of its process, in several ways.
const HIDING_PLACES: [&str; 8] = [
    // Written to a memfd that is never mapped.
    r#"$fd = syscall($memfd, my $n = "x", 0); open(F, ">&=", $fd) or die; $b = "x" x 1_048_576;
       syswrite(F, $b) for 1..256; sleep 20"#,
    // A shared mapping without a file.
    r"$at = map_shared(-1, 0x21); fill($at); sleep 20",
    // A memfd that is mapped, and then closed.
    r#"$fd = syscall($memfd, my $n = "x", 0); syscall($ftruncate, $fd, $size);
       $at = map_shared($fd, 1); syscall($close, $fd); fill($at); sleep 20"#,
    // System V segments without a process that is attached to them.
    r#"for (1..16) { $id = shmget(0, 16_777_216, 01600) // die; shmwrite($id, "x" x 16_777_216, 0, 16_777_216) or die; } sleep 20"#,
    // System V semaphores, which are memory of the kernel.
    "for (1..60) { semget(0, 32_000, 01600) // die } sleep 20",
    // Sent over sockets that are not read.
    r#"use Socket; use Fcntl; for (1..450) { socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or last; push @open, $a, $b;
       fcntl($a, F_SETFL, O_NONBLOCK); 1 while syswrite($a, "x" x 65_536); } sleep 20"#,
    r#"use Socket; use Fcntl; socket(S, AF_INET, SOCK_STREAM, 0) or die; bind(S, sockaddr_in(7777, INADDR_LOOPBACK)) or die; listen(S, 99) or die;
       for (1..80) { socket(my $a, AF_INET, SOCK_STREAM, 0) or last; connect($a, sockaddr_in(7777, INADDR_LOOPBACK)) or die;
       push @open, $a; fcntl($a, F_SETFL, O_NONBLOCK); 1 while syswrite($a, "x" x 65_536); } sleep 20"#,
    // A mapping that many processes share, each with a part of it.
    r"$at = map_shared(-1, 0x21); for $part (0..7) { next if fork; fill($at + $part * 33_554_432, 33_554_432); sleep 20; } sleep 20",
];
const HIDING_TOOLS: &str = r#"
    use strict 'subs'; $size = 268_435_456;
    ($memfd, $mmap, $ftruncate, $close, $read) =
        `uname -m` =~ /aarch64/ ? (279, 222, 46, 57, 63) : (319, 9, 77, 3, 0);
    sub map_shared { my ($fd, $flags) = @_; my $at = syscall($mmap, 0, $size, 3, $flags, $fd, 0); die "mmap" if $at == -1; $at }
    sub fill { my ($at, $length) = @_; open(my $zeros, "<", "/dev/zero") or die;
        my $n = syscall($read, fileno($zeros), $at, $length // $size); die "read $n" if $n <= 0; }
"#;

#[test]
fn memory_hidden_from_the_private_memory_of_processes_counts() {
    let little = Limits { memory_mib: 64, ..limits() };
    for place in HIDING_PLACES {
        let text = format!("#!/usr/bin/perl\n{HIDING_TOOLS}\n{place}\n");
        let bench = SandboxWorkbench::new();

        let done = bench.run_assignment(Assignment { limits: little, ..script(&text) });

        assert!(matches!(done.ending(), JobEnding::LimitReached { .. }), "{place}: {done:?}");
        assert_eq!(reached_limit(done.ending()), "it used more than 64 MiB of memory");
    }
}

#[test]
fn memory_that_processes_share_counts_once() {
    let enough = Limits { memory_mib: 400, ..limits() };
    let place = r#"$at = map_shared(-1, 0x21); fill($at);
        for (1..6) { next if fork; fill($at); sleep 2; exit 0 } 1 while wait != -1; print "shared\n""#;
    let text = format!("#!/usr/bin/perl\n{HIDING_TOOLS}\n{place}\n");

    let done =
        SandboxWorkbench::new().run_assignment(Assignment { limits: enough, ..script(&text) });

    assert_eq!((done.ending(), done.stdout.as_str()), (&JobEnding::Exited { code: 0 }, "shared\n"));
}

#[test]
fn empty_files_cannot_fill_the_memory() {
    let line = r#"perl -e 'for (1..200_000) { open(F, ">", "/tmp/$_") or die "stopped at $_: $!\n" } print "all\n"'"#;

    let done = SandboxWorkbench::new().run(line);

    assert!(done.stderr.contains("No space left on device"), "{done:?}");
}

#[test]
fn a_job_cannot_change_the_limits_of_its_sandbox() {
    let line = "prlimit --pid 1 --nofile=10:10 2>&1; prlimit --pid $PPID --core=0:0 2>&1; ulimit -n 100 && ulimit -n";

    let done = SandboxWorkbench::new().run(line);

    assert_eq!(done.stdout.matches("Operation not permitted").count(), 2, "{done:?}");
    assert!(done.stdout.ends_with("100\n"), "its own limits are its own: {done:?}");
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
fn deleted_files_that_are_open_count_as_disk() {
    let little = Limits { disk_mib: 4, ..limits() };
    // Each file is within the limit of one file.
    let hold = |directory: &str| {
        format!(
            "cd {directory}; exec 3> a 4> b 5> c; rm a b c
             for fd in 3 4 5; do head -c 3M /dev/zero >&$fd; done; sleep ${{1:-60}}"
        )
    };

    for directory in [".", "$CYNODE_ARTIFACTS_DIR"] {
        let done = SandboxWorkbench::new().run_within(&hold(directory), little);

        let reason = "its deleted files that are still open filled 4 MiB of disk";
        assert_eq!(reached_limit(done.ending()), reason);
    }
    // Those of memory-backed directories count as memory.
    let line = format!("set -- 0.4; {}", hold("/tmp"));
    let done = SandboxWorkbench::new().run_within(&line, little);
    assert_eq!(done.ending(), &JobEnding::Exited { code: 0 });
}

#[test]
fn sparse_artifacts_count_with_their_holes() {
    let little = Limits { disk_mib: 4, ..limits() };
    let line = "for name in a b c; do truncate -s 3M $DIRECTORY/$name; done; echo fine";

    let artifacts = line.replace("$DIRECTORY", "$CYNODE_ARTIFACTS_DIR");
    let done = SandboxWorkbench::new().run_within(&artifacts, little);
    assert_eq!(reached_limit(done.ending()), "the workspace and artifacts filled 4 MiB of disk");

    let done = SandboxWorkbench::new().run_within(&line.replace("$DIRECTORY", "."), little);
    assert_eq!(done.ending(), &JobEnding::Exited { code: 0 });
}

#[test]
fn a_background_process_does_not_outlive_its_job() {
    let bench = SandboxWorkbench::new();
    let begun = Instant::now();

    let done = bench.run("setsid sleep 4242.4242 >/dev/null 2>&1 & echo left");

    assert_eq!((done.ending(), done.stdout.as_str()), (&JobEnding::Exited { code: 0 }, "left\n"));
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

#[test]
fn the_limits_hold_on_an_unprivileged_node_too() {
    rerun_all_unprivileged(&[
        "limits::a_fork_bomb_ends_within_its_bounds",
        "limits::memory_hidden_in_temporary_files_counts",
        "limits::memory_hidden_from_the_private_memory_of_processes_counts",
        "limits::empty_files_cannot_fill_the_memory",
        "limits::a_job_cannot_change_the_limits_of_its_sandbox",
        "limits::deleted_files_that_are_open_count_as_disk",
        "limits::sparse_artifacts_count_with_their_holes",
        "limits::disk_cannot_be_hidden_in_directories_with_long_names",
        "isolation::files_of_the_host_are_not_visible_to_jobs",
        "isolation::jobs_have_no_network_but_their_own_loopback",
        "isolation::jobs_have_no_capabilities_and_cannot_make_namespaces",
        "isolation::a_job_sees_only_its_own_processes_and_cannot_end_its_sandbox",
        "isolation::the_environment_of_a_job_is_the_promised_one_and_nothing_else",
    ]);
}
