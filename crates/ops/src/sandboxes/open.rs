//! Opening and destroying handles.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, NodeId, TaskId};
use cynode_domain::job::{Action, Ending};
use cynode_domain::status::JobStatus;
use cynode_store::{
    JobStore, NodeStore, PlacementStore, Sandbox, SandboxStore, SettingStore, Task, TaskStore, Tx,
};
use serde::Serialize;

use super::exec::{Command, make};
use super::{MAX_EXECS, MAX_OPEN, SandboxError, Sandboxes, of_task, open_task};
use crate::Caller;
use crate::nodes::{Placing, close_job};
use crate::runs::Voice;
use crate::signals::Topic;
use crate::workflow::MAX_WAIT_MS;
use crate::workflow::make::{EXEC_STEP, Made};

/// The one image of this installation.
pub const IMAGE: &str = "host";

/// What is to be opened.
#[derive(Debug, Clone)]
pub struct OpenSandbox {
    /// The task whose workspace is meant.
    pub task: TaskId,
    /// A job of the task whose sandbox is meant; a new one when absent.
    pub job: Option<JobId>,
    /// The image; there is only [`IMAGE`].
    pub image: Option<String>,
    /// The node, if the task is nowhere yet.
    pub node: Option<String>,
}

/// A handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Opened {
    /// By which it is known.
    pub job_id: JobId,
    /// The task whose workspace it is on.
    pub task_id: TaskId,
    /// What it runs in.
    pub image_ref: &'static str,
    /// The node that has the workspace; absent while one is being chosen.
    pub node_slug: Option<String>,
    /// `ready`; `opening` while no node has taken it; `failed` if its node cannot run commands.
    pub status: &'static str,
}

impl Sandboxes {
    /// Opens a handle, and waits a while for its node to take it.
    pub async fn create(
        &self,
        (caller, voice): (&Caller, Voice),
        wanted: OpenSandbox,
    ) -> Result<Opened, SandboxError> {
        if wanted.image.as_ref().is_some_and(|image| image != IMAGE) {
            let fault = "this installation has one image, host: the node's own system, read-only";
            return Err(SandboxError::Invalid(fault.to_owned()));
        }
        let (task, is_new) = (wanted.task, wanted.job.is_none());
        let (caller, terms) = (caller.clone(), (self.clock.now(), self.placer.placing()));
        let (id, asked) = self
            .store
            .write(move |tx| {
                Box::pin(async move { open(tx, (&caller, voice), wanted, terms).await })
            })
            .await?;
        self.placer.ask(asked);
        self.signals.send(Topic::Jobs);
        if is_new {
            self.ended(id, MAX_WAIT_MS).await?;
        }
        self.opened(task, id).await
    }

    async fn opened(&self, task: TaskId, id: JobId) -> Result<Opened, SandboxError> {
        let (job, node) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let sandbox = of_task(tx, task, id).await?;
                    let node = match sandbox.node {
                        Some(node) => tx.node_get(node).await?.map(|node| node.slug),
                        None => None,
                    };
                    Ok::<_, SandboxError>((tx.job_get(id).await?, node))
                })
            })
            .await?;
        let status = match (job.map(|job| (job.status, job.asked.step_index)), &node) {
            (Some((JobStatus::Completed, _)), Some(_)) => "ready",
            (Some((status, EXEC_STEP)), _) if status.is_terminal() => "failed",
            (Some((_, EXEC_STEP)) | None, _) | (_, None) => "opening",
            // The workspace of a step is there, whatever became of the step.
            (Some(_), Some(_)) => "ready",
        };
        Ok(Opened { job_id: id, task_id: task, image_ref: IMAGE, node_slug: node, status })
    }

    /// Gives a handle up: its commands are stopped, and no more are taken. The workspace stays with
    /// its task. A second time changes nothing. An agent may do it whatever a person has stopped,
    /// because it only stops more.
    pub async fn destroy(
        &self,
        caller: &Caller,
        (task, id): (TaskId, JobId),
    ) -> Result<bool, SandboxError> {
        let caller = caller.clone();
        let destroyed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let task = crate::tasks::find(tx, &caller, &task.to_string()).await?;
                    // As everybody who ends jobs of a task does, so that no two wait for each other.
                    tx.task_lock(task.asked.id).await?;
                    of_task(tx, task.asked.id, id).await?;
                    if !tx.sandbox_destroy(id).await? {
                        return Ok(false);
                    }
                    stop_execs(tx, id).await?;
                    Ok::<_, SandboxError>(true)
                })
            })
            .await?;
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Results);
        self.signals.send(Topic::Policy);
        Ok(destroyed)
    }
}

