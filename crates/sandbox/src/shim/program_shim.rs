//! The supervisor of an interactive program.
//!
//! Unlike a job, such a program is useless without its client. The client holds a socket open that is the standard
//! input of this process; when it closes, the sandbox ends. The listener of the sandbox's proxy goes to the client over it.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cynode_domain::job::JobEnding;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{Mode, umask};

use super::disk::DiskWatch;
use crate::backend::{OutputStreams, SandboxBackend, SandboxEvent};
use crate::descriptor_passing::send_file;
use crate::job_dir::JobDir;
use crate::namespaces::NamespaceSandbox;
use crate::request::{BackendOptions, SandboxRequest};
use crate::sandbox;

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
    let ending = run_program(&dir).unwrap_or_else(|reason| JobEnding::NotStarted { reason });
    dir.remove_cgroup();
    match dir.set_outcome(&sandbox::node_outcome(ending)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run_program(dir: &JobDir) -> Result<JobEnding, String> {
    let request = dir.request().map_err(|error| format!("the request cannot be read: {error}"))?;
    match &request.backend {
        BackendOptions::Namespaces(_) => supervise::<NamespaceSandbox>(dir, &request),
    }
}

fn supervise<B: SandboxBackend>(
    dir: &JobDir,
    request: &SandboxRequest,
) -> Result<JobEnding, String> {
    let sandbox = B::start(dir, request, OutputStreams::Inherited)?;
    let disk = DiskWatch::for_request(request);
    Ok(ProgramSupervisor { sandbox, disk, ending: None, kill_at: None }.supervise())
}

struct ProgramSupervisor<B> {
    sandbox: B,
    disk: DiskWatch,
    ending: Option<JobEnding>,
    /// When to send SIGKILL after SIGTERM.
    kill_at: Option<Instant>,
}

impl<B: SandboxBackend> ProgramSupervisor<B> {
    /// Runs until no process of the sandbox is left.
    fn supervise(mut self) -> JobEnding {
        loop {
            let (is_alone, has_event) = self.wait_for_events();
            if has_event && !self.read_events() {
                break;
            }
            if is_alone && self.kill_at.is_none() {
                self.terminate();
            }
            if self.kill_at.is_some_and(|at| Instant::now() >= at) {
                self.sandbox.kill();
            }
            if self.ending.is_none()
                && let Some(limit) = self.find_reached_limit()
            {
                self.ending = Some(JobEnding::LimitReached { limit });
                self.sandbox.kill();
            }
        }
        self.sandbox.finish(self.ending)
    }

    fn find_reached_limit(&mut self) -> Option<String> {
        self.sandbox.find_reached_limit().or_else(|| self.disk.check_if_due())
    }

    /// Polls for at most a tick; returns whether the client is gone and whether an event is readable.
    fn wait_for_events(&self) -> (bool, bool) {
        let stdin = io::stdin();
        // After the client is gone, its descriptor is no longer polled.
        let watched = if self.kill_at.is_none() { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut fds = [
            PollFd::new(self.sandbox.events_fd(), PollFlags::POLLIN),
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
        self.ending.get_or_insert(JobEnding::Interrupted { reason });
        self.kill_at = Some(Instant::now() + TERM_GRACE);
        self.sandbox.terminate();
    }

    /// Reads events; returns false after the last process has ended.
    fn read_events(&mut self) -> bool {
        let mut is_alive = true;
        for event in self.sandbox.read_events() {
            match event {
                // A client that is gone is noticed by the next poll.
                SandboxEvent::EgressListening(listener) => {
                    let _ = send_file(io::stdin().as_fd(), &[PROXY_LISTENER], listener.as_fd());
                }
                SandboxEvent::Started { .. } => {}
                SandboxEvent::Ended(ending) => {
                    self.ending.get_or_insert(ending);
                }
                SandboxEvent::Closed => is_alive = false,
            }
        }
        is_alive
    }
}
