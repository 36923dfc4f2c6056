//! From the creation of a job's cgroup to its removal, across processes of the node.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::job::{JobEnding, Limits};
use cynode_sandbox::job_dir::JobDir;
use cynode_sandbox::sandbox::{InteractiveProgram, Sandbox, SandboxOptions};
use cynode_wire::jobs::Stream;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::cgroup_files::{cgroup_of, read_control};
use crate::workbench::{
    SandboxWorkbench, command, eventually, limits, processes_naming, read_stream,
};

/// Prepares a sandbox on the state directory of `bench`, as the next process of its node does.
fn next_process(bench: &SandboxWorkbench) -> Sandbox {
    let mut options = SandboxOptions::new(bench.state.path().to_owned());
    options.executable = env!("CARGO_BIN_EXE_cynode-node").into();
    Sandbox::prepare(options).unwrap()
}

#[test]
fn the_node_reports_every_controller() {
    let level = SandboxWorkbench::new().sandbox.level().clone();

    for feature in ["cgroup_namespace", "cgroup_memory", "cgroup_pids", "cgroup_cpu", "cgroup_io"] {
        assert!(level.features.iter().any(|have| have == feature), "{feature}: {level:?}");
    }
    assert_eq!(level.reason, None);
}

#[test]
fn a_job_runs_in_a_cgroup_of_its_own_with_its_limits() {
    let bench = SandboxWorkbench::new();
    let limits = Limits { memory_mib: 100, processes: 20, ..limits() };
    let job = cynode_wire::nodes::Assignment { limits, ..command("touch begun; sleep 60") };
    let (id, begun) = (job.job_id, bench.sandbox.workspace(job.task_id).join("begun"));
    let dir = bench.sandbox.accept(job).unwrap();
    let watch = bench.sandbox.start(&dir);
    eventually("its start", || begun.exists().then_some(()));

    let cgroup = cgroup_of(&dir);
    assert_eq!(cgroup.file_name().unwrap().to_str().unwrap(), id.to_string());
    assert_eq!(read_control(&cgroup, "memory.max"), (100u64 << 20).to_string());
    assert_eq!(read_control(&cgroup, "memory.oom.group"), "1");
    assert_eq!(read_control(&cgroup, "memory.swap.max"), "0");
    assert_eq!(read_control(&cgroup, "pids.max"), "21");
    // PID 1 and the command at least; the supervisor is not limited by its job.
    let processes = read_control(&cgroup, "cgroup.procs");
    assert!(processes.lines().count() >= 2, "{processes}");
    assert!(!processes.lines().any(|pid| pid == supervisor_pid(&dir).to_string()));
    dir.request_stop(cynode_sandbox::job_dir::StopRequest::Cancel).unwrap();
    assert_eq!(watch.wait().ending, JobEnding::Canceled);
    assert!(!cgroup.exists());
}

#[test]
fn a_job_sees_neither_the_cgroups_of_the_node_nor_a_way_to_change_them() {
    let line = "cat /proc/self/cgroup; grep -c cgroup /proc/self/mountinfo; ls /sys 2>&1 | grep -c cgroup; \
                find / -xdev -name 'cgroup.procs' 2>/dev/null; mount -t cgroup2 none /tmp 2>/dev/null; ls /tmp";

    let done = SandboxWorkbench::new().run(line);

    assert_eq!(done.stdout, "0::/\n0\n0\n");
}

#[test]
fn the_cgroup_of_a_job_whose_supervisor_was_killed_is_emptied_and_removed() {
    let bench = SandboxWorkbench::new();
    let job = command("touch begun; for i in $(seq 50); do sleep 5151.5151 & done; wait");
    let begun = bench.sandbox.workspace(job.task_id).join("begun");
    let dir = bench.sandbox.accept(job).unwrap();
    let watch = bench.sandbox.start(&dir);
    eventually("its start", || begun.exists().then_some(()));

    kill(supervisor_pid(&dir), Signal::SIGKILL).unwrap();

    assert!(matches!(watch.wait().ending, JobEnding::Interrupted { .. }));
    assert!(!cgroup_of(&dir).exists());
    assert!(processes_naming("5151.5151".as_ref()).is_empty());
}

