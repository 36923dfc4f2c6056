//! Starts jobs in sandboxes and observes their end.
//!
//! Start at [`Sandbox::prepare`], which probes what this machine can enforce by running a sandbox.
//! A started job belongs to its own supervisor process; this module only watches it.

mod follow_up;
mod interactive;
mod probe;
mod stage_program;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use cynode_domain::ids::TaskId;
use cynode_domain::job::JobEnding;
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_runtime::durable_file;
use cynode_wire::jobs::Truncated;
use cynode_wire::nodes::{Assignment, SandboxLevel};
use tokio::sync::oneshot;

use crate::cache::{evict_caches, pool_path};
use crate::cgroup::JobSubtree;
use crate::job_dir::{JobDir, JobDirError, StopRequest};
use crate::job_request::build_request;
use crate::request::{SandboxCache, SandboxRequest};
use crate::spec::{AgentProgram, Isolation, JobSpec, SandboxJobOutcome};
use crate::stage_entry;

use stage_program::StageProgram;

pub use follow_up::end_follow_ups;
pub use interactive::{InteractiveControl, InteractiveProcess, InteractiveProgram};

/// Configuration of a node's sandboxes.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// A program that can run the stages of a sandbox: its `main` begins with [`crate::run_stage_if_requested`]. They run
    /// `cynode-stages` beside it instead, if that was built from the same sources.
    pub executable: PathBuf,
    /// Root of job directories and workspaces.
    pub state_dir: PathBuf,
    /// Host paths that jobs may read besides the system directories.
    pub expose: Vec<PathBuf>,
    /// The program of agents; without it the node takes no jobs of agents.
    pub agent_program: Option<AgentProgram>,
}

impl SandboxOptions {
    /// Uses the running program for the stages.
    pub fn new(state_dir: PathBuf) -> Self {
        Self {
            executable: PathBuf::from(stage_entry::SELF_EXE),
            state_dir,
            expose: vec![],
            agent_program: None,
        }
    }
}

/// Starts jobs on this machine.
#[derive(Debug, Clone)]
pub struct Sandbox {
    options: SandboxOptions,
    stage_program: StageProgram,
    isolation: Isolation,
    /// `None` if jobs have no cgroups; the level has the reason.
    cgroups: Option<JobSubtree>,
    level: SandboxLevel,
}

impl Sandbox {
    /// Creates the directories and probes the isolation by running a sandbox. Blocks.
    ///
    /// Succeeds on a machine without isolation; [`Sandbox::level`] then reports it as unsupported.
    pub fn prepare(mut options: SandboxOptions) -> Result<Self, JobDirError> {
        for name in ["jobs", "workspaces", "trash"] {
            let path = options.state_dir.join(name);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(JobDirError::io_error(&path))?;
        }
        let state_dir = options.state_dir.canonicalize();
        options.state_dir = state_dir.map_err(JobDirError::io_error(&options.state_dir))?;
        let stage_program = StageProgram::choose(&options.executable);
        probe::choose_isolation(options, stage_program)
    }

    /// The isolation that this machine enforces.
    pub fn level(&self) -> &SandboxLevel {
        &self.level
    }

    /// Canonical path of the state directory.
    pub fn state_dir(&self) -> &Path {
        &self.options.state_dir
    }

    pub fn jobs_dir(&self) -> PathBuf {
        self.options.state_dir.join("jobs")
    }

    pub fn workspaces_dir(&self) -> PathBuf {
        self.options.state_dir.join("workspaces")
    }

    /// Directories that await removal.
    pub fn trash_dir(&self) -> PathBuf {
        self.options.state_dir.join("trash")
    }

    pub fn caches_dir(&self) -> PathBuf {
        self.options.state_dir.join("caches")
    }

    /// Evicts caches that exceed the quota of their project. Blocks.
    pub fn evict_caches(&self) -> io::Result<()> {
        evict_caches(&self.caches_dir())
    }

    /// The directory shared by jobs of `task`.
    pub fn workspace(&self, task: TaskId) -> PathBuf {
        self.workspaces_dir().join(task.to_string())
    }

    /// The uid and gid that own the files of `task`; `None` if it is the node's own.
    pub fn owner_id(&self, task: TaskId) -> Option<u32> {
        match self.isolation {
            Isolation::OwnUser => Some(self.isolation.uid(task)),
            Isolation::UserNamespace => None,
        }
    }

