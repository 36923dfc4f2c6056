//! The supervisor of an interactive program.
//!
//! Unlike a job, such a program is of no use without the one who talks with it: the standard input
//! of this process is held by that one, and when it closes, the sandbox ends.

use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use cynode_domain::job::Ending;
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::{Mode, umask};
use nix::unistd::Pid;

use super::disk::DiskWatch;
use super::spawn::{leave_namespaces, own_directories};
use crate::entry;
use crate::job_dir::JobDir;
use crate::sandbox;
use crate::spec::{DECLARED, JobSpec, Report};

const TICK: Duration = Duration::from_millis(200);
/// How long a program may take to end by itself once asked to.
const GRACE: Duration = Duration::from_secs(1);

/// Runs the program in `path` to its end. How it ended is in the directory.
pub(crate) fn main(path: &Path) -> ExitCode {
    let dir = JobDir::at(path);
    // A leader of a group cannot make a session; it is apart from its parent's group already then.
    let _ = nix::unistd::setsid();
    umask(Mode::from_bits_truncate(0o077));
    let ending = run(&dir).unwrap_or_else(|reason| Ending::NotStarted { reason });
    match dir.set_outcome(&sandbox::ended(ending)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(dir: &JobDir) -> Result<Ending, String> {
    let spec = dir.spec().map_err(|error| error.to_string())?;
    let words = |error: io::Error| format!("the sandbox process cannot be started: {error}");
    own_directories(dir, &spec).map_err(|error| words(error.into()))?;
    leave_namespaces(spec.isolation)?;
    let (reports, reporter) = io::pipe().map_err(words)?;
    let init = Command::new(entry::SELF)
        .arg0(entry::PROCESS_NAME)
        .arg(entry::INIT)
        .arg(dir.path())
        .inherit_only(&Allowlist::none().names(&[DECLARED]))
        .stdin(OwnedFd::from(reporter))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(words)?;
    Ok(Host::new(dir, &spec, init, reports).run())
}

struct Host {
    init: Child,
    /// What PID 1 says, one JSON line each.
    reports: io::PipeReader,
    unread: Vec<u8>,
    disk: DiskWatch,
    ending: Option<Ending>,
    /// When patience with a program that was asked to end is over.
    kill_at: Option<Instant>,
}

impl Host {
    fn new(dir: &JobDir, spec: &JobSpec, init: Child, reports: io::PipeReader) -> Self {
        let paths = vec![spec.workspace.clone(), dir.artifacts()];
        let disk = DiskWatch::new(paths, spec.assignment.limits.disk_mib);
        Self { init, reports, unread: vec![], disk, ending: None, kill_at: None }
    }

    /// Stays until nothing of the sandbox lives.
    fn run(mut self) -> Ending {
        loop {
            let (is_alone, has_report) = self.wait();
            if has_report && !self.read_reports() {
                break;
            }
            if is_alone && self.kill_at.is_none() {
                self.end_gently();
            }
            if self.kill_at.is_some_and(|at| Instant::now() >= at) {
                let _ = self.init.kill();
            }
            if self.ending.is_none()
                && let Some(limit) = self.disk.tick()
            {
                self.ending = Some(Ending::LimitReached { limit });
                let _ = self.init.kill();
            }
        }
        let status = self.init.wait();
        self.ending.unwrap_or_else(|| Ending::Interrupted {
            reason: status.map_or_else(
                |error| format!("the sandbox was lost: {error}"),
                |status| format!("the sandbox died: {status}"),
            ),
        })
    }

    /// Waits for a tick at most; says if nobody talks any longer, and if PID 1 said something.
    fn wait(&self) -> (bool, bool) {
        let stdin = io::stdin();
        // Once it was noticed that nobody talks, there is nothing to wait for there.
        let watched = if self.kill_at.is_none() { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut fds = [
            PollFd::new(self.reports.as_fd(), PollFlags::POLLIN),
            PollFd::new(stdin.as_fd(), watched),
        ];
        let count = if self.kill_at.is_none() { 2 } else { 1 };
        let timeout = PollTimeout::try_from(TICK).unwrap_or(PollTimeout::ZERO);
        if poll(&mut fds[..count], timeout).is_err() {
            return (false, false);
        }
        (count == 2 && fds[1].any().unwrap_or(false), fds[0].any().unwrap_or(false))
    }

    fn end_gently(&mut self) {
        let reason = "nobody talks with it any longer".to_owned();
        self.ending.get_or_insert(Ending::Interrupted { reason });
        self.kill_at = Some(Instant::now() + GRACE);
        if let Ok(pid) = i32::try_from(self.init.id()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
    }

    /// Reads what PID 1 says; whether it still lives.
    fn read_reports(&mut self) -> bool {
        let mut chunk = [0; 4096];
        match self.reports.read(&mut chunk) {
            Ok(0) | Err(_) => return false,
            Ok(count) => self.unread.extend_from_slice(&chunk[..count]),
        }
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            if let Ok(Report::Ended { ending }) = serde_json::from_slice(&line) {
                self.ending.get_or_insert(ending);
            }
        }
        true
    }
}
