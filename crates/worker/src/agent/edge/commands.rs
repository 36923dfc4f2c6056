//! Commands that run under leases: sandboxes like those of jobs, in the workspace of a task.
//!
//! A command runs as long as there is a lease for its sandbox: it is stopped when the newest one ends or is revoked, and when the
//! process of the node ends. Its directory, with its idempotency key, outlives the process, so that a repeated call starts no
//! second command.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CapabilityLeaseId, JobId, RunId, TaskId, UserId};
use cynode_domain::job::{Action, Limits};
use cynode_domain::policy::ErrorKind;
use cynode_edge::{EdgeTrust, ToolFailure};
use cynode_lease::LeaseClaims;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_runtime::durable_file;
use cynode_sandbox::job_dir::{JobDir, JobDirError, StopRequest};
use cynode_sandbox::remove::remove_tree;
use cynode_sandbox::sandbox::JobWatch;
use cynode_wire::nodes::Assignment;
use cynode_wire::tool_calls::{SandboxExec, ToolCall as _};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, watch};

use crate::agent::{DaemonContext, images, run_blocking};

/// The most commands that run at once, and in one sandbox.
const MAX_RUNNING: usize = 4;
const MAX_RUNNING_IN_SANDBOX: usize = 2;
/// Ended commands whose output and key are kept.
const MAX_KEPT: usize = 100;
/// The file with the origin of a command, in its directory.
const ORIGIN_FILE: &str = "edge.json";

/// Where a command comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CommandOrigin {
    sandbox: JobId,
    user: UserId,
    #[serde(default)]
    key: Option<String>,
}

/// The lease that a command runs under.
#[derive(Debug, Clone, Copy)]
struct CurrentLease {
    id: CapabilityLeaseId,
    expires_at: DateTime<Utc>,
}

/// A command that runs, or has ended.
#[derive(Debug)]
pub(super) struct EdgeCommand {
    pub(super) id: JobId,
    origin: CommandOrigin,
    action: Action,
    pub(super) dir: JobDir,
    /// The newest lease of its caller for its sandbox; `None` for a command of an earlier process.
    lease: StdMutex<Option<CurrentLease>>,
    ended: watch::Receiver<bool>,
}

