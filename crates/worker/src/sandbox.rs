//! Starting jobs in sandboxes, and learning of their end.
//!
//! Start at [`Sandbox::prepare`], which finds out by running one what this machine can enforce.
//! A started job belongs to its own supervisor process; all that is kept here is the way to ask.

mod interactive;
mod probe;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use cynode_domain::ids::TaskId;
use cynode_domain::job::Ending;
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_runtime::durable_file;
use cynode_wire::jobs::Truncated;
use cynode_wire::nodes::{Assignment, SandboxLevel};
use tokio::sync::oneshot;

use crate::entry;
use crate::job_dir::{JobDir, JobDirError, StopRequest};
use crate::spec::{Isolation, JobSpec, Outcome};

pub use interactive::{Control, Program, Talk};

/// What a node's sandboxes need to know.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// The program that becomes the stages of a sandbox: one whose `main` begins with
    /// [`crate::enter_if_asked`].
    pub executable: PathBuf,
    /// Where jobs and workspaces are kept.
    pub state_dir: PathBuf,
    /// Host paths that jobs may read beyond the system's own.
    pub expose: Vec<PathBuf>,
}

impl SandboxOptions {
    /// Sandboxes made of the running program itself.
    pub fn new(state_dir: PathBuf) -> Self {
        Self { executable: PathBuf::from(entry::SELF), state_dir, expose: vec![] }
    }
}

/// Starts jobs on this machine.
#[derive(Debug, Clone)]
pub struct Sandbox {
    options: SandboxOptions,
    isolation: Isolation,
    level: SandboxLevel,
}

impl Sandbox {
    /// Makes the directories and runs one sandbox to see what works. Blocks for as long as it takes.
    ///
    /// A machine that can isolate nothing is no error: its [`Sandbox::level`] says so.
    pub fn prepare(mut options: SandboxOptions) -> Result<Self, JobDirError> {
        for name in ["jobs", "workspaces", "trash"] {
            let path = options.state_dir.join(name);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(JobDirError::at(&path))?;
        }
        let state_dir = options.state_dir.canonicalize();
        options.state_dir = state_dir.map_err(JobDirError::at(&options.state_dir))?;
        probe::choose(options)
    }

    /// What is enforced here.
    pub fn level(&self) -> &SandboxLevel {
        &self.level
    }

    /// Where everything is kept, as a path without links.
    pub fn state_dir(&self) -> &Path {
        &self.options.state_dir
    }

    /// Where accepted jobs are.
    pub fn jobs_dir(&self) -> PathBuf {
        self.options.state_dir.join("jobs")
    }

    /// Where workspaces are.
    pub fn workspaces_dir(&self) -> PathBuf {
        self.options.state_dir.join("workspaces")
    }

    /// Where finished jobs wait to be removed.
    pub fn trash_dir(&self) -> PathBuf {
        self.options.state_dir.join("trash")
    }

    /// The directory that jobs of `task` share.
    pub fn workspace(&self, task: TaskId) -> PathBuf {
        self.workspaces_dir().join(task.to_string())
    }

    /// The user and group that own what jobs of `task` write.
    pub fn owner(&self, task: TaskId) -> Option<u32> {
        match self.isolation {
            Isolation::OwnUser => Some(self.isolation.uid(task)),
            Isolation::UserNamespace => None,
        }
    }

    /// Accepts a job, durably, exactly once; starts nothing yet.
    pub fn accept(&self, assignment: Assignment) -> Result<JobDir, JobDirError> {
        let workspace = self.workspace(assignment.task_id);
        if self.jobs_dir().join(assignment.job_id.to_string()).exists() {
            return Err(JobDirError::Exists);
        }
        if !workspace.is_dir() {
            if assignment.needs_workspace {
                return Err(JobDirError::NoWorkspace);
            }
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&workspace);
            let made = made.and_then(|()| durable_file::sync_parent(&workspace));
            made.map_err(JobDirError::at(&workspace))?;
        }
        let expose = self.options.expose.clone();
        let spec =
            JobSpec { assignment, workspace, isolation: self.isolation, expose, interactive: None };
        JobDir::create(&self.jobs_dir(), &spec)
    }

    /// Starts the supervisor of an accepted job. Call it once for each [`Sandbox::accept`].
    pub fn start(&self, dir: &JobDir) -> Watch {
        match self.spawn(dir) {
            Ok(supervisor) => Watch::new(dir, supervisor),
            Err(error) => {
                let reason = format!("the job's supervisor cannot be started: {error}");
                // Should this fail as well, the job will count as interrupted.
                let _ = dir.set_outcome(&ended(Ending::NotStarted { reason }));
                Watch::new(dir, None)
            }
        }
    }

    /// Watches a job that an earlier node accepted. Whether it was started does not matter: it
    /// never is again.
    pub fn adopt(&self, dir: &JobDir) -> Watch {
        Watch::new(dir, None)
    }

    fn spawn(&self, dir: &JobDir) -> io::Result<Option<Child>> {
        let Some(lock) = dir.try_lock()? else { return Ok(None) };
        Command::new(&self.options.executable)
            .arg0(entry::PROCESS_NAME)
            .arg(entry::SHIM)
            .arg(dir.path())
            .inherit_only(&Allowlist::none())
            .current_dir("/")
            // The supervisor holds the lock by this descriptor; ours closes with the command.
            .stdin(lock)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Some)
    }
}

/// Knows when a job has ended.
#[derive(Debug)]
pub struct Watch {
    dir: JobDir,
    ended: oneshot::Receiver<()>,
}

impl Watch {
    fn new(dir: &JobDir, supervisor: Option<Child>) -> Self {
        let (sender, ended) = oneshot::channel();
        let waited = dir.clone();
        // A plain thread: waiting for a lock cannot be canceled, and must not delay a node's end.
        let thread = thread::Builder::new().name("job-watch".to_owned()).spawn(move || {
            let _ = waited.wait_ended();
            if let Some(mut supervisor) = supervisor {
                let _ = supervisor.wait();
            }
            let _ = sender.send(());
        });
        if let Err(error) = thread {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "no thread to watch a job with"
            );
        }
        Self { dir: dir.clone(), ended }
    }

    /// Waits until the job has ended; may be dropped and called again.
    pub async fn ended(&mut self) {
        let _ = (&mut self.ended).await;
    }

    /// Waits, blocking, and returns what came of the job.
    pub fn wait(self) -> Outcome {
        let _ = self.ended.blocking_recv();
        conclude(&self.dir)
    }
}

/// What came of a job that no supervisor works on any more.
///
/// Blocks while one does, so that a job can never be both running and over.
pub fn conclude(dir: &JobDir) -> Outcome {
    let _ = dir.wait_ended();
    if let Some(outcome) = dir.outcome() {
        return outcome;
    }
    let reason = match (dir.stop_request(), dir.is_started()) {
        (Some(StopRequest::Cancel), false) => None,
        (_, false) => Some("its node stopped before it started"),
        (_, true) => Some("its supervisor ended without a result"),
    };
    let ending =
        reason.map_or(Ending::Canceled, |reason| Ending::Interrupted { reason: reason.to_owned() });
    let outcome = ended(ending);
    // Written down, so that a later look says the same.
    let _ = dir.set_outcome(&outcome);
    outcome
}

/// An outcome that is decided by the node, not by a supervisor.
pub(crate) fn ended(ending: Ending) -> Outcome {
    let now = SystemClock.now();
    Outcome {
        ending,
        truncated: Truncated::default(),
        started_at: now,
        ended_at: now,
        features: vec![],
    }
}
