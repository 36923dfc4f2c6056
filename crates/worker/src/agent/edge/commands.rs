//! Commands that run under leases: sandboxes like those of jobs, in the workspace of a task. They belong to this process: the
//! next one ends them.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use cynode_domain::ids::{CapabilityLeaseId, JobId, RunId, TaskId};
use cynode_domain::job::{Action, Limits};
use cynode_domain::policy::ErrorKind;
use cynode_edge::ToolFailure;
use cynode_lease::LeaseClaims;
use cynode_wire::nodes::Assignment;
use tokio::sync::{Mutex, watch};

use crate::agent::{DaemonContext, images, run_blocking};
use crate::job_dir::{JobDir, JobDirError, StopRequest};
use crate::remove::remove_tree;

/// The most commands that run at once.
const MAX_RUNNING: usize = 4;
/// Ended commands whose output is kept.
const MAX_KEPT: usize = 50;

/// A command that runs, or has ended.
#[derive(Debug)]
pub(super) struct EdgeCommand {
    pub(super) id: JobId,
    pub(super) sandbox: JobId,
    lease: CapabilityLeaseId,
    key: Option<String>,
    action: Action,
    pub(super) dir: JobDir,
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
}

/// What to run.
pub(super) struct NewEdgeCommand {
    pub(super) action: Action,
    pub(super) limits: Limits,
    /// A repeated key returns the same command.
    pub(super) key: Option<String>,
}

/// The commands under leases. Cheap to clone.
#[derive(Clone)]
pub(super) struct EdgeCommands(Arc<CommandsInner>);

struct CommandsInner {
    context: Arc<DaemonContext>,
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
    /// Ends and removes the commands of an earlier process.
    pub(super) async fn open(context: Arc<DaemonContext>, directory: PathBuf) -> io::Result<Self> {
        let opened = directory.clone();
        let ended = run_blocking(move || end_all(&opened)).await;
        ended.map_err(io::Error::other)?.map_err(io::Error::other)?;
        Ok(Self(Arc::new(CommandsInner { context, directory, commands: Mutex::default() })))
    }

    /// Starts a command in the workspace of the lease's task.
    pub(super) async fn start(
        &self,
        claims: &LeaseClaims,
        command: NewEdgeCommand,
    ) -> Result<Arc<EdgeCommand>, ToolFailure> {
        let mut commands = self.0.commands.lock().await;
        if let Some(known) = find_key(&commands, claims.sandbox, command.key.as_deref()) {
            if known.action == command.action {
                return Ok(Arc::clone(known));
            }
            let text = "idempotency_key was used for another command; use a new one";
            return Err(ToolFailure::new(ErrorKind::InvalidArguments, text));
        }
        let running = commands.iter().filter(|command| !command.has_ended()).count();
        if running >= MAX_RUNNING {
            let text = format!(
                "{MAX_RUNNING} commands of this node run under leases: wait for one to end"
            );
            return Err(ToolFailure::new(ErrorKind::ServiceUnavailable, text));
        }
        let started = self.start_sandbox(claims, command).await?;
        commands.push(Arc::clone(&started));
        self.remove_old(&mut commands).await;
        Ok(started)
    }

    /// A command of a sandbox; the newest when `id` is absent.
    pub(super) async fn find(&self, sandbox: JobId, id: Option<JobId>) -> Option<Arc<EdgeCommand>> {
        let commands = self.0.commands.lock().await;
        let is_meant = |command: &&Arc<EdgeCommand>| {
            command.sandbox == sandbox && id.is_none_or(|id| id == command.id)
        };
        commands.iter().rev().find(is_meant).cloned()
    }

    /// Stops the running commands of revoked leases.
    pub(super) async fn stop_revoked(&self, revoked: &[CapabilityLeaseId]) {
        if revoked.is_empty() {
            return;
        }
        let commands = self.0.commands.lock().await.clone();
        let is_stopped =
            |command: &&Arc<EdgeCommand>| revoked.contains(&command.lease) && !command.has_ended();
        for command in commands.iter().filter(is_stopped) {
            if let Err(error) = command.dir.request_stop(StopRequest::Cancel) {
                tracing::error!(command.id = %command.id, %error, "command of a revoked lease cannot be stopped");
            }
        }
    }

