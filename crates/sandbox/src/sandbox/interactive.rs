//! Interactive programs: connected to a client over their standard streams, without a time limit.
//!
//! Such a program has the same sandbox as a job, but its files are not kept and it ends with its client.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::process::Stdio;

use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::job::{Action, Limits};
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use cynode_wire::nodes::Assignment;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tokio::io::Interest;
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, UnixStream};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::Sandbox;
use crate::descriptor_passing::receive;
use crate::job_dir::{JobDir, JobDirError};
use crate::job_request::build_request;
use crate::remove::remove_tree;
use crate::spec::{DECLARED_ENV_VAR, InteractiveCommand, JobSpec};
use crate::stage_entry;

/// Specification of an interactive program.
#[derive(Clone)]
pub struct InteractiveProgram {
    /// Programs of one owner share a workspace and a uid.
    pub owner: TaskId,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Environment variables besides `PATH`, `HOME` and `LANG`; values may be secret.
    pub env: BTreeMap<String, String>,
    /// Whether its connections go to a proxy: see [`InteractiveControl::proxy_listener`]. Without one it has no network.
    pub has_proxy: bool,
    /// The time limit is ignored.
    pub limits: Limits,
}

/// A running interactive program. It ends when its [`InteractiveControl`] is dropped.
#[derive(Debug)]
pub struct InteractiveProcess {
    pub stdin: pipe::Sender,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
    pub control: InteractiveControl,
}

/// Stops or awaits a running program.
#[derive(Debug)]
pub struct InteractiveControl {
    supervisor: Child,
    /// The supervisor stops the program when this closes.
    keep_alive: Option<UnixStream>,
    dir: JobDir,
}

impl Sandbox {
    /// Starts an interactive program. Must be called within a Tokio runtime.
    pub fn spawn_interactive(
        &self,
        program: InteractiveProgram,
    ) -> Result<InteractiveProcess, JobDirError> {
        let workspace = self.workspace(program.owner);
        let talks = self.options.state_dir.join("talks");
        for path in [&workspace, &talks] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(JobDirError::io_error(path))?;
        }
        let declared = serde_json::to_string(&program.env);
        let declared = declared.map_err(io::Error::from).map_err(JobDirError::io_error(&talks))?;
        let action = Action::Command { line: String::new() };
        let job = Assignment::new(JobId::generate(), program.owner, RunId::generate(), action);
        let assignment = Assignment { limits: program.limits, ..job };
        let interactive =
            Some(InteractiveCommand { argv: program.argv, has_proxy: program.has_proxy });
        let spec = JobSpec { interactive, ..self.job_spec(assignment, workspace) };
        let dir = JobDir::create(&talks, &spec)?;
        self.spawn_program_shim(&dir, &declared).map_err(|cause| {
            // Leftovers are removed when the sandbox is prepared again.
            let _ = remove_tree(dir.path());
            JobDirError::io_error(&talks)(cause)
        })
    }

    fn spawn_program_shim(&self, dir: &JobDir, declared: &str) -> io::Result<InteractiveProcess> {
        dir.set_request(&build_request(dir).map_err(io::Error::other)?)?;
        mkfifo(&dir.stdin_path(), Mode::from_bits_truncate(0o600))?;
        // Opened read-write, so that neither side blocks until the other opens the pipe.
        let stdin = pipe::OpenOptions::new().read_write(true).open_sender(dir.stdin_path())?;
        let (keep_alive, held) = std::os::unix::net::UnixStream::pair()?;
        let mut supervisor = Command::new(self.stage_program.path())
            .arg0(stage_entry::PROCESS_NAME)
            .arg(stage_entry::PROGRAM_SHIM)
            .arg(dir.path())
            .inherit_only(&Allowlist::none())
            .env(DECLARED_ENV_VAR, declared)
            .current_dir("/")
            .stdin(OwnedFd::from(held))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let stdout = supervisor.stdout.take().ok_or_else(missing)?;
        let stderr = supervisor.stderr.take().ok_or_else(missing)?;
        keep_alive.set_nonblocking(true)?;
        let keep_alive = Some(UnixStream::from_std(keep_alive)?);
        let control = InteractiveControl { supervisor, keep_alive, dir: dir.clone() };
        Ok(InteractiveProcess { stdin, stdout, stderr, control })
    }

    /// Removes directories of programs whose end was not observed.
    pub fn remove_interactive_dirs(&self) -> io::Result<()> {
        remove_tree(&self.options.state_dir.join("talks"))
    }
}

impl InteractiveControl {
    /// Waits until the program has ended; returns how, as text.
    pub async fn wait_ended(&mut self) -> String {
        let status = self.supervisor.wait().await;
        let words = match (self.dir.outcome(), status) {
            (Some(outcome), _) => outcome.ending.describe(),
            (None, Ok(status)) => format!("its supervisor ended: {status}"),
            (None, Err(error)) => format!("its supervisor was lost: {error}"),
        };
        let _ = remove_tree(self.dir.path());
        words
    }

    /// Receives the listener of the proxy, in the network namespace of the program, whose every connection arrives there.
    /// Fails if the sandbox ends before it listens, or has no proxy.
    pub async fn proxy_listener(&self) -> io::Result<TcpListener> {
        let socket = self.keep_alive.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let mut message = [0; 1];
        let (_, listener) =
            socket.async_io(Interest::READABLE, || receive(socket.as_fd(), &mut message)).await?;
        let listener = std::net::TcpListener::from(listener.ok_or(io::ErrorKind::UnexpectedEof)?);
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    }

    /// Ends the program: SIGTERM, then SIGKILL a second later.
    pub fn stop(&mut self) {
        self.keep_alive = None;
    }
}