    /// Persists a job, exactly once; does not start it.
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
            made.map_err(JobDirError::io_error(&workspace))?;
        }
        JobDir::create(&self.jobs_dir(), &self.job_spec(assignment, workspace))
    }

    /// A command in the workspace of a task that is no job of the orchestrator. The hooks and configuration of a checkout are
    /// read-only for it, as they are for jobs.
    pub fn command_spec(&self, assignment: Assignment, has_repository: bool) -> JobSpec {
        let workspace = self.workspace(assignment.task_id);
        JobSpec { protects_repository: has_repository, ..self.job_spec(assignment, workspace) }
    }

    fn job_spec(&self, assignment: Assignment, workspace: PathBuf) -> JobSpec {
        let cgroup = self.cgroups.as_ref().map(|cgroups| cgroups.job(assignment.job_id));
        let cache = assignment.cache.as_ref().and_then(|cache| {
            let pool = pool_path(&self.caches_dir(), cache)?;
            Some(SandboxCache { pool, quota_mib: cache.quota_mib, directory: None })
        });
        JobSpec {
            assignment,
            workspace,
            isolation: self.isolation,
            expose: self.options.expose.clone(),
            agent_program: self.options.agent_program.clone(),
            interactive: None,
            protects_repository: false,
            cache,
            cgroup,
        }
    }

    /// Starts the supervisor of an accepted job. Call once per [`Sandbox::accept`].
    pub fn start(&self, dir: &JobDir) -> JobWatch {
        let started = build_request(dir).and_then(|request| {
            self.spawn_supervisor(dir, &request)
                .map_err(|error| format!("the job's supervisor cannot be started: {error}"))
        });
        match started {
            Ok(supervisor) => JobWatch::new(dir, supervisor),
            Err(reason) => {
                // If this fails too, the job counts as interrupted.
                let _ = dir.set_outcome(&node_outcome(JobEnding::NotStarted { reason }));
                JobWatch::new(dir, None)
            }
        }
    }

    /// Watches a job that an earlier process accepted. Never starts it again.
    pub fn watch(&self, dir: &JobDir) -> JobWatch {
        JobWatch::new(dir, None)
    }

    fn spawn_supervisor(
        &self,
        dir: &JobDir,
        request: &SandboxRequest,
    ) -> io::Result<Option<Child>> {
        let Some(lock) = dir.try_lock()? else { return Ok(None) };
        dir.set_request(request)?;
        Command::new(self.stage_program.path())
            .arg0(stage_entry::PROCESS_NAME)
            .arg(stage_entry::SHIM)
            .arg(dir.path())
            .inherit_only(&Allowlist::none())
            .current_dir("/")
            // The supervisor holds the lock through this descriptor; the node's copy closes with the command.
            .stdin(lock)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Some)
    }
}

/// Observes the end of a job.
#[derive(Debug)]
pub struct JobWatch {
    dir: JobDir,
    ended: oneshot::Receiver<()>,
}

impl JobWatch {
    fn new(dir: &JobDir, supervisor: Option<Child>) -> Self {
        let (sender, ended) = oneshot::channel();
        let waited = dir.clone();
        // A plain thread: waiting for a lock cannot be canceled, and must not delay the node's shutdown.
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
                "job watch thread cannot be started"
            );
        }
        Self { dir: dir.clone(), ended }
    }

    /// Waits until the job has ended; cancel-safe.
    pub async fn wait_ended(&mut self) {
        let _ = (&mut self.ended).await;
    }

    /// Blocks until the job has ended; returns the outcome.
    pub fn wait(self) -> SandboxJobOutcome {
        let _ = self.ended.blocking_recv();
        resolve_outcome(&self.dir)
    }
}

/// Returns the outcome of a job after its supervisor has ended.
///
/// Blocks while the supervisor runs, so that a job is never both running and ended.
pub fn resolve_outcome(dir: &JobDir) -> SandboxJobOutcome {
    let _ = dir.wait_ended();
    if let Some(outcome) = dir.outcome() {
        return outcome;
    }
    dir.remove_cgroup();
    let reason = match (dir.stop_request(), dir.is_started()) {
        (Some(StopRequest::Cancel), false) => None,
        (_, false) => Some("its node stopped before it started"),
        (_, true) => Some("its supervisor ended without a result"),
    };
    let ending = reason
        .map_or(JobEnding::Canceled, |reason| JobEnding::Interrupted { reason: reason.to_owned() });
    let outcome = node_outcome(ending);
    // Persisted, so that later calls return the same.
    let _ = dir.set_outcome(&outcome);
    outcome
}

/// An outcome decided by the node instead of a supervisor.
pub fn node_outcome(ending: JobEnding) -> SandboxJobOutcome {
    let now = SystemClock.now();
    SandboxJobOutcome {
        ending,
        truncated: Truncated::default(),
        started_at: now,
        ended_at: now,
        features: vec![],
    }
}
