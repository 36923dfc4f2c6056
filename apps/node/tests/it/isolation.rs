//! What a job can see and change.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use cynode_domain::job::JobEnding;
use nix::errno::Errno;

use crate::workbench::{SandboxWorkbench, command, script};

const EXITED_0: JobEnding = JobEnding::Exited { code: 0 };

#[test]
fn a_command_prints_and_its_exit_code_is_kept() {
    let bench = SandboxWorkbench::new();

    let done = bench.run("echo out; echo err >&2; exit 7");

    assert_eq!(done.ending(), &JobEnding::Exited { code: 7 });
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("out\n", "err\n"));
}

#[test]
fn a_command_ended_by_a_signal_exits_with_128_and_the_signal() {
    let done = SandboxWorkbench::new().run("kill -9 $$");

    assert_eq!(done.ending(), &JobEnding::Exited { code: 137 });
}

#[test]
fn a_script_runs_in_the_interpreter_of_its_first_line() {
    let done = SandboxWorkbench::new()
        .run_assignment(script("#!/bin/bash\necho ${BASH_VERSION:+bash} $0\n"));

    assert_eq!(done.stdout, "bash /job/script\n");
}

#[test]
fn a_script_without_a_first_line_runs_in_sh() {
    let done = SandboxWorkbench::new().run_assignment(script("echo plain\n"));

    assert_eq!((done.ending(), done.stdout.as_str()), (&EXITED_0, "plain\n"));
}

#[test]
fn an_interpreter_that_does_not_exist_means_the_job_did_not_start() {
    let done = SandboxWorkbench::new().run_assignment(script("#!/no/such/interpreter\n"));

    let JobEnding::NotStarted { reason } = done.ending() else { panic!("{done:?}") };
    assert!(reason.contains("/job/script cannot be started"), "{reason}");
}

#[test]
fn the_probe_reports_what_is_enforced() {
    let bench = SandboxWorkbench::new();
    let features = &bench.sandbox.level().features;

    for feature in
        ["pid_namespace", "mount_namespace", "network_namespace", "no_new_privs", "seccomp"]
    {
        assert!(features.iter().any(|have| have == feature), "{feature} is not in {features:?}");
    }
}

#[test]
fn a_node_that_does_not_limit_memory_by_cgroups_says_why() {
    let bench = SandboxWorkbench::new();
    let level = bench.sandbox.level();

    let is_enforced = level.features.iter().any(|feature| feature == "cgroup_memory");
    assert!(is_enforced || level.reason.is_some(), "{level:?}");
}

#[test]
fn jobs_have_no_network_but_their_own_loopback() {
    let bench = SandboxWorkbench::new();

    let devices = bench.run("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '");
    let outside = bench.run_assignment(script("#!/bin/bash\nexec 3<>/dev/tcp/192.0.2.1/80\n"));
    let loopback = bench.run_assignment(script("#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/80\n"));

    assert_eq!(devices.stdout, "lo\n");
    assert!(outside.stderr.contains("Network is unreachable"), "{}", outside.stderr);
    assert!(loopback.stderr.contains("Connection refused"), "{}", loopback.stderr);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn jobs_use_no_call_of_the_second_numbering() {
    // getpid (harmless), unshare (harmful), and ptrace (which has another number there).
    let line = "perl -e 'for (39, 272, 521) { $! = 0; my $r = syscall(0x40000000 + $_, 0, 0, 0, 0); \
                print \"$r \", $! + 0, \"\\n\" }'";

    let done = SandboxWorkbench::new().run(line);

    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("-1 1\n-1 1\n-1 1\n", ""));
}

#[test]
fn files_of_the_host_are_not_visible_to_jobs() {
    let bench = SandboxWorkbench::new();
    let secret = bench.state.path().join("secret");
    fs::write(&secret, "secret").unwrap();

    let done = bench.run(&format!("ls -d /root /home /var /etc/shadow /sys {}", secret.display()));
    let root = bench.run("ls /");

    assert_eq!(done.stdout, "");
    assert!(!root.stdout.contains("root") && root.stdout.contains("workspace"), "{}", root.stdout);
}

#[test]
fn jobs_write_only_to_their_own_directories() {
    let bench = SandboxWorkbench::new();

    let refused = bench.run("for f in /x /etc/x /usr/x /usr/bin/x /dev/x /job/x /proc/sys/kernel/hostname; do echo 1 > $f && echo wrote $f; done 2>/dev/null; exit 0");
    let allowed = bench.run("for f in /workspace/x $CYNODE_ARTIFACTS_DIR/x /tmp/x /dev/shm/x /dev/null /dev/stdout; do echo ok > $f || echo $f; done");

    assert_eq!(refused.stdout, "");
    assert_eq!((allowed.stdout.as_str(), allowed.stderr.as_str()), ("ok\n", ""));
}

#[test]
fn the_environment_of_a_job_is_the_promised_one_and_nothing_else() {
    let bench = SandboxWorkbench::new();
    let job = command("env | sort | grep -v '^_=\\|^PWD=\\|^SHLVL=\\|^OLDPWD='");
    let (task, id) = (job.task_id, job.job_id);

    let done = bench.run_assignment(job);

    assert_eq!(
        done.stdout,
        format!(
            "CYNODE_ARTIFACTS_DIR=/job/artifacts\nCYNODE_JOB_ID={id}\nCYNODE_TASK_ID={task}\n\
             CYNODE_WORKSPACE_DIR=/workspace\nHOME=/workspace\nLANG=C.UTF-8\n\
             PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
        )
    );
}

