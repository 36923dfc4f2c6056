//! Making the job of a step, of a check or of a command in a workspace.

use cynode_domain::ids::{JobId, NodeId, RunId};
use cynode_domain::job::{Action, Limits};
use cynode_store::{
    ArtifactStore, EventStore, JobStore, KeepExecs, NewEvent, NewJob, PlacementStore, Task, Tx,
};
use serde_json::{Value, json};

use super::check::split;
use crate::artifacts::ATTACHMENT;
use crate::nodes::{Payload, Placing};
use crate::tasks::event;

/// The step that stands for commands in a workspace: no plan has so many. Their attempts count them,
/// so that (run, step, attempt) stays unique.
pub(crate) const EXEC_STEP: u32 = 1_000_000;
/// How much of a run's commands is kept once they have ended. So many may run at once, and whoever waits
/// for one of them is to find what came of it.
pub(crate) const EXECS_KEPT: KeepExecs = KeepExecs { bytes: 16 * 1024 * 1024, last: 8 };
/// How long a job waits for another of its task to be placed; a little longer than that can take.
const FOLLOW_MS: u32 = 3_000;

/// A job that is to be made.
pub(crate) struct Wanted {
    pub(crate) run: RunId,
    pub(crate) step_index: u32,
    pub(crate) attempt: u32,
    pub(crate) action: Action,
    /// Its bounds.
    pub(crate) limits: Limits,
    /// Where it must run, unless its task is somewhere already.
    pub(crate) node: Option<NodeId>,
    /// Who asked for it, in words; absent if its workflow did.
    pub(crate) by: Option<String>,
}

/// A job that was made, or was there.
pub(crate) struct Made {
    pub(crate) id: JobId,
    /// Jobs about whose place somebody is to be asked once this is committed.
    pub(crate) asked: Vec<JobId>,
}

/// Makes the job for (run, step, attempt) unless there is one, and picks its node.
pub(crate) async fn make_job(
    tx: &mut Tx,
    task: &Task,
    wanted: Wanted,
    placing: Placing,
) -> Result<Made, cynode_store::Error> {
    let attachments = tx.artifact_list(task.asked.id).await?;
    let payload = Payload {
        action: wanted.action,
        limits: wanted.limits,
        attachments: attachments
            .into_iter()
            .filter(|artifact| artifact.kind == ATTACHMENT)
            .map(|artifact| artifact.path)
            .collect(),
    };
    // Jobs of one task share a workspace, so they stay where the first of them ran.
    let is_at = tx.task_node(task.asked.id).await?;
    let pinned_node = is_at.or(task.asked.options.node).or(wanted.node);
    let follows = pinned_node.is_none() && tx.task_has_open_job(task.asked.id).await?;
    let job = NewJob {
        id: JobId::generate(),
        task: task.asked.id,
        run: wanted.run,
        step_index: wanted.step_index,
        attempt: wanted.attempt,
        pinned_node,
        payload: json!(payload),
    };
    let (id, is_new) = tx.job_insert(&job).await?;
    if !is_new {
        return Ok(Made { id, asked: vec![] });
    }
    if follows {
        tx.job_await_placement(id, FOLLOW_MS).await?;
    }
    let mut data = names(&job);
    if let Some(by) = wanted.by {
        data["by"] = by.into();
    }
    let queued = event(task, "job.queued", data);
    tx.event_append(&NewEvent { run: Some(wanted.run), job: Some(id), ..queued }).await?;
    let asked = placing.assign(tx).await?.asked;
    Ok(Made { id, asked })
}

/// Whether a job is an attempt at a step, and neither a check nor a command in the workspace.
pub(crate) fn names_step(job: &NewJob) -> bool {
    job.step_index < EXEC_STEP && split(job.attempt).1.is_none()
}

/// What a job is, for events: which attempt at which step, which check of it, or which command in the
/// workspace.
pub(crate) fn names(job: &NewJob) -> Value {
    if job.step_index == EXEC_STEP {
        return json!({ "exec": job.attempt });
    }
    let (attempt, check) = split(job.attempt);
    let mut data = json!({ "step_index": job.step_index, "attempt": attempt });
    if let Some(number) = check {
        data["check"] = number.into();
    }
    data
}
