//! Programs that somebody talks with over their standard streams, for as long as they like.
//!
//! Such a program has the same sandbox as a job, but nothing of it is kept: it ends with the one
//! who started it.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::process::Stdio;

use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::job::{Action, Limits};
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use cynode_wire::nodes::Assignment;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::Sandbox;
use crate::entry;
use crate::job_dir::{JobDir, JobDirError};
use crate::remove::remove_tree;
use crate::spec::{DECLARED, Interactive, JobSpec};

/// A program to talk with.
#[derive(Clone)]
pub struct Program {
    /// Whose it is: programs of one owner share a workspace and an id.
    pub owner: TaskId,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables it sees beside the path, the home directory and the language; may be secret.
    pub env: BTreeMap<String, String>,
    /// Whether it may use the network.
    pub network: bool,
    /// Its bounds; the time is not bounded.
    pub limits: Limits,
}

/// A running program. It ends when its [`Control`] is dropped.
#[derive(Debug)]
pub struct Talk {
    /// What it reads.
    pub stdin: pipe::Sender,
    /// What it writes.
    pub stdout: ChildStdout,
    /// What it complains about.
    pub stderr: ChildStderr,
    /// Its life.
    pub control: Control,
}

/// The life of a running program.
#[derive(Debug)]
pub struct Control {
    supervisor: Child,
    /// Held open for as long as the program is wanted.
    wanted: Option<ChildStdin>,
    dir: JobDir,
}

impl Sandbox {
    /// Starts a program to talk with. Must be called within a runtime.
    pub fn talk(&self, program: Program) -> Result<Talk, JobDirError> {
        let workspace = self.workspace(program.owner);
        let talks = self.options.state_dir.join("talks");
        for path in [&workspace, &talks] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(JobDirError::at(path))?;
        }
        let declared = serde_json::to_string(&program.env);
        let declared = declared.map_err(io::Error::from).map_err(JobDirError::at(&talks))?;
        let spec = JobSpec {
            assignment: Assignment {
                job_id: JobId::generate(),
                task_id: program.owner,
                run_id: RunId::generate(),
                action: Action::Command { line: String::new() },
                limits: program.limits,
                attachments: vec![],
                incarnation: None,
                needs_workspace: false,
            },
            workspace,
            isolation: self.isolation,
            expose: self.options.expose.clone(),
            interactive: Some(Interactive { argv: program.argv, network: program.network }),
        };
        let dir = JobDir::create(&talks, &spec)?;
        self.host(&dir, &declared).map_err(|cause| {
            // What cannot be removed now is removed when the sandbox is prepared again.
            let _ = remove_tree(dir.path());
            JobDirError::at(&talks)(cause)
        })
    }

    fn host(&self, dir: &JobDir, declared: &str) -> io::Result<Talk> {
        mkfifo(&dir.stdin(), Mode::from_bits_truncate(0o600))?;
        // With both ends in hand, neither side waits for the other to open it.
        let stdin = pipe::OpenOptions::new().read_write(true).open_sender(dir.stdin())?;
        let mut supervisor = Command::new(&self.options.executable)
            .arg0(entry::PROCESS_NAME)
            .arg(entry::HOST)
            .arg(dir.path())
            .inherit_only(&Allowlist::none())
            .env(DECLARED, declared)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let stdout = supervisor.stdout.take().ok_or_else(missing)?;
        let stderr = supervisor.stderr.take().ok_or_else(missing)?;
        let wanted = supervisor.stdin.take();
        let control = Control { supervisor, wanted, dir: dir.clone() };
        Ok(Talk { stdin, stdout, stderr, control })
    }

    /// Removes what programs left behind whose end nobody saw.
    pub fn sweep_talks(&self) -> io::Result<()> {
        remove_tree(&self.options.state_dir.join("talks"))
    }
}

impl Control {
    /// Waits until nothing of the program lives, and says how it ended.
    pub async fn ended(&mut self) -> String {
        let status = self.supervisor.wait().await;
        let words = match (self.dir.outcome(), status) {
            (Some(outcome), _) => outcome.ending.describe(),
            (None, Ok(status)) => format!("its supervisor ended: {status}"),
            (None, Err(error)) => format!("its supervisor was lost: {error}"),
        };
        let _ = remove_tree(self.dir.path());
        words
    }

    /// Ends the program: it is asked to, and ended a second later.
    pub fn stop(&mut self) {
        self.wanted = None;
    }
}
