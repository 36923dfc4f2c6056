//! The interface of a backend: builds a sandbox from a request, and tells its supervisor what happens in it.
//!
//! To add one, such as a container engine: a variant of [`BackendOptions`](crate::request::BackendOptions), an implementation of
//! [`SandboxBackend`], and a probe that reports what it enforces. The logic of jobs does not change.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use cynode_domain::job::JobEnding;

use crate::job_dir::JobDir;
use crate::request::SandboxRequest;

/// A running sandbox.
///
/// Invariants: no process of the sandbox outlives this value's process, and none is left once [`SandboxEvent::Closed`] was read.
pub(crate) trait SandboxBackend: Sized {
    /// Builds the sandbox and starts the command. Writes the start marker of `dir` before anything of the job can run, and
    /// nothing of it runs if that fails.
    fn start(
        dir: &JobDir,
        request: &SandboxRequest,
        streams: OutputStreams,
    ) -> Result<Self, String>;

    /// The ends of the standard output and error to read from, once, if they are captured.
    fn take_outputs(&mut self) -> io::Result<[OwnedFd; 2]>;

    /// Readable when [`Self::read_events`] has something.
    fn events_fd(&self) -> BorrowedFd<'_>;

    /// Reads what happened. Blocks if [`Self::events_fd`] is not readable.
    fn read_events(&mut self) -> Vec<SandboxEvent>;

    /// Asks every process of the sandbox to end.
    fn terminate(&mut self);

    /// Ends every process of the sandbox.
    fn kill(&mut self);

    /// A limit that the backend itself enforces and that the job has reached, as text.
    fn find_reached_limit(&self) -> Option<String>;

    /// Waits for the end. Returns how the job ended, given what its supervisor and
    /// [`SandboxEvent::Ended`] say.
    fn finish(self, ending: Option<JobEnding>) -> JobEnding;
}

/// Where the output of the command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStreams {
    Captured,
    /// To those of the supervisor.
    Inherited,
}

#[derive(Debug)]
pub(crate) enum SandboxEvent {
    /// The listener of the sandbox's way out.
    EgressListening(OwnedFd),
    /// The command runs, confined by these isolation features.
    Started { features: Vec<String> },
    /// The command has ended, or a limit ended it.
    Ended(JobEnding),
    /// No process of the sandbox is left.
    Closed,
}
