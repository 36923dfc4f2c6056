//! The loop of a supervisor: one wait for everything, then one look at every bound.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use cynode_domain::job::{Ending, Limits};
use cynode_wire::jobs::Truncated;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;

use super::Seen;
use super::disk::DiskWatch;
use super::output::Output;
use crate::job_dir::{JobDir, StopRequest};
use crate::spec::Report;

/// How soon a request to stop is seen.
const TICK: Duration = Duration::from_millis(50);
/// How long a command may take to end by itself once asked to.
const GRACE: Duration = Duration::from_secs(2);
/// The same when the node stops, which has little time itself.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// What a supervisor is made of.
pub(super) struct Parts {
    pub(super) dir: JobDir,
    pub(super) limits: Limits,
    pub(super) outputs: [Output; 2],
    pub(super) disk: DiskWatch,
    /// What PID 1 says, one JSON line each.
    pub(super) reports: File,
    pub(super) init: Child,
    pub(super) signals: SignalFd,
}

/// A running sandbox and what is known about it.
pub(super) struct Supervisor {
    parts: Parts,
    deadline: Instant,
    /// When patience with a command that was asked to end is over.
    kill_at: Option<Instant>,
    /// The first reason to end that was seen; later ones only follow from it.
    ending: Option<Ending>,
    features: Vec<String>,
    /// The reports not yet read as lines.
    unread: Vec<u8>,
    is_init_alive: bool,
}

impl Supervisor {
    pub(super) fn new(parts: Parts) -> Self {
        let deadline = Instant::now() + Duration::from_secs(parts.limits.timeout_s.into());
        Self {
            parts,
            deadline,
            kill_at: None,
            ending: None,
            features: vec![],
            unread: vec![],
            is_init_alive: true,
        }
    }

    /// Stays until nothing of the sandbox lives.
    pub(super) fn run(mut self) -> Seen {
        while self.is_init_alive || self.parts.outputs.iter().any(|output| output.fd().is_some()) {
            self.wait();
            self.look();
        }
        let status = self.parts.init.wait();
        let ending = self.ending.take().unwrap_or_else(|| Ending::Interrupted {
            reason: match status {
                Ok(status) => format!("the sandbox died: {status}"),
                Err(error) => format!("the sandbox was lost: {error}"),
            },
        });
        let [stdout, stderr] = &self.parts.outputs;
        Seen {
            ending: self.prefer_full_disk(ending),
            truncated: Truncated { stdout: stdout.is_truncated(), stderr: stderr.is_truncated() },
            features: self.features,
        }
    }

    /// A command that hits the end of its disk fails in its own words; the disk is the reason.
    fn prefer_full_disk(&self, ending: Ending) -> Ending {
        let Ending::Exited { .. } = ending else { return ending };
        match self.parts.disk.excess() {
            Some(limit) => Ending::LimitReached { limit },
            None => ending,
        }
    }

    fn wait(&mut self) {
        let [stdout, stderr] = &self.parts.outputs;
        let reports = self.is_init_alive.then(|| self.parts.reports.as_fd());
        let signals = Some(self.parts.signals.as_fd());
        let ready = ready([stdout.fd(), stderr.fd(), reports, signals]);
        for (output, is_ready) in self.parts.outputs.iter_mut().zip(ready) {
            if is_ready {
                output.take();
            }
        }
        if ready[2] {
            self.read_reports();
        }
        if ready[3] && matches!(self.parts.signals.read_signal(), Ok(Some(_))) {
            let reason = "the job's supervisor was told to stop".to_owned();
            self.end_gently(Ending::Interrupted { reason }, GRACE);
        }
    }

    fn look(&mut self) {
        let now = Instant::now();
        if self.kill_at.is_some_and(|at| now >= at) {
            let _ = self.parts.init.kill();
        }
        if self.ending.is_some() {
            return;
        }
        if self.parts.outputs.iter().any(Output::is_flood) {
            self.end_now("it printed more than 64 times what is kept of its output".to_owned());
        } else if let Some(limit) = self.parts.disk.tick() {
            self.end_now(limit);
        } else if now >= self.deadline {
            self.end_gently(Ending::TimedOut, GRACE);
        } else if let Some(request) = self.parts.dir.stop_request() {
            match request {
                StopRequest::Cancel => self.end_gently(Ending::Canceled, GRACE),
                StopRequest::NodeStops => {
                    let reason = "the node was stopped".to_owned();
                    self.end_gently(Ending::Interrupted { reason }, STOP_GRACE);
                }
            }
        }
    }

    /// PID 1 passes the request on to every process of the sandbox.
    fn end_gently(&mut self, ending: Ending, grace: Duration) {
        if self.ending.is_none() {
            self.ending = Some(ending);
            self.kill_at = Some(Instant::now() + grace);
            if let Ok(pid) = i32::try_from(self.parts.init.id()) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            }
        }
    }

    /// The kernel ends every process of the sandbox with its PID 1.
    fn end_now(&mut self, limit: String) {
        self.ending = Some(Ending::LimitReached { limit });
        self.kill_at = Some(Instant::now());
        let _ = self.parts.init.kill();
    }

    fn read_reports(&mut self) {
        let mut chunk = [0; 4096];
        match self.parts.reports.read(&mut chunk) {
            Ok(0) | Err(_) => self.is_init_alive = false,
            Ok(count) => self.unread.extend_from_slice(&chunk[..count]),
        }
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Report::Started { features }) => self.features = features,
                Ok(Report::Ended { ending }) => {
                    self.ending.get_or_insert(ending);
                }
                Err(_) => {}
            }
        }
    }
}

/// Waits for any of `fds` for at most a tick, and says which can be read.
fn ready<const N: usize>(fds: [Option<BorrowedFd<'_>>; N]) -> [bool; N] {
    let watched = fds.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
    let mut polled: Vec<PollFd<'_>> = watched.collect();
    let timeout = PollTimeout::try_from(TICK).unwrap_or(PollTimeout::ZERO);
    if poll(&mut polled, timeout).is_err() {
        return [false; N];
    }
    let mut answers = polled.iter().map(|fd| fd.any().unwrap_or(false));
    fds.map(|fd| fd.is_some() && answers.next().unwrap_or(false))
}