#[test]
fn jobs_of_one_task_share_a_workspace_and_others_do_not_see_it() {
    let bench = SandboxWorkbench::new();
    let first = command("echo 1 > note");
    let mut second = command("cat note");
    second.task_id = first.task_id;
    bench.run_assignment(first);

    assert_eq!(bench.run_assignment(second).stdout, "1\n");
    assert_eq!(bench.run("ls").stdout, "");
}

#[test]
fn jobs_have_no_capabilities_and_cannot_make_namespaces() {
    let bench = SandboxWorkbench::new();

    let status = bench.run("grep -E '^(Cap...|NoNewPrivs|Seccomp):' /proc/self/status");
    let unshare = bench.run("unshare --user true");
    let mount = bench.run("mount -t tmpfs none /tmp");

    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(status.stdout.contains(&format!("{set}:\t0000000000000000")), "{}", status.stdout);
    }
    assert!(status.stdout.contains("NoNewPrivs:\t1"), "{}", status.stdout);
    assert!(status.stdout.contains("Seccomp:\t2"), "{}", status.stdout);
    assert_ne!(unshare.ending(), &EXITED_0);
    assert_ne!(mount.ending(), &EXITED_0);
}

#[test]
fn a_job_sees_only_its_own_processes_and_cannot_end_its_sandbox() {
    let done = SandboxWorkbench::new().run("kill -9 1; ls /proc | grep -c '^[0-9]'; echo alive");

    let [count, alive] = done.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{done:?}") };
    assert!(count.parse::<u32>().unwrap() < 8, "{count}");
    assert_eq!(alive, "alive");
}

#[test]
fn nothing_a_job_writes_belongs_to_the_hosts_root() {
    let bench = SandboxWorkbench::new();

    let done = bench.run("echo 1 > $CYNODE_ARTIFACTS_DIR/x");

    let owner = fs::metadata(done.dir.artifacts_dir().join("x")).unwrap().uid();
    assert_ne!(owner, 0);
}

#[test]
fn a_directory_the_node_exposes_can_be_read_and_not_written() {
    let outside = tempfile::tempdir().unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(outside.path().join("tool"), "tool\n").unwrap();
    let bench = SandboxWorkbench::exposing(outside.path());

    let path = outside.path().display();
    let done = bench.run(&format!("cat {path}/tool; touch {path}/x || echo refused"));

    assert_eq!(done.stdout, "tool\nrefused\n");
}

#[test]
fn a_line_longer_than_an_argument_may_be_runs_all_the_same() {
    let done = SandboxWorkbench::new().run(&format!("x={}; echo ${{#x}}", "y".repeat(200_000)));

    assert_eq!(done.stdout, "200000\n");
}

#[test]
fn programs_of_one_job_talk_over_loopback() {
    let line = "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die; \
                $c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport) or die; print \"met\\n\"'";

    assert_eq!(SandboxWorkbench::new().run(line).stdout, "met\n");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_that_programs_do_not_need_do_not_exist_and_dangerous_ones_are_denied() {
    // memfd_secret, fanotify_init, iopl, a number of the future; then unshare, mount, bpf.
    let line = "perl -e 'for (447, 300, 172, 9999, 272, 165, 321) { $! = 0; syscall($_, 0, 0, 0, 0, 0); \
                print $! + 0, \" \"; }'";

    let done = SandboxWorkbench::new().run(line);

    let (absent, denied) = (Errno::ENOSYS as i32, Errno::EPERM as i32);
    let expected =
        [absent, absent, absent, absent, denied, denied, denied].map(|code| code.to_string());
    assert_eq!(done.stdout.trim(), expected.join(" "));
}

#[test]
fn ordinary_programs_work_in_the_sandbox() {
    let python = r#"
import asyncio, concurrent.futures, json, mmap, multiprocessing, os, socket, sqlite3, subprocess, tempfile, threading, time
with concurrent.futures.ThreadPoolExecutor(4) as pool: assert sum(pool.map(lambda n: n * n, range(10))) == 285
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]
assert subprocess.run(["sh", "-c", "echo hi | tr h H"], capture_output=True).stdout == b"Hi\n"
db = sqlite3.connect(tempfile.mkstemp()[1]); db.execute("create table t (a)"); db.execute("insert into t values (1)"); db.commit()
async def serve():
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port); await reader.read(); server.close()
asyncio.run(serve())
with open("m", "w+b") as f: f.truncate(4096); mmap.mmap(f.fileno(), 4096)[0:1] = b"x"
os.symlink("m", "l"); os.rename("l", "k"); os.utime("m"); os.chmod("m", 0o600); os.link("m", "n"); os.listdir("."); os.statvfs(".")
os.nice(1); os.sched_getaffinity(0); os.getloadavg(); time.sleep(0.01); os.kill(os.getpid(), 0); os.sync()
print("python fine")
"#;
    let line = format!(
        "/usr/bin/python3 -c '{python}' && perl -MPOSIX -e 'print \"perl fine\n\"' && \
                        tar cf t.tar m && gzip t.tar && sort -u m > /dev/null && echo shell fine"
    );

    let done = SandboxWorkbench::new().run(&line);

    assert_eq!(done.stdout, "python fine\nperl fine\nshell fine\n", "{}", done.stderr);
}
