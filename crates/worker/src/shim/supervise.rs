//! The event loop of a supervisor: one poll for all events, then one check of every limit.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};

use cynode_domain::job::{Ending, Limits};
use cynode_image::ImageUse;
use cynode_wire::jobs::Truncated;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;

use super::SupervisedOutcome;
use super::disk::DiskWatch;
use super::output::OutputCapture;
use crate::cgroup::JobCgroup;
use crate::descriptor_passing::receive;
use crate::job_dir::{JobDir, StopRequest};
use crate::listener_handover::ListenerHandover;
use crate::spec::InitReport;

/// Poll interval for stop requests.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// The same when the node shuts down, which itself has little time.
const SHUTDOWN_TERM_GRACE: Duration = Duration::from_secs(1);

pub(super) struct SupervisorParts {
    pub(super) dir: JobDir,
    pub(super) limits: Limits,
    pub(super) outputs: [OutputCapture; 2],
    pub(super) disk: DiskWatch,
    /// Reports of PID 1, one JSON line each; the listener of the sandbox may be attached.
    pub(super) reports: UnixStream,
    pub(super) init: Child,
    pub(super) signals: SignalFd,
    pub(super) cgroup: Option<JobCgroup>,
    /// Held until the sandbox has ended.
    pub(super) _image: Option<ImageUse>,
}

/// A running sandbox.
pub(super) struct JobSupervisor {
    parts: SupervisorParts,
    deadline: Instant,
    /// When to send SIGKILL after SIGTERM.
    kill_at: Option<Instant>,
    /// The first reason to end; later ones are consequences of it.
    ending: Option<Ending>,
    features: Vec<String>,
    /// Report bytes not yet parsed as lines.
    report_buffer: Vec<u8>,
    is_init_alive: bool,
    /// The listener of the sandbox, for processes of the node.
    handover: Option<ListenerHandover>,
}

impl JobSupervisor {
    pub(super) fn new(parts: SupervisorParts) -> Self {
        let deadline = Instant::now() + Duration::from_secs(parts.limits.timeout_s.into());
        Self {
            parts,
            deadline,
            kill_at: None,
            ending: None,
            features: vec![],
            report_buffer: vec![],
            is_init_alive: true,
            handover: None,
        }
    }

    /// Runs until no process of the sandbox is left.
    pub(super) fn run(mut self) -> SupervisedOutcome {
        while self.is_init_alive || self.parts.outputs.iter().any(|output| output.fd().is_some()) {
            self.wait_for_events();
            self.check_limits();
        }
        let status = self.parts.init.wait();
        let ending = self.ending.take();
        let by_kernel = self.parts.cgroup.as_ref();
        let by_kernel =
            by_kernel.and_then(|cgroup| cgroup.find_ending(ending.as_ref(), &self.parts.limits));
        let ending = by_kernel.or(ending).unwrap_or_else(|| Ending::Interrupted {
            reason: match status {
                Ok(status) => format!("the sandbox died: {status}"),
                Err(error) => format!("the sandbox was lost: {error}"),
            },
        });
        let [stdout, stderr] = &self.parts.outputs;
        SupervisedOutcome {
            ending: self.prefer_full_disk(ending),
            truncated: Truncated { stdout: stdout.is_truncated(), stderr: stderr.is_truncated() },
            features: self.features,
        }
    }

    /// Reports the disk limit as the reason when a command exits because of it.
    fn prefer_full_disk(&self, ending: Ending) -> Ending {
        let Ending::Exited { .. } = ending else { return ending };
        match self.parts.disk.find_excess() {
            Some(limit) => Ending::LimitReached { limit },
            None => ending,
        }
    }

