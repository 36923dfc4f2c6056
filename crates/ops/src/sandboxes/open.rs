//! Opening and destroying sandboxes.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, NodeId, TaskId};
use cynode_domain::image_name::HOST_IMAGE;
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::status::JobStatus;
use cynode_store::{Job, Sandbox, Task, Tx};
use cynode_wire::tool_calls::SandboxIds;
use serde::Serialize;

use super::exec::{WorkspaceCommand, create_workspace_job};
use super::{MAX_EXECS, MAX_OPEN, SandboxError, Sandboxes, find_sandbox, lock_open_task};
use cynode_execution::workflow::MAX_WAIT_MS;
use cynode_execution::{nodes::AssignmentPass, nodes::close_job, nodes::has_image};
use cynode_execution::{workflow::job_creation::CreatedJob, workflow::job_creation::EXEC_STEP};
use cynode_resources::Actor;
use cynode_resources::Caller;
use cynode_resources::allowed_images::AllowedImages;
use cynode_resources::signals::Topic;

/// A request to open a sandbox.
#[derive(Debug, Clone)]
pub struct OpenSandbox {
    pub task: TaskId,
    /// An existing job of the task; a new job when absent.
    pub job: Option<JobId>,
    /// The image of its commands; that of the task when absent.
    pub image: Option<String>,
    /// Slug of the node, if the task is not placed yet.
    pub node: Option<String>,
}

/// An open sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxView {
    /// Identifies the sandbox.
    pub job_id: JobId,
    pub task_id: TaskId,
    pub image_ref: String,
    /// Absent while a node is being selected.
    pub node_slug: Option<String>,
    /// `ready`; `opening` while no node has claimed it; `failed` if its node cannot run commands.
    pub status: &'static str,
}

