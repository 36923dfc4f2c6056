//! The event loop of a supervisor: one poll for all events, then one check of every limit.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use cynode_domain::job::JobEnding;
use cynode_wire::jobs::{Stream, Truncated};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signalfd::SignalFd;

use super::SupervisedOutcome;
use super::disk::DiskWatch;
use super::output::OutputCapture;
use crate::backend::{SandboxBackend, SandboxEvent};
use crate::job_dir::{JobDir, StopRequest};
use crate::listener_handover::ListenerHandover;
use crate::request::SandboxRequest;

/// Poll interval for stop requests.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// The same when the node shuts down, which itself has little time.
const SHUTDOWN_TERM_GRACE: Duration = Duration::from_secs(1);

/// Supervises one job, whatever its sandbox is made of.
pub(super) struct JobSupervisor<B> {
    dir: JobDir,
    sandbox: B,
    outputs: [OutputCapture; 2],
    disk: DiskWatch,
    signals: SignalFd,
    deadline: Instant,
    /// When to send SIGKILL after SIGTERM.
    kill_at: Option<Instant>,
    /// The first reason to end; later ones are consequences of it.
    ending: Option<JobEnding>,
    features: Vec<String>,
    is_sandbox_alive: bool,
    /// The listener of the sandbox, for processes of the node.
    handover: Option<ListenerHandover>,
}

impl<B: SandboxBackend> JobSupervisor<B> {
    pub(super) fn new(
        dir: &JobDir,
        request: &SandboxRequest,
        mut sandbox: B,
        signals: SignalFd,
    ) -> io::Result<Self> {
        let [stdout, stderr] = sandbox.take_outputs()?;
        let keep = |pipe, stream| {
            OutputCapture::new(pipe, &dir.stream(stream), request.limits.output_bytes)
        };
        Ok(Self {
            dir: dir.clone(),
            sandbox,
            outputs: [keep(stdout, Stream::Stdout)?, keep(stderr, Stream::Stderr)?],
            disk: DiskWatch::for_request(request),
            signals,
            deadline: Instant::now() + Duration::from_secs(request.limits.timeout_s.into()),
            kill_at: None,
            ending: None,
            features: vec![],
            is_sandbox_alive: true,
            handover: None,
        })
    }

    /// Runs until no process of the sandbox is left.
    pub(super) fn run(mut self) -> SupervisedOutcome {
        while self.is_sandbox_alive || self.outputs.iter().any(|output| output.fd().is_some()) {
            self.wait_for_events();
            self.check_limits();
        }
        let ending = self.sandbox.finish(self.ending);
        let [stdout, stderr] = &self.outputs;
        SupervisedOutcome {
            ending: prefer_full_disk(&self.disk, ending),
            truncated: Truncated { stdout: stdout.is_truncated(), stderr: stderr.is_truncated() },
            features: self.features,
        }
    }

    fn wait_for_events(&mut self) {
        let [stdout, stderr] = &self.outputs;
        let events = self.is_sandbox_alive.then(|| self.sandbox.events_fd());
        let signals = Some(self.signals.as_fd());
        let handover = self.handover.as_ref().map(ListenerHandover::fd);
        let ready = poll_readable([stdout.fd(), stderr.fd(), events, signals, handover]);
        for (output, is_ready) in self.outputs.iter_mut().zip(ready) {
            if is_ready {
                output.read_available();
            }
        }
        if ready[2] {
            self.read_events();
        }
        if ready[3] && matches!(self.signals.read_signal(), Ok(Some(_))) {
            let reason = "the job's supervisor was terminated".to_owned();
            self.terminate(JobEnding::Interrupted { reason }, TERM_GRACE);
        }
        if ready[4]
            && let Some(handover) = &self.handover
        {
            handover.answer();
        }
    }

    /// Offers the listener of the sandbox to processes of the node. Without it the job could not reach anything.
    fn offer_listener(&mut self, listener: OwnedFd) {
        match ListenerHandover::offer(&self.dir, listener) {
            Ok(handover) => self.handover = Some(handover),
            Err(error) => {
                let reason = format!("the way out of the sandbox cannot be set up: {error}");
                self.terminate(JobEnding::NotStarted { reason }, TERM_GRACE);
            }
        }
    }

    fn check_limits(&mut self) {
        let now = Instant::now();
        if self.kill_at.is_some_and(|at| now >= at) {
            self.sandbox.kill();
        }
        if self.ending.is_some() {
            return;
        }
        if self.outputs.iter().any(OutputCapture::is_flood) {
            self.kill_for_limit("its output exceeded 64 times the stored limit".to_owned());
        } else if let Some(limit) = self.disk.check_if_due() {
            self.kill_for_limit(limit);
        } else if let Some(limit) = self.sandbox.find_reached_limit() {
            self.kill_for_limit(limit);
        } else if now >= self.deadline {
            self.terminate(JobEnding::TimedOut, TERM_GRACE);
        } else if let Some(request) = self.dir.stop_request() {
            match request {
                StopRequest::Cancel => self.terminate(JobEnding::Canceled, TERM_GRACE),
                StopRequest::NodeShutdown => {
                    let reason = "the worker node was stopped".to_owned();
                    self.terminate(JobEnding::Interrupted { reason }, SHUTDOWN_TERM_GRACE);
                }
            }
        }
    }

    fn terminate(&mut self, ending: JobEnding, grace: Duration) {
        if self.ending.is_none() {
            self.ending = Some(ending);
            self.kill_at = Some(Instant::now() + grace);
            self.sandbox.terminate();
        }
    }

    fn kill_for_limit(&mut self, limit: String) {
        self.ending = Some(JobEnding::LimitReached { limit });
        self.kill_at = Some(Instant::now());
        self.sandbox.kill();
    }

    fn read_events(&mut self) {
        for event in self.sandbox.read_events() {
            match event {
                SandboxEvent::EgressListening(listener) => self.offer_listener(listener),
                SandboxEvent::Started { features } => self.features = features,
                SandboxEvent::Ended(ending) => {
                    self.ending.get_or_insert(ending);
                }
                SandboxEvent::Closed => self.is_sandbox_alive = false,
            }
        }
    }
}

/// Reports the disk limit as the reason when a command exits because of it.
fn prefer_full_disk(disk: &DiskWatch, ending: JobEnding) -> JobEnding {
    let JobEnding::Exited { .. } = ending else { return ending };
    match disk.find_excess() {
        Some(limit) => JobEnding::LimitReached { limit },
        None => ending,
    }
}

/// Polls `fds` for at most a tick; returns which are readable.
fn poll_readable<const N: usize>(fds: [Option<BorrowedFd<'_>>; N]) -> [bool; N] {
    let watched = fds.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
    let mut polled: Vec<PollFd<'_>> = watched.collect();
    let timeout = PollTimeout::try_from(POLL_INTERVAL).unwrap_or(PollTimeout::ZERO);
    if poll(&mut polled, timeout).is_err() {
        return [false; N];
    }
    let mut answers = polled.iter().map(|fd| fd.any().unwrap_or(false));
    fds.map(|fd| fd.is_some() && answers.next().unwrap_or(false))
}

#[cfg(test)]
mod tests;