    fn wait_for_events(&mut self) {
        let [stdout, stderr] = &self.parts.outputs;
        let reports = self.is_init_alive.then(|| self.parts.reports.as_fd());
        let signals = Some(self.parts.signals.as_fd());
        let handover = self.handover.as_ref().map(ListenerHandover::fd);
        let ready = poll_readable([stdout.fd(), stderr.fd(), reports, signals, handover]);
        for (output, is_ready) in self.parts.outputs.iter_mut().zip(ready) {
            if is_ready {
                output.read_available();
            }
        }
        if ready[2] {
            self.read_reports();
        }
        if ready[3] && matches!(self.parts.signals.read_signal(), Ok(Some(_))) {
            let reason = "the job's supervisor was terminated".to_owned();
            self.terminate(Ending::Interrupted { reason }, TERM_GRACE);
        }
        if ready[4]
            && let Some(handover) = &self.handover
        {
            handover.answer();
        }
    }

    /// Offers the listener of the sandbox to processes of the node. Without it the job could not reach anything.
    fn offer_listener(&mut self, listener: OwnedFd) {
        match ListenerHandover::offer(&self.parts.dir, listener) {
            Ok(handover) => self.handover = Some(handover),
            Err(error) => {
                let reason = format!("the way out of the sandbox cannot be set up: {error}");
                self.terminate(Ending::NotStarted { reason }, TERM_GRACE);
            }
        }
    }

    fn check_limits(&mut self) {
        let now = Instant::now();
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_sandbox();
        }
        if self.ending.is_some() {
            return;
        }
        if self.parts.outputs.iter().any(OutputCapture::is_flood) {
            self.kill_for_limit("its output exceeded 64 times the stored limit".to_owned());
        } else if let Some(limit) = self.parts.disk.check_if_due() {
            self.kill_for_limit(limit);
        } else if let Some(limit) = self.find_denied_process() {
            self.kill_for_limit(limit);
        } else if now >= self.deadline {
            self.terminate(Ending::TimedOut, TERM_GRACE);
        } else if let Some(request) = self.parts.dir.stop_request() {
            match request {
                StopRequest::Cancel => self.terminate(Ending::Canceled, TERM_GRACE),
                StopRequest::NodeShutdown => {
                    let reason = "the node was stopped".to_owned();
                    self.terminate(Ending::Interrupted { reason }, SHUTDOWN_TERM_GRACE);
                }
            }
        }
    }

    /// Sends SIGTERM to PID 1, which forwards it to every process of the sandbox.
    fn terminate(&mut self, ending: Ending, grace: Duration) {
        if self.ending.is_none() {
            self.ending = Some(ending);
            self.kill_at = Some(Instant::now() + grace);
            if let Ok(pid) = i32::try_from(self.parts.init.id()) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            }
        }
    }

    fn find_denied_process(&self) -> Option<String> {
        self.parts.cgroup.as_ref()?.find_denied_process(&self.parts.limits)
    }

    fn kill_for_limit(&mut self, limit: String) {
        self.ending = Some(Ending::LimitReached { limit });
        self.kill_at = Some(Instant::now());
        self.kill_sandbox();
    }

    /// Kills PID 1; the kernel kills every other process of the sandbox with it.
    fn kill_sandbox(&mut self) {
        let _ = self.parts.init.kill();
        if let Some(cgroup) = &self.parts.cgroup {
            cgroup.kill();
        }
    }

    fn read_reports(&mut self) {
        let mut chunk = [0; 4096];
        match receive(self.parts.reports.as_fd(), &mut chunk) {
            Ok((0, _)) | Err(_) => self.is_init_alive = false,
            Ok((count, listener)) => {
                self.report_buffer.extend_from_slice(&chunk[..count]);
                if let Some(listener) = listener {
                    self.offer_listener(listener);
                }
            }
        }
        while let Some(end) = self.report_buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.report_buffer.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(InitReport::Started { features }) => self.features = features,
                Ok(InitReport::Ended { ending }) => {
                    self.ending.get_or_insert(ending);
                }
                Ok(InitReport::EgressListening) | Err(_) => {}
            }
        }
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