    async fn start_sandbox(
        &self,
        claims: &LeaseClaims,
        command: NewEdgeCommand,
    ) -> Result<Arc<EdgeCommand>, ToolFailure> {
        let context = &self.0.context;
        let used = context.hold_workspace(claims.task);
        let workspace = context.sandbox.workspace(claims.task);
        if !workspace.is_dir() {
            let text = "the workspace of the task is not on this node";
            return Err(ToolFailure::new(ErrorKind::Conflict, text));
        }
        let assignment = Assignment {
            job_id: JobId::generate(),
            task_id: claims.task,
            // Jobs of a sandbox belong to no step.
            run_id: RunId::from_uuid(claims.sandbox.as_uuid()),
            action: command.action.clone(),
            limits: command.limits,
            attachments: vec![],
            repository: None,
            push: None,
            agent: None,
            image: claims.image.clone(),
            incarnation: None,
            needs_workspace: true,
        };
        let spec = context.sandbox.command_spec(assignment.clone(), claims.has_repository);
        let directory = self.0.directory.clone();
        let created = run_blocking(move || JobDir::create(&directory, &spec)).await;
        let dir = created.and_then(|created| created).map_err(|error| failed_start(&error))?;
        let conflict = |reason: String| ToolFailure::new(ErrorKind::Conflict, reason);
        let image = images::prepare_image(context, &assignment, &dir).await.map_err(conflict)?;
        let (sender, ended) = watch::channel(false);
        let started = Arc::new(EdgeCommand {
            id: assignment.job_id,
            sandbox: claims.sandbox,
            lease: claims.id,
            key: command.key,
            action: command.action,
            dir: dir.clone(),
            ended,
        });
        let mut watch = context.sandbox.start(&dir);
        context.tasks.spawn("edge-command", {
            let context = Arc::clone(context);
            async move {
                let _held = (used, image);
                tokio::select! {
                    () = watch.wait_ended() => {}
                    () = context.tasks.finishing() => {
                        let _ = dir.request_stop(StopRequest::NodeShutdown);
                        watch.wait_ended().await;
                    }
                }
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
            let _ = run_blocking(move || remove(&old.dir)).await;
        }
    }
}

impl DaemonContext {
    fn hold_workspace(self: &Arc<Self>, task: TaskId) -> WorkspaceUse {
        self.jobs.hold_workspace(task);
        WorkspaceUse { context: Arc::clone(self), task }
    }
}

fn find_key<'a>(
    commands: &'a [Arc<EdgeCommand>],
    sandbox: JobId,
    key: Option<&str>,
) -> Option<&'a Arc<EdgeCommand>> {
    let key = key?;
    commands
        .iter()
        .find(|command| command.sandbox == sandbox && command.key.as_deref() == Some(key))
}

fn failed_start(error: &JobDirError) -> ToolFailure {
    tracing::error!(
        error = error as &dyn std::error::Error,
        "command under a lease cannot be started"
    );
    ToolFailure::new(
        ErrorKind::InternalError,
        "the command cannot be started; the node's log has the cause",
    )
}

fn end_all(directory: &std::path::Path) -> Result<(), JobDirError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(JobDirError::io_error(directory))?;
    for (_, dir) in JobDir::list(directory)? {
        dir.request_stop(StopRequest::Cancel)?;
        dir.wait_ended().map_err(JobDirError::io_error(directory))?;
        remove(&dir);
    }
    Ok(())
}

fn remove(dir: &JobDir) {
    dir.remove_cgroup();
    if let Err(error) = remove_tree(dir.path()) {
        tracing::warn!(path = %dir.path().display(), %error, "command directory cannot be removed");
    }
}
