//! Jobs beside each other: none is harmed by another, and each gets its share.

use std::fs;
use std::path::Path;

use cynode_domain::job::{JobEnding, Limits};
use cynode_sandbox::job_dir::StopRequest;
use cynode_wire::nodes::Assignment;

use crate::cgroup_files::{base_of, cgroup_of, reached_limit, read_control, read_counter};
use crate::workbench::{SandboxWorkbench, command, eventually, limits};

#[test]
fn a_job_beside_one_that_is_ended_is_not_harmed() {
    let bench = SandboxWorkbench::new();
    let modest = Limits { memory_mib: 64, processes: 32, timeout_s: 120, ..limits() };
    // It holds memory and starts processes until it is told to end.
    let line = "perl -e '$x = \"x\" x 30_000_000; until (-e \"enough\") { system(\"true\") == 0 or die; $n++ } print \"fine\\n\"'";
    let neighbour = Assignment { limits: modest, ..command(line) };
    let enough = bench.sandbox.workspace(neighbour.task_id).join("enough");
    let dir = bench.sandbox.accept(neighbour).unwrap();
    let watch = bench.sandbox.start(&dir);

    for (hostile, limit) in [
        ("perl -e '$x = \"x\" x 1_000_000_000'", "it used more than 64 MiB of memory"),
        ("f() { f | f & }; f; sleep 60", "it had more than 32 processes"),
    ] {
        let done = bench.run_within(hostile, modest);
        assert_eq!(reached_limit(done.ending()), limit);
    }
    fs::write(enough, "").unwrap();

    assert_eq!(watch.wait().ending, JobEnding::Exited { code: 0 });
    assert_eq!(crate::workbench::read_stream(&dir, cynode_wire::jobs::Stream::Stdout), "fine\n");
}

#[test]
fn a_job_with_many_busy_processes_gets_no_more_of_the_processors_than_another() {
    let bench = SandboxWorkbench::new();
    let busy = |processes: u32| {
        let line = format!("for i in $(seq {processes}); do while :; do :; done & done; wait");
        let dir = bench.sandbox.accept(command(&line)).unwrap();
        (cgroup_of(&dir), bench.sandbox.start(&dir), dir)
    };
    let (many, few) = (busy(24), busy(4));
    let used = |cgroup: &Path| read_counter(cgroup, "cpu.stat", "usage_usec");
    eventually("the start of both", || {
        let has_begun = |cgroup: &Path| cgroup.join("cpu.stat").exists() && used(cgroup) > 500_000;
        (has_begun(&many.0) && has_begun(&few.0)).then_some(())
    });
    let before = (used(&many.0), used(&few.0));
    let after = eventually("two seconds of work", || {
        let after = (used(&many.0), used(&few.0));
        (after.0 - before.0 > 2_000_000).then_some(after)
    });
    for (_, watch, dir) in [many, few] {
        dir.request_stop(StopRequest::Cancel).unwrap();
        watch.wait();
    }

    // Without weights the one would get six times as much as the other.
    let (many, few) = (after.0 - before.0, after.1 - before.1);
    assert!(few * 2 > many, "24 processes used {many} us, and 4 used {few} us");
}

#[test]
fn jobs_have_equal_weights_and_all_together_less_than_the_node() {
    let bench = SandboxWorkbench::new();
    let start = |line: &str| {
        let dir = bench.sandbox.accept(command(line)).unwrap();
        let watch = bench.sandbox.start(&dir);
        let cgroup = cgroup_of(&dir);
        eventually("its start", || {
            fs::read_to_string(cgroup.join("cgroup.procs")).ok().filter(|text| !text.is_empty())
        });
        (cgroup, watch, dir)
    };
    let jobs = [start("sleep 60"), start("sleep 60")];
    let number = |text: String| text.trim_start_matches("default ").parse::<u32>().unwrap();
    let weight = |cgroup: &Path, file: &str| number(read_control(cgroup, file));

    let all = jobs[0].0.parent().unwrap();
    let node = base_of(&jobs[0].0).join("main");
    for file in ["cpu.weight", "io.bfq.weight"] {
        assert_eq!(weight(&jobs[0].0, file), weight(&jobs[1].0, file));
        // In the root of the hierarchy the node needs no cgroup of its own.
        let of_node = if node.exists() { weight(&node, file) } else { 100 };
        assert!(weight(all, file) < of_node);
    }
    for (_, watch, dir) in jobs {
        dir.request_stop(StopRequest::Cancel).unwrap();
        watch.wait();
    }
}
