//! The supervisor of an interactive program.
//!
//! Unlike a job, such a program is useless without its client. The client holds a socket open that is the standard
//! input of this process; when it closes, the sandbox ends. The listener of the sandbox's proxy goes to the client over it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use cynode_domain::job::{Ending, Limits};
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{Mode, umask};
use nix::unistd::Pid;

use super::disk::DiskWatch;
use super::spawn::{chown_directories, create_cgroup, unshare_pid_namespace};
use crate::cgroup::JobCgroup;
use crate::descriptor_passing::{receive, send_file};
use crate::job_dir::JobDir;
use crate::sandbox;
use crate::spec::{DECLARED_ENV_VAR, InitReport, JobSpec};
use crate::stage_entry;

const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The message that carries the listener of the proxy to the client.
pub(crate) const PROXY_LISTENER: u8 = b'p';
/// Time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(1);

/// Runs the program in `path` to its end and writes the outcome to the directory.
pub(crate) fn main(path: &Path) -> ExitCode {
    let dir = JobDir::open(path);
    // Fails for a group leader, which is already separate from its parent's group.
    let _ = nix::unistd::setsid();
    umask(Mode::from_bits_truncate(0o077));
    let ending = run_program(&dir).unwrap_or_else(|reason| Ending::NotStarted { reason });
    dir.remove_cgroup();
    match dir.set_outcome(&sandbox::node_outcome(ending)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run_program(dir: &JobDir) -> Result<Ending, String> {
    let spec = dir.spec().map_err(|error| error.to_string())?;
    let words = |error: io::Error| format!("the sandbox process cannot be started: {error}");
    chown_directories(dir, &spec).map_err(|error| words(error.into()))?;
    create_cgroup(&spec)?;
    unshare_pid_namespace(spec.isolation)?;
    let (reports, reporter) = UnixStream::pair().map_err(words)?;
    let init = Command::new(stage_entry::SELF_EXE)
        .arg0(stage_entry::PROCESS_NAME)
        .arg(stage_entry::INIT)
        .arg(dir.path())
        .inherit_only(&Allowlist::none().names(&[DECLARED_ENV_VAR]))
        .stdin(OwnedFd::from(reporter))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(words)?;
    Ok(ProgramSupervisor::new(dir, &spec, init, reports).supervise())
}

struct ProgramSupervisor {
    init: Child,
    /// Reports of PID 1, one JSON line each; the listener of the proxy may be attached.
    reports: UnixStream,
    report_buffer: Vec<u8>,
    disk: DiskWatch,
    cgroup: Option<JobCgroup>,
    limits: Limits,
    ending: Option<Ending>,
    /// When to send SIGKILL after SIGTERM.
    kill_at: Option<Instant>,
}

impl ProgramSupervisor {
    fn new(dir: &JobDir, spec: &JobSpec, init: Child, reports: UnixStream) -> Self {
        let limit = spec.assignment.limits.disk_mib;
        let disk = DiskWatch::new(spec.workspace.clone(), dir.artifacts_dir(), limit);
        Self {
            init,
            reports,
            report_buffer: vec![],
            disk,
            cgroup: spec.cgroup.clone(),
            limits: spec.assignment.limits,
            ending: None,
            kill_at: None,
        }
    }

    /// Runs until no process of the sandbox is left.
    fn supervise(mut self) -> Ending {
        loop {
            let (is_alone, has_report) = self.wait_for_events();
            if has_report && !self.read_reports() {
                break;
            }
            if is_alone && self.kill_at.is_none() {
                self.terminate();
            }
            if self.kill_at.is_some_and(|at| Instant::now() >= at) {
                self.kill_sandbox();
            }
            if self.ending.is_none()
                && let Some(limit) = self.find_reached_limit()
            {
                self.ending = Some(Ending::LimitReached { limit });
                self.kill_sandbox();
            }
        }
        let status = self.init.wait();
        let by_kernel = self.cgroup.as_ref();
        let by_kernel =
            by_kernel.and_then(|cgroup| cgroup.find_ending(self.ending.as_ref(), &self.limits));
        by_kernel.or(self.ending).unwrap_or_else(|| Ending::Interrupted {
            reason: status.map_or_else(
                |error| format!("the sandbox was lost: {error}"),
                |status| format!("the sandbox died: {status}"),
            ),
        })
    }

    fn find_reached_limit(&mut self) -> Option<String> {
        let denied =
            self.cgroup.as_ref().and_then(|cgroup| cgroup.find_denied_process(&self.limits));
        denied.or_else(|| self.disk.check_if_due())
    }

    /// Kills PID 1; the kernel kills every other process of the sandbox with it.
    fn kill_sandbox(&mut self) {
        let _ = self.init.kill();
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
    }

    /// Polls for at most a tick; returns whether the client is gone and whether a report is readable.
    fn wait_for_events(&self) -> (bool, bool) {
        let stdin = io::stdin();
        // After the client is gone, its descriptor is no longer polled.
        let watched = if self.kill_at.is_none() { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut fds = [
            PollFd::new(self.reports.as_fd(), PollFlags::POLLIN),
            PollFd::new(stdin.as_fd(), watched),
        ];
        let count = if self.kill_at.is_none() { 2 } else { 1 };
        let timeout = PollTimeout::try_from(POLL_INTERVAL).unwrap_or(PollTimeout::ZERO);
        if poll(&mut fds[..count], timeout).is_err() {
            return (false, false);
        }
        (count == 2 && fds[1].any().unwrap_or(false), fds[0].any().unwrap_or(false))
    }

    fn terminate(&mut self) {
        let reason = "its client disconnected".to_owned();
        self.ending.get_or_insert(Ending::Interrupted { reason });
        self.kill_at = Some(Instant::now() + TERM_GRACE);
        if let Ok(pid) = i32::try_from(self.init.id()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
    }

    /// Reads reports of PID 1; returns false after PID 1 has exited.
    fn read_reports(&mut self) -> bool {
        let mut chunk = [0; 4096];
        match receive(self.reports.as_fd(), &mut chunk) {
            Ok((0, _)) | Err(_) => return false,
            Ok((count, listener)) => {
                self.report_buffer.extend_from_slice(&chunk[..count]);
                if let Some(listener) = listener {
                    // A client that is gone is noticed by the next poll.
                    let _ = send_file(io::stdin().as_fd(), &[PROXY_LISTENER], listener.as_fd());
                }
            }
        }
        while let Some(end) = self.report_buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.report_buffer.drain(..=end).collect();
            if let Ok(InitReport::Ended { ending }) = serde_json::from_slice(&line) {
                self.ending.get_or_insert(ending);
            }
        }
        true
    }
}
