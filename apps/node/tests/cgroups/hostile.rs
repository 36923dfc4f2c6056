//! Programs that try to take more than their job may have. The kernel ends them; nothing here is sampled.

use cynode_domain::job::{JobEnding, Limits};
use cynode_wire::nodes::Assignment;

use crate::cgroup_files::{cgroup_of, reached_limit};
use crate::workbench::{SandboxWorkbench, eventually, limits, script};

/// Each takes up to 1 GiB; a limit of 32 MiB ends it. Those that do not sleep at the end print that they were not ended.
const MEMORY_HOGS: [(&str, &str); 10] = [
    ("private memory, within one interval of a sample", r#"$x = "x" x $gib;"#),
    (
        "a memfd that is never mapped",
        r#"open(F, ">&=", memfd()) or die; $b = "x" x 1_048_576; syswrite(F, $b) for 1..1024;"#,
    ),
    (
        "memfds on their way through a socket",
        // A message with the descriptor; afterwards no process has the file open.
        r#"use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_DGRAM, 0) or die; for (1..64) {
           my $fd = memfd(); open(my $f, ">&=", $fd) or die; $block = "x" x 1_048_576; syswrite($f, $block) for 1..16;
           send_fd(fileno($a), $fd); close $f; }"#,
    ),
    ("a shared mapping without a file", r"fill(map_shared(), $gib);"),
    (
        "System V segments that no process is attached to",
        r#"$b = "x" x 16_777_216; for (1..64) { $id = shmget(0, 16_777_216, 01600) // die; shmwrite($id, $b, 0, 16_777_216) or die; }"#,
    ),
    (
        "data on Unix sockets, their sender closed",
        r#"use Socket; use Fcntl; for (1..2000) { socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; push @open, $b;
           fcntl($a, F_SETFL, O_NONBLOCK); 1 while syswrite($a, "x" x 65_536); close $a }"#,
    ),
    (
        "temporary files",
        r#"for $dir ("/tmp", "/dev/shm") { open(my $f, ">", "$dir/x") or die; push @open, $f; syswrite($f, "x" x 1_048_576) for 1..31; }
           $x = "x" x 30_000_000;"#,
    ),
    (
        "pipes",
        r#"use Fcntl; for (1..1900) { pipe(my $r, my $w) or die; push @open, $r, $w; fcntl($w, F_SETFL, O_NONBLOCK);
           1 while syswrite($w, "x" x 4096); }"#,
    ),
    (
        "page tables: one page touched in each 2 MiB",
        // Reading maps the zero page, which costs no memory but that of the tables.
        r#"$at = syscall(9, 0, 1 << 36, 1, 0x4022, -1, 0); die if $at == -1; open(F, ">", "/tmp/f") or die;
           for (0..32_767) { syscall(18, fileno(F), $at + $_ * 2_097_152, 1, 0) == 1 or die }"#,
    ),
    (
        "many processes, each with a little",
        r#"for (1..40) { next if fork; $x = "x" x 25_000_000; sleep 60; exit } 1 while wait != -1;"#,
    ),
];
const TOOLS: &str = r#"
    $gib = 1_073_741_824;
    sub memfd { my $name = "x"; my $fd = syscall(319, $name, 0); die "memfd" if $fd < 0; $fd }
    sub map_shared { my $at = syscall(9, 0, $gib, 3, 0x21, -1, 0); die "mmap" if $at == -1; $at }
    sub fill { my ($at, $length) = @_; open(my $zeros, "<", "/dev/zero") or die;
        my $n = syscall(0, fileno($zeros), $at, $length); die "read $n" if $n <= 0; }
    sub send_fd { my ($socket, $fd) = @_; my $byte = "x"; my $vector = pack("P Q", $byte, 1);
        my $control = pack("Q l l l x4", 20, 1, 1, $fd);
        my $message = pack("Q L x4 P Q P Q l x4", 0, 0, $vector, 1, $control, 24, 0);
        syscall(46, $socket, $message, 0) == 1 or die "sendmsg: $!"; }