impl Sandboxes {
    /// Opens a sandbox and waits a while for its node to claim it.
    pub async fn create(
        &self,
        by: Actor<'_>,
        request: OpenSandbox,
    ) -> Result<SandboxView, SandboxError> {
        let (task, is_new) = (request.task, request.job.is_none());
        let (caller, kind) = (by.caller.clone(), by.kind);
        let (now, placing) = (self.clock.now(), self.placer.assignment_pass());
        let opened = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let by = Actor { caller: &caller, kind };
                    insert_sandbox(tx, by, request, now, placing).await
                })
            })
            .await;
        let (id, awaiting_placement) = self.record_denial(opened).await?;
        self.placer.ask(awaiting_placement);
        self.signals.send(Topic::Jobs);
        if is_new {
            self.wait_for_end(id, MAX_WAIT_MS).await?;
        }
        self.load_view(task, id).await
    }

    async fn load_view(&self, task: TaskId, id: JobId) -> Result<SandboxView, SandboxError> {
        let (job, node) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let sandbox = find_sandbox(tx, task, id).await?;
                    let node = match sandbox.node {
                        Some(node) => tx.node_get(node).await?.map(|node| node.slug),
                        None => None,
                    };
                    Ok::<_, SandboxError>((tx.job_get(id).await?, node))
                })
            })
            .await?;
        let image_ref = job_image(job.as_ref()).unwrap_or(HOST_IMAGE).to_owned();
        let status = match (job.map(|job| (job.status, job.spec.step_index)), &node) {
            (Some((JobStatus::Completed, _)), Some(_)) => "ready",
            (Some((status, EXEC_STEP)), _) if status.is_terminal() => "failed",
            (Some((_, EXEC_STEP)) | None, _) | (_, None) => "opening",
            // The workspace of a step exists, whatever the outcome of the step.
            (Some(_), Some(_)) => "ready",
        };
        Ok(SandboxView { job_id: id, task_id: task, image_ref, node_slug: node, status })
    }

    /// Destroys a sandbox: its commands are stopped and new ones rejected. The workspace stays with
    /// its task. Idempotent. Allowed to agents even while the run is paused, because it only stops
    /// work.
    pub async fn destroy_sandbox(
        &self,
        caller: &Caller,
        SandboxIds { task_id: task, job_id: id }: SandboxIds,
    ) -> Result<bool, SandboxError> {
        let caller = caller.clone();
        let destroyed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let task = cynode_execution::tasks::find(tx, &caller, &task.into()).await?;
                    // Same lock order as other code that ends jobs, to avoid deadlocks.
                    tx.task_lock(task.spec.id).await?;
                    find_sandbox(tx, task.spec.id, id).await?;
                    if !tx.sandbox_destroy(id).await? {
                        return Ok(false);
                    }
                    cancel_commands(tx, id).await?;
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

/// Stores a sandbox; returns its id and the jobs that need a placement decision.
async fn insert_sandbox(
    tx: &mut Tx,
    by: Actor<'_>,
    request: OpenSandbox,
    now: DateTime<Utc>,
    placing: AssignmentPass,
) -> Result<(JobId, Vec<JobId>), SandboxError> {
    let (task, run) = lock_open_task(tx, by, request.task).await?;
    let made = if let Some(job) = request.job {
        let id = find_task_job(tx, &task, job).await?;
        if let Some(wanted) = &request.image {
            let found = tx.job_get(id).await?;
            let found = job_image(found.as_ref()).unwrap_or(HOST_IMAGE);
            if wanted != found {
                let fault =
                    format!("the job runs in the image \"{found}\"; omit image_ref or job_id");
                return Err(SandboxError::Invalid(fault));
            }
        }
        if let Some(known) = tx.sandbox_get(id).await? {
            let is_there = known.destroyed_at.is_none();
            return if is_there { Ok((id, vec![])) } else { Err(SandboxError::Destroyed) };
        }
        CreatedJob { id, awaiting_placement: vec![] }
    } else {
        let image = request.image.or_else(|| task.spec.options.image.clone());
        let allowed = AllowedImages::load(tx).await?.check(tx, image.as_deref()).await?;
        allowed.map_err(|refused| SandboxError::Invalid(refused.to_string()))?;
        let node = resolve_node(tx, &task, request.node.as_deref()).await?;
        reject_node_without_image(tx, &task, node, image.as_deref()).await?;
        create_workspace_job(
            tx,
            &task,
            run,
            WorkspaceCommand::no_op(node, image, by.display_name()),
            placing,
        )
        .await?
    };
    if tx.sandbox_count(task.spec.id).await? >= MAX_OPEN {
        let fault = format!("the task has {MAX_OPEN} sandboxes in use: destroy one first");
        return Err(SandboxError::TooMany(fault));
    }
    let sandbox = Sandbox {
        id: made.id,
        task: task.spec.id,
        created_by: by.caller.user,
        node: None,
        created_at: now,
        destroyed_at: None,
    };
    tx.sandbox_insert(&sandbox).await?;
    Ok((made.id, made.awaiting_placement))
}

/// Cancels queued commands and requests cancellation of running ones.
async fn cancel_commands(tx: &mut Tx, sandbox: JobId) -> Result<(), SandboxError> {
    let mut is_revoked = false;
    for id in tx.exec_list(sandbox, MAX_EXECS).await? {
        let Some(job) = tx.job_lock(id).await? else { continue };
        match job.status {
            JobStatus::Queued => {
                let canceled = JobStatus::Canceled;
                is_revoked |= close_job(tx, &job, canceled, None, &JobEnding::Canceled).await?;
            }
            JobStatus::Running => tx.job_request_cancel(id).await?,
            JobStatus::Completed
            | JobStatus::Failed
            | JobStatus::Canceled
            | JobStatus::LeaseExpired => {}
        }
    }
    if is_revoked {
        tx.policy_bump_revision().await?;
    }
    Ok(())
}

async fn find_task_job(tx: &mut Tx, task: &Task, id: JobId) -> Result<JobId, SandboxError> {
    let job = tx.job_get(id).await?.filter(|job| job.spec.task == task.spec.id);
    job.map(|job| job.spec.id).ok_or(SandboxError::NotFound(id))
}

/// The image that a job runs in; `None` for `host`.
pub(crate) fn job_image(job: Option<&Job>) -> Option<&str> {
    job.and_then(|job| job.spec.payload["image"].as_str())
}

/// Rejects an image that the node of the task does not have: the command would wait for it.
async fn reject_node_without_image(
    tx: &mut Tx,
    task: &Task,
    node: Option<NodeId>,
    image: Option<&str>,
) -> Result<(), SandboxError> {
    let is_at = tx.task_node(task.spec.id).await?;
    let node = is_at.or(task.spec.options.node).or(node);
    let (Some(node), Some(image)) = (node, image) else { return Ok(()) };
    match tx.node_get(node).await? {
        Some(node) if !has_image(&node, image) => Err(SandboxError::Invalid(format!(
            "the node \"{}\" of the task does not have the image \"{image}\"",
            node.slug
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Resolves the requested node; fails if the task is placed elsewhere.
async fn resolve_node(
    tx: &mut Tx,
    task: &Task,
    request: Option<&str>,
) -> Result<Option<NodeId>, SandboxError> {
    let Some(request) = request else { return Ok(None) };
    let node = cynode_execution::tasks::find_required_node(tx, request).await?;
    let is = match tx.task_node(task.spec.id).await? {
        Some(is) => Some(is),
        None => task.spec.options.node,
    };
    match is {
        Some(is) if is != node => {
            let is = tx.node_get(is).await?.map(|node| node.slug).unwrap_or_default();
            Err(SandboxError::OnOtherNode { is })
        }
        Some(_) | None => Ok(Some(node)),
    }
}

impl WorkspaceCommand {
    /// A no-op command that proves that a node can run commands of the task.
    fn no_op(node: Option<NodeId>, image: Option<String>, by: String) -> Self {
        let action = Action::Command { line: "true".to_owned() };
        Self { action, timeout_s: Some(60), output_bytes: None, node, image, by }
    }
}
