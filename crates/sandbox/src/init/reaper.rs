//! The event loop of PID 1: reaps children, enforces memory and process limits, forwards SIGTERM.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use cynode_domain::job::{JobEnding, Limits};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::memory;
use super::socket_memory::SocketMemory;
use crate::cgroup::Controller;
use crate::request::NamespaceOptions;
use crate::spec::{memory_limit_text, process_limit_text};

const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Every process of the namespace except PID 1 itself.
const ALL_PROCESSES: Pid = Pid::from_raw(-1);

/// PID 1 after the command has started.
pub(super) struct Reaper {
    signals: SignalFd,
    limits: Limits,
    /// The limit to compare samples with; `None` if the kernel enforces it.
    sampled_memory: Option<u64>,
    next_sample: Instant,
    /// `None` if the sockets of the sandbox cannot be listed.
    sockets: Option<SocketMemory>,
}

impl Reaper {
    /// Blocks and collects signals. Call before starting the first child.
    pub(super) fn new(limits: Limits, options: &NamespaceOptions) -> nix::Result<Self> {
        let mask: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGCHLD]
            .into_iter()
            .collect();
        mask.thread_block()?;
        let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let next_sample = Instant::now() + SAMPLE_INTERVAL;
        let is_sampled = !options.limits_by_cgroup(Controller::Memory);
        let sampled_memory = is_sampled.then_some(u64::from(limits.memory_mib) << 20);
        Ok(Self { signals, limits, sampled_memory, next_sample, sockets: None })
    }

    /// Counts the buffers of the sockets of the current network namespace from now on, where the kernel lists them.
    pub(super) fn count_sockets(&mut self) {
        self.sockets = SocketMemory::open().ok();
    }

    /// Runs until `command` ends, a limit is reached, or the supervisor is gone.
    pub(super) fn run(mut self, command: Pid, supervisor: BorrowedFd<'_>) -> JobEnding {
        loop {
            let is_alone = self.wait_for_events(supervisor);
            while let Ok(Some(signal)) = self.signals.read_signal() {
                if i32::try_from(signal.ssi_signo) != Ok(Signal::SIGCHLD as i32) {
                    let _ = kill(ALL_PROCESSES, Signal::SIGTERM);
                }
            }
            if let Some(code) = reap_children(command) {
                return JobEnding::Exited { code };
            }
            if is_alone {
                return JobEnding::Interrupted { reason: "the job's supervisor died".to_owned() };
            }
            if let Some(limit) = self.check_limits() {
                return JobEnding::LimitReached { limit };
            }
        }
    }

    /// Waits for a signal, the next sample, or the loss of the supervisor; returns true if it is lost.
    fn wait_for_events(&self, supervisor: BorrowedFd<'_>) -> bool {
        let mut fds = [
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            // No event requested: the kernel always reports a hang-up.
            PollFd::new(supervisor, PollFlags::empty()),
        ];
        let left = self.next_sample.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1));
        let _ = poll(&mut fds, timeout.unwrap_or(PollTimeout::ZERO));
        fds[1].any().unwrap_or(false)
    }

    fn check_limits(&mut self) -> Option<String> {
        if Instant::now() < self.next_sample {
            return None;
        }
        let Limits { memory_mib, processes, disk_mib, .. } = self.limits;
        let usage = memory::measure_usage(self.sampled_memory, self.sockets.as_ref());
        self.next_sample = Instant::now() + SAMPLE_INTERVAL;
        if self.sampled_memory.is_some_and(|limit| usage.bytes > limit) {
            return Some(memory_limit_text(memory_mib));
        }
        if usage.deleted_file_bytes > u64::from(disk_mib) << 20 {
            return Some(format!(
                "its deleted files that are still open filled {disk_mib} MiB of disk"
            ));
        }
        (usage.processes > u64::from(processes)).then(|| process_limit_text(processes))
    }
}

/// Reaps every dead child; returns the exit code of `command` if it is among them.
fn reap_children(command: Pid) -> Option<i32> {
    loop {
        match waitpid(ALL_PROCESSES, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == command => return Some(code),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == command => {
                return Some(128 + signal as i32);
            }
            Ok(WaitStatus::StillAlive) => return None,
            // No children left to wait for.
            Err(Errno::ECHILD) => return Some(128),
            Ok(_) | Err(_) => {}
        }
    }
}