fn supervisor_pid(dir: &JobDir) -> Pid {
    let is_shim = |pid: &i32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split('\0').nth(1) == Some("sandbox-shim")
    };
    Pid::from_raw(processes_naming(dir.path()).into_iter().find(is_shim).unwrap())
}

#[test]
fn the_next_process_of_a_node_keeps_running_jobs_and_removes_what_is_left_of_others() {
    let bench = SandboxWorkbench::new();
    let job = command("touch begun; until [ -e enough ]; do sleep 0.1; done; echo adopted");
    let workspace = bench.sandbox.workspace(job.task_id);
    let dir = bench.sandbox.accept(job).unwrap();
    let _first = bench.sandbox.start(&dir);
    eventually("its start", || workspace.join("begun").exists().then_some(()));
    let (running, jobs) = (cgroup_of(&dir), cgroup_of(&dir).parent().unwrap().to_owned());
    // Left behind: one cgroup with a process, one without.
    let left = [JobId::generate(), JobId::generate()].map(|id| jobs.join(id.to_string()));
    for cgroup in &left {
        fs::create_dir(cgroup).unwrap();
    }
    let mut stray = Command::new("sleep").arg("6161").spawn().unwrap();
    fs::write(left[0].join("cgroup.procs"), stray.id().to_string()).unwrap();

    let next = next_process(&bench);

    assert!(running.exists());
    assert!(left.iter().all(|cgroup| !cgroup.exists()));
    assert!(!stray.wait().unwrap().success());
    fs::write(workspace.join("enough"), "").unwrap();
    assert_eq!(next.watch(&dir).wait().ending, JobEnding::Exited { code: 0 });
    assert_eq!(read_stream(&dir, Stream::Stdout), "adopted\n");
    assert!(!running.exists());
}

#[tokio::test]
async fn an_interactive_program_is_limited_as_a_job_is() {
    let bench = tokio::task::spawn_blocking(SandboxWorkbench::new).await.unwrap();
    for (script, reason) in [
        ("perl -e '$x = \"x\" x 1_000_000_000'", "was ended: it used more than 64 MiB of memory"),
        ("f() { f | f & }; f; sleep 60", "was ended: it had more than 40 processes"),
    ] {
        let program = InteractiveProgram {
            owner: TaskId::generate(),
            argv: ["/bin/sh", "-c", script].map(str::to_owned).into(),
            env: BTreeMap::new(),
            has_proxy: false,
            limits: Limits { memory_mib: 64, processes: 40, ..limits() },
        };
        let mut talk = bench.sandbox.spawn_interactive(program).unwrap();

        let ended = tokio::time::timeout(crate::workbench::TEST_TIMEOUT, talk.control.wait_ended());

        assert_eq!(ended.await.unwrap(), reason);
    }
}

#[test]
fn a_node_without_memory_is_not_taken_for_a_job_that_exceeds_its_limit() {
    let bench = SandboxWorkbench::new();
    let dir = bench.sandbox.accept(command("true")).unwrap();
    let jobs = cgroup_of(&dir).parent().unwrap().to_owned();
    // The limit of all jobs together is below that of this one.
    fs::write(jobs.join("memory.max"), (96u64 << 20).to_string()).unwrap();

    let done = bench.run("perl -e '$x = \"x\" x 1_000_000_000; print \"not ended\n\"'");

    // The cgroup outlives the test, and a later state directory may have the same number.
    fs::write(jobs.join("memory.max"), "max").unwrap();
    let reason = "the kernel ended it because the worker node ran out of memory".to_owned();
    assert_eq!(done.ending(), &JobEnding::Interrupted { reason });
}