"#;

fn little_memory() -> Limits {
    Limits { memory_mib: 32, timeout_s: 120, ..limits() }
}

fn hog(program: &str) -> Assignment {
    let text = format!("#!/usr/bin/perl\n{TOOLS}\n{program}\nprint \"not ended\\n\";\n");
    Assignment { limits: little_memory(), ..script(&text) }
}

#[test]
fn the_kernel_ends_a_job_that_exceeds_its_memory_in_any_way() {
    let bench = SandboxWorkbench::new();
    for (way, program) in MEMORY_HOGS {
        let done = bench.run_assignment(hog(program));

        assert_eq!(
            done.ending(),
            &JobEnding::LimitReached { limit: "it used more than 32 MiB of memory".to_owned() },
            "{way}: {done:?}"
        );
        assert_eq!(done.stdout, "", "{way}");
        assert!(!cgroup_of(&done.dir).exists(), "{way}: its cgroup was left behind");
    }
}

#[test]
fn buffers_of_internet_sockets_stay_within_the_limit() {
    let program = r#"use Socket; use Fcntl; socket(S, AF_INET, SOCK_STREAM, 0) or die; bind(S, sockaddr_in(7777, INADDR_LOOPBACK)) or die;
        listen(S, 999) or die; for (1..200) { socket(my $a, AF_INET, SOCK_STREAM, 0) or last; connect($a, sockaddr_in(7777, INADDR_LOOPBACK)) or last;
        push @open, $a; fcntl($a, F_SETFL, O_NONBLOCK); 1 while syswrite($a, "x" x 65_536); } open(F, ">", "full"); sleep 60;"#;
    let bench = SandboxWorkbench::new();
    let job = hog(program);
    let full = bench.sandbox.workspace(job.task_id).join("full");
    let dir = bench.sandbox.accept(job).unwrap();
    let watch = bench.sandbox.start(&dir);

    // The kernel refuses to buffer more, or ends the job.
    let used = eventually("full buffers", || {
        let used = std::fs::read_to_string(cgroup_of(&dir).join("memory.current"));
        (full.exists() || dir.outcome().is_some()).then(|| used.unwrap_or_default())
    });
    dir.request_stop(cynode_sandbox::job_dir::StopRequest::Cancel).unwrap();
    watch.wait();

    let used: u64 = used.trim().parse().unwrap_or_default();
    assert!(used <= 48 << 20, "{used} bytes");
}

#[test]
fn a_fork_bomb_is_stopped_and_its_reason_reported() {
    let few = Limits { processes: 64, ..limits() };
    let bench = SandboxWorkbench::new();

    let done = bench.run_assignment(Assignment {
        limits: few,
        ..script("#!/bin/bash\n:(){ :|:& };:\nwait\nsleep 60\n")
    });

    assert_eq!(reached_limit(done.ending()), "it had more than 64 processes");
    assert!(!cgroup_of(&done.dir).exists());
}

#[test]
fn a_job_may_have_as_many_processes_as_its_limit() {
    let line = "for i in $(seq 15); do sleep 0.3 & done; wait; echo all";
    let bench = SandboxWorkbench::new();

    let enough = bench.run_within(line, Limits { processes: 16, ..limits() });
    let few = bench.run_within(line, Limits { processes: 15, ..limits() });

    assert_eq!(
        (enough.ending(), enough.stdout.as_str()),
        (&JobEnding::Exited { code: 0 }, "all\n")
    );
    assert_eq!(reached_limit(few.ending()), "it had more than 15 processes");
}

#[test]
fn files_on_disk_that_a_job_reads_and_writes_do_not_end_it() {
    // Several times its memory; the kernel evicts what it has cached.
    let line = "head -c 150M /dev/zero > f; cat f > /dev/null; echo done";

    let done = SandboxWorkbench::new().run_within(line, little_memory());

    assert_eq!((done.ending(), done.stdout.as_str()), (&JobEnding::Exited { code: 0 }, "done\n"));
}