/// Keeps a handle; gives its id, and the jobs about whose place somebody is to be asked.
async fn open(
    tx: &mut Tx,
    by: (&Caller, Voice),
    wanted: OpenSandbox,
    (now, placing): (DateTime<Utc>, Placing),
) -> Result<(JobId, Vec<JobId>), SandboxError> {
    let (task, run) = open_task(tx, by, wanted.task).await?;
    let made = if let Some(job) = wanted.job {
        let id = a_job_of(tx, &task, job).await?;
        if let Some(known) = tx.sandbox_get(id).await? {
            let is_there = known.destroyed_at.is_none();
            return if is_there { Ok((id, vec![])) } else { Err(SandboxError::Destroyed) };
        }
        Made { id, asked: vec![] }
    } else {
        let node = place(tx, &task, wanted.node.as_deref()).await?;
        make(tx, (&task, run), Command::opening(node, by.1.of(by.0)), placing).await?
    };
    if tx.sandbox_count(task.asked.id).await? >= MAX_OPEN {
        let fault = format!("the task has {MAX_OPEN} sandboxes in use: destroy one first");
        return Err(SandboxError::TooMany(fault));
    }
    let sandbox = Sandbox {
        id: made.id,
        task: task.asked.id,
        made_by: by.0.user,
        node: None,
        created_at: now,
        destroyed_at: None,
    };
    tx.sandbox_insert(&sandbox).await?;
    Ok((made.id, made.asked))
}

/// A queued command never starts; a running one is stopped by its node.
async fn stop_execs(tx: &mut Tx, sandbox: JobId) -> Result<(), SandboxError> {
    let mut is_revoked = false;
    for id in tx.exec_list(sandbox, MAX_EXECS).await? {
        let Some(job) = tx.job_lock(id).await? else { continue };
        match job.status {
            JobStatus::Queued => {
                let canceled = JobStatus::Canceled;
                is_revoked |= close_job(tx, &job, canceled, None, &Ending::Canceled).await?;
            }
            JobStatus::Running => tx.job_request_cancel(id).await?,
            JobStatus::Completed
            | JobStatus::Failed
            | JobStatus::Canceled
            | JobStatus::LeaseExpired => {}
        }
    }
    if is_revoked {
        tx.policy_touch().await?;
    }
    Ok(())
}

async fn a_job_of(tx: &mut Tx, task: &Task, id: JobId) -> Result<JobId, SandboxError> {
    let job = tx.job_get(id).await?.filter(|job| job.asked.task == task.asked.id);
    job.map(|job| job.asked.id).ok_or(SandboxError::NotFound(id))
}

/// The node that was asked for, unless the task is elsewhere.
async fn place(
    tx: &mut Tx,
    task: &Task,
    wanted: Option<&str>,
) -> Result<Option<NodeId>, SandboxError> {
    let Some(wanted) = wanted else { return Ok(None) };
    let node = crate::tasks::node_named(tx, wanted).await?;
    let is = match tx.task_node(task.asked.id).await? {
        Some(is) => Some(is),
        None => task.asked.options.node,
    };
    match is {
        Some(is) if is != node => {
            let is = tx.node_get(is).await?.map(|node| node.slug).unwrap_or_default();
            Err(SandboxError::Elsewhere { is })
        }
        Some(_) | None => Ok(Some(node)),
    }
}

impl Command {
    /// What shows that a node can run commands of the task.
    fn opening(node: Option<NodeId>, by: String) -> Self {
        let action = Action::Command { line: "true".to_owned() };
        Self { action, timeout_s: Some(60), output_bytes: None, node, by }
    }
}
