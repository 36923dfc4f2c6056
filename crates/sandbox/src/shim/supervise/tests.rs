//! The supervisor with a backend that is a script: its logic does not depend on namespaces.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use cynode_domain::job::Limits;

use super::*;
use crate::backend::OutputStreams;
use crate::request::{
    BackendOptions, NamespaceOptions, RootFilesystem, SandboxInput, SandboxNetwork,
};

/// A sandbox without processes, which ends when it is asked to, or only when it is killed.
struct ScriptedSandbox {
    events: UnixStream,
    script: UnixStream,
    outputs: Option<[OwnedFd; 2]>,
    ends_on_terminate: bool,
    limit: Option<String>,
}

impl ScriptedSandbox {
    fn new(text: &str) -> Self {
        let (events, script) = UnixStream::pair().unwrap();
        let ((stdout, mut writer), (stderr, _)) =
            (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        writer.write_all(text.as_bytes()).unwrap();
        let outputs = Some([OwnedFd::from(stdout), OwnedFd::from(stderr)]);
        Self { events, script, outputs, ends_on_terminate: true, limit: None }
    }

    fn close(&self) {
        (&self.script).write_all(b"x").unwrap();
    }
}

impl SandboxBackend for ScriptedSandbox {
    fn start(_: &JobDir, _: &SandboxRequest, _: OutputStreams) -> Result<Self, String> {
        Ok(Self::new(""))
    }

    fn take_outputs(&mut self) -> io::Result<[OwnedFd; 2]> {
        self.outputs.take().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn events_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    fn read_events(&mut self) -> Vec<SandboxEvent> {
        vec![SandboxEvent::Ended(JobEnding::Exited { code: 3 }), SandboxEvent::Closed]
    }

    fn terminate(&mut self) {
        if self.ends_on_terminate {
            self.close();
        }
    }

    fn kill(&mut self) {
        self.close();
    }

    fn find_reached_limit(&self) -> Option<String> {
        self.limit.clone()
    }

    fn finish(self, ending: Option<JobEnding>) -> JobEnding {
        ending.unwrap_or(JobEnding::Exited { code: 99 })
    }
}

fn supervise(home: &Path, sandbox: ScriptedSandbox) -> SupervisedOutcome {
    for name in ["workspace", "artifacts"] {
        fs::create_dir(home.join(name)).unwrap();
    }
    for name in ["stdout", "stderr"] {
        File::create(home.join(name)).unwrap();
    }
    let request = SandboxRequest {
        argv: vec![],
        env: vec![],
        input: SandboxInput::Empty,
        root: RootFilesystem::Host { expose: vec![] },
        workspace: home.join("workspace"),
        artifacts: home.join("artifacts"),
        files: vec![],
        programs: vec![],
        protected: vec![],
        cache: None,
        network: SandboxNetwork::Isolated,
        limits: Limits::default(),
        backend: BackendOptions::Namespaces(NamespaceOptions { uid: None, cgroup: None }),
    };
    let signals = super::super::block_signals().unwrap();
    JobSupervisor::new(&JobDir::open(home), &request, sandbox, signals).unwrap().run()
}

#[test]
fn a_command_that_ends_is_reported_with_its_output() {
    let home = tempfile::tempdir().unwrap();
    let sandbox = ScriptedSandbox::new("hello");
    sandbox.close();

    let outcome = supervise(home.path(), sandbox);

    assert_eq!(outcome.ending, JobEnding::Exited { code: 3 });
    assert_eq!(fs::read_to_string(home.path().join("stdout")).unwrap(), "hello");
}

#[test]
fn a_canceled_job_is_asked_to_end_and_the_first_reason_is_reported() {
    let home = tempfile::tempdir().unwrap();
    JobDir::open(home.path()).request_stop(StopRequest::Cancel).unwrap();

    let outcome = supervise(home.path(), ScriptedSandbox::new(""));

    assert_eq!(outcome.ending, JobEnding::Canceled);
}

#[test]
fn a_sandbox_that_ignores_the_request_is_killed() {
    let home = tempfile::tempdir().unwrap();
    JobDir::open(home.path()).request_stop(StopRequest::NodeShutdown).unwrap();
    let stubborn = ScriptedSandbox { ends_on_terminate: false, ..ScriptedSandbox::new("") };

    let outcome = supervise(home.path(), stubborn);

    let reason = "the worker node was stopped".to_owned();
    assert_eq!(outcome.ending, JobEnding::Interrupted { reason });
}

#[test]
fn a_limit_that_the_backend_enforces_ends_the_job() {
    let home = tempfile::tempdir().unwrap();
    let limit = "it had more than 3 processes".to_owned();
    let full = ScriptedSandbox { limit: Some(limit.clone()), ..ScriptedSandbox::new("") };

    let outcome = supervise(home.path(), full);

    assert_eq!(outcome.ending, JobEnding::LimitReached { limit });
}