impl EdgeCommand {
    pub(super) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    pub(super) async fn wait_ended(&self) {
        // An error means that its task is gone, which counts as ended.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    fn lease(&self) -> MutexGuard<'_, Option<CurrentLease>> {
        // No code panics while holding the lock.
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the newest lease has ended.
    async fn wait_lease_ended(&self) {
        loop {
            let end = self.lease().map(|lease| lease.expires_at);
            let left = end.map_or(Duration::ZERO, |end| {
                (end - SystemClock.now()).to_std().unwrap_or(Duration::ZERO)
            });
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    fn request_stop(&self, request: StopRequest) {
        if let Err(error) = self.dir.request_stop(request) {
            tracing::error!(command.id = %self.id, %error, "command cannot be stopped");
        }
    }
}

/// What to run.
pub(super) struct NewEdgeCommand {
    pub(super) action: Action,
    pub(super) limits: Limits,
    /// The image; `host` if absent.
    pub(super) image: Option<String>,
    /// A repeated key returns the same command.
    pub(super) key: Option<String>,
}

/// The commands under leases. Cheap to clone.
#[derive(Clone)]
pub(super) struct EdgeCommands(Arc<CommandsInner>);

struct CommandsInner {
    context: Arc<DaemonContext>,
    trust: Arc<EdgeTrust>,
    directory: PathBuf,
    /// Oldest first. Held while a command starts, so that a key starts one command.
    commands: Mutex<Vec<Arc<EdgeCommand>>>,
}

/// Keeps the workspace of a task while a command uses it.
struct WorkspaceUse {
    context: Arc<DaemonContext>,
    task: TaskId,
}

impl Drop for WorkspaceUse {
    fn drop(&mut self) {
        self.context.jobs.release_workspace(self.task);
    }
}

impl EdgeCommands {
    /// Ends the commands of an earlier process.
    pub(super) async fn open(
        context: Arc<DaemonContext>,
        trust: Arc<EdgeTrust>,
        directory: PathBuf,
    ) -> io::Result<Self> {
        let (opened, trash) = (directory.clone(), context.sandbox.trash_dir());
        let ended = run_blocking(move || load_ended(&opened, &trash)).await;
        let commands = ended.map_err(io::Error::other)?.map_err(io::Error::other)?;
        let commands = Mutex::new(commands.into_iter().map(Arc::new).collect());
        Ok(Self(Arc::new(CommandsInner { context, trust, directory, commands })))
    }

    /// Starts a command in the workspace of the lease's task.
    pub(super) async fn start(
        &self,
        claims: &LeaseClaims,
        command: NewEdgeCommand,
    ) -> Result<Arc<EdgeCommand>, ToolFailure> {
        // Before the lock: it may take long, and must hold nothing else up.
        let image = images::acquire_image(&self.0.context, command.image.as_deref()).await;
        let image = image.map_err(|reason| ToolFailure::new(ErrorKind::Conflict, reason))?;
        let mut commands = self.0.commands.lock().await;
        let origin =
            CommandOrigin { sandbox: claims.sandbox, user: claims.user, key: command.key.clone() };
        if let Some(known) = find_key(&commands, &origin) {
            if known.action == command.action {
                return Ok(Arc::clone(known));
            }
            let text = "idempotency_key was used for another command; use a new one";
            return Err(ToolFailure::new(ErrorKind::InvalidArguments, text));
        }
        check_capacity(&commands, claims.sandbox)?;
        // It may have been revoked while this call waited.
        if !self.0.trust.is_current(claims, SystemClock.now()) {
            let text = "the lease has ended or was revoked";
            return Err(ToolFailure::new(ErrorKind::Forbidden, text));
        }
        let started = self.start_sandbox(claims, command, origin, image).await?;
        commands.push(Arc::clone(&started));
        self.remove_old(&mut commands).await;
        Ok(started)
    }

    /// A command of a sandbox; the newest when `id` is absent.
    pub(super) async fn find(&self, sandbox: JobId, id: Option<JobId>) -> Option<Arc<EdgeCommand>> {
        let commands = self.0.commands.lock().await;
        let is_meant = |command: &&Arc<EdgeCommand>| {
            command.origin.sandbox == sandbox && id.is_none_or(|id| id == command.id)
        };
        commands.iter().rev().find(is_meant).cloned()
    }

    /// Lets running commands of a caller go on under its newer lease for their sandbox, if that permits commands.
    pub(super) async fn renew(&self, claims: &LeaseClaims) {
        if !claims.tools.contains(SandboxExec::NAME) {
            return;
        }
        for command in self.0.commands.lock().await.iter() {
            let mut lease = command.lease();
            let is_same_caller =
                command.origin.sandbox == claims.sandbox && command.origin.user == claims.user;
            if is_same_caller && lease.is_some_and(|lease| lease.expires_at < claims.expires_at) {
                *lease = Some(CurrentLease { id: claims.id, expires_at: claims.expires_at });
            }
        }
    }

    /// Stops the running commands of revoked leases.
    pub(super) async fn stop_revoked(&self, revoked: &[CapabilityLeaseId]) {
        if revoked.is_empty() {
            return;
        }
        for command in self.0.commands.lock().await.iter() {
            let is_revoked = command.lease().is_some_and(|lease| revoked.contains(&lease.id));
            if is_revoked && !command.has_ended() {
                command.request_stop(StopRequest::Cancel);
            }
        }
    }

    async fn start_sandbox(
        &self,
        claims: &LeaseClaims,
        command: NewEdgeCommand,
        origin: CommandOrigin,
        image: Option<images::AcquiredImage>,
    ) -> Result<Arc<EdgeCommand>, ToolFailure> {
        let context = &self.0.context;
        let used = context.hold_workspace(claims.task);
        if !context.sandbox.workspace(claims.task).is_dir() {
            let text = "the workspace of the task is not on this node";
            return Err(ToolFailure::new(ErrorKind::Conflict, text));
        }
        let id = JobId::generate();
        // Jobs of a sandbox belong to no step.
        let run = RunId::from_uuid(claims.sandbox.as_uuid());
        let assignment = Assignment {
            limits: command.limits,
            image: command.image,
            needs_workspace: true,
            ..Assignment::new(id, claims.task, run, command.action.clone())
        };
        let spec = context.sandbox.command_spec(assignment, claims.has_repository);
        let (directory, stored) = (self.0.directory.clone(), origin.clone());
        let recorded = image.as_ref().map(images::AcquiredImage::recorded);
        let created = run_blocking(move || {
            let dir = JobDir::create(&directory, &spec)?;
            let prepared = write_origin(&dir, &stored)
                .and_then(|()| recorded.map_or(Ok(()), |image| dir.set_image(&image)));
            prepared.map_err(JobDirError::io_error(dir.path()))?;
            Ok(dir)
        });
        let dir =
            created.await.and_then(|created| created).map_err(|error| failed_start(&error))?;
        let (sender, ended) = watch::channel(false);
        let lease = CurrentLease { id: claims.id, expires_at: claims.expires_at };
        let started = Arc::new(EdgeCommand {
            id,
            origin,
            action: command.action,
            dir: dir.clone(),
            lease: StdMutex::new(Some(lease)),
            ended,
        });
        let watch = context.sandbox.start(&dir);
        context.tasks.spawn("edge-command", {
            let (context, command) = (Arc::clone(context), Arc::clone(&started));
            async move {
                let _held = (used, image);
                follow(&context, &command, watch).await;
                sender.send_replace(true);
            }
        });
        Ok(started)
    }

    /// Removes the oldest ended commands.
    async fn remove_old(&self, commands: &mut Vec<Arc<EdgeCommand>>) {
        while commands.len() > MAX_KEPT
            && let Some(index) = commands.iter().position(|command| command.has_ended())
        {
            let old = commands.remove(index);
            let trash = self.0.context.sandbox.trash_dir();
            let _ = run_blocking(move || remove(&old.dir, &trash)).await;
        }
    }
}

/// Waits for the end of a command, and stops it when its lease ends or the node stops.
async fn follow(context: &DaemonContext, command: &EdgeCommand, mut watch: JobWatch) {
    tokio::select! {
        () = watch.wait_ended() => return,
        () = context.tasks.finishing() => command.request_stop(StopRequest::NodeShutdown),
        () = command.wait_lease_ended() => {
            tracing::info!(command.id = %command.id, "command stopped: its lease has ended");
            command.request_stop(StopRequest::Cancel);
        }
    }
    watch.wait_ended().await;
}

impl DaemonContext {
    fn hold_workspace(self: &Arc<Self>, task: TaskId) -> WorkspaceUse {
        self.jobs.hold_workspace(task);
        WorkspaceUse { context: Arc::clone(self), task }
    }
}

fn find_key<'a>(
    commands: &'a [Arc<EdgeCommand>],
    origin: &CommandOrigin,
) -> Option<&'a Arc<EdgeCommand>> {
    origin.key.as_ref()?;
    commands.iter().find(|command| command.origin == *origin)
}

fn check_capacity(commands: &[Arc<EdgeCommand>], sandbox: JobId) -> Result<(), ToolFailure> {
    let running = || commands.iter().filter(|command| !command.has_ended());
    let in_sandbox = running().filter(|command| command.origin.sandbox == sandbox).count();
    let text = if in_sandbox >= MAX_RUNNING_IN_SANDBOX {
        format!(
            "{MAX_RUNNING_IN_SANDBOX} commands of the sandbox run on this node: wait for one to end"
        )
    } else if running().count() >= MAX_RUNNING {
        format!("{MAX_RUNNING} commands of this node run under leases: wait for one to end")
    } else {
        return Ok(());
    };
    Err(ToolFailure::new(ErrorKind::ServiceUnavailable, text))
}

fn failed_start(error: &JobDirError) -> ToolFailure {
    tracing::error!(
        error = error as &dyn std::error::Error,
        "command under a lease cannot be started"
    );
    let text = "the command cannot be started; the node's log has the cause";
    ToolFailure::new(ErrorKind::InternalError, text)
}

fn write_origin(dir: &JobDir, origin: &CommandOrigin) -> io::Result<()> {
    let text = serde_json::to_vec(origin)?;
    durable_file::create(dir.path().join(ORIGIN_FILE), &text)
}

/// Ends what an earlier process started; returns the commands whose origin is known, oldest first.
fn load_ended(directory: &Path, trash: &Path) -> Result<Vec<EdgeCommand>, JobDirError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(JobDirError::io_error(directory))?;
    let mut commands = vec![];
    for (id, dir) in JobDir::list(directory)? {
        dir.request_stop(StopRequest::Cancel)?;
        match dir.wait_ended() {
            // A directory that an earlier version began to remove.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            ended => ended.map_err(JobDirError::io_error(directory))?,
        }
        match load_command(id, &dir) {
            Some(command) => commands.push(command),
            None => remove(&dir, trash),
        }
    }
    // The ids are ordered by time.
    commands.sort_unstable_by_key(|command: &EdgeCommand| command.id);
    Ok(commands)
}

fn load_command(id: JobId, dir: &JobDir) -> Option<EdgeCommand> {
    let origin = fs::read(dir.path().join(ORIGIN_FILE)).ok()?;
    Some(EdgeCommand {
        id,
        origin: serde_json::from_slice(&origin).ok()?,
        action: dir.spec().ok()?.assignment.action,
        dir: dir.clone(),
        lease: StdMutex::new(None),
        ended: watch::channel(true).1,
    })
}

/// Removes the directory of an ended command. Renamed first: a kill leaves no part of it behind under its name.
fn remove(dir: &JobDir, trash: &Path) {
    dir.remove_cgroup();
    let removed = dir.path().file_name().map(|name| trash.join(name)).map_or(Ok(()), |trash| {
        fs::rename(dir.path(), &trash)?;
        remove_tree(&trash)
    });
    if let Err(error) = removed {
        tracing::warn!(path = %dir.path().display(), %error, "command directory cannot be removed");
    }
}
