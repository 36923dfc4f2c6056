//! Reports of worker nodes: output while a job runs, and its result.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::{IncarnationId, JobId};
use cynode_domain::job::{JobEnding, Limits};
use cynode_domain::status::{AgentStatus, JobStatus};
use cynode_runtime::failpoint;
use cynode_store::{Job, NewEvent, TaskScope, Tx};
use cynode_wire::jobs::JobResult;
use cynode_wire::nodes::{AppendLog, LogPosition};
use serde_json::{Value, json};

use super::{NodeError, NodeService};
use crate::tasks::task_event_for;
use crate::{
    workflow::job_creation::EXEC_RETENTION, workflow::job_creation::EXEC_STEP,
    workflow::job_creation::names,
};
use cynode_resources::NodeCaller;
use cynode_resources::signals::Topic;

/// A stream is kept up to 1 MiB; as lossy UTF-8 text it may be three times as long.
const MAX_TEXT_BYTES: usize = 3 * Limits::MAX.output_bytes as usize;

impl NodeService {
    /// Appends a chunk of output; returns the offset of the next chunk.
    pub async fn append_log(
        &self,
        node: &NodeCaller,
        job: JobId,
        request: AppendLog,
    ) -> Result<LogPosition, NodeError> {
        let data = STANDARD.decode(&request.data_base64);
        let data = data.map_err(|e| NodeError::Invalid(vec![format!("data_base64: {e}")]))?;
        let offset = i64::try_from(request.offset).unwrap_or(i64::MAX);
        let length = i64::try_from(data.len()).unwrap_or(i64::MAX);
        if offset.saturating_add(length) > i64::from(Limits::MAX.output_bytes) {
            return Err(NodeError::Invalid(vec!["a stream may not exceed 1 MiB".to_owned()]));
        }
        let node = node.clone();
        let stored = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    require_held_job(tx.job_get(job).await?, &node, job)?;
                    let stream = request.stream.as_str();
                    Ok::<_, NodeError>(tx.log_append(job, stream, offset, &data).await?)
                })
            })
            .await?;
        self.signs.record(job).await;
        Ok(LogPosition { next_offset: stored.unsigned_abs() })
    }

    /// Closes a job with its result. Repeating the same result has no effect.
    pub async fn finish(
        &self,
        node: &NodeCaller,
        job: JobId,
        result: JobResult,
    ) -> Result<(), NodeError> {
        if result.stdout.len() > MAX_TEXT_BYTES || result.stderr.len() > MAX_TEXT_BYTES {
            let fault = format!("stdout and stderr may not exceed {MAX_TEXT_BYTES} bytes each");
            return Err(NodeError::Invalid(vec![fault]));
        }
        let node = node.clone();
        failpoint::hit("result_arrived", "job");
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    close_with_result(tx, &node, job, &result).await?;
                    failpoint::hit("result_written", "job");
                    Ok::<_, NodeError>(())
                })
            })
            .await?;
        failpoint::hit("result_committed", "job");
        self.signals.send(Topic::Results);
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

async fn close_with_result(
    tx: &mut Tx,
    node: &NodeCaller,
    id: JobId,
    result: &JobResult,
) -> Result<(), NodeError> {
    let found = tx.job_lock(id).await?;
    let ending = found.as_ref().map(|job| stopped_ending(job, result.ending.clone()));
    let result =
        &JobResult { ending: ending.unwrap_or_else(|| result.ending.clone()), ..result.clone() };
    let value = json!(result);
    if found.as_ref().is_some_and(|job| node.holds_job(job) && job.result.as_ref() == Some(&value))
    {
        return Ok(());
    }
    let job = require_held_job(found, node, id)?;
    if job.status == JobStatus::LeaseExpired {
        return record_late_result(tx, &job, node.incarnation, result).await;
    }
    let status = job.status.advance(status_for_ending(&result.ending))?;
    let must_touch = close_job(tx, &job, status, Some(&value), &result.ending).await?;
    if job.spec.step_index == EXEC_STEP {
        tx.exec_trim(job.spec.run, EXEC_STEP, EXEC_RETENTION).await?;
    }
    if must_touch {
        tx.policy_bump_revision().await?;
    }
    Ok(())
}

/// Records a result that arrives after the job's lease expired. The run may have continued without it; the
/// job's row is corrected all the same.
async fn record_late_result(
    tx: &mut Tx,
    job: &Job,
    process: IncarnationId,
    result: &JobResult,
) -> Result<(), NodeError> {
    if matches!(result.ending, JobEnding::Canceled | JobEnding::Interrupted { .. }) {
        // Nothing new: the node stopped the job because its lease had expired.
        return Ok(());
    }
    let status = job.status.settle_expired(status_for_ending(&result.ending))?;
    let value = json!(result);
    if tx.job_add_late_result(job.spec.id, process, status, &value).await? {
        append_ended_event(tx, job, status, &result.ending).await?;
    }
    Ok(())
}

/// Closes an open job, revokes the tokens of its agents and appends an event. Returns true if tokens were revoked:
/// the caller must then run `policy_bump_revision` as the last statement of its transaction, to notify the gateway. An
/// earlier `policy_bump_revision` could deadlock two transactions that each close several jobs.
pub async fn close_job(
    tx: &mut Tx,
    job: &Job,
    status: JobStatus,
    result: Option<&Value>,
    ending: &JobEnding,
) -> Result<bool, cynode_store::Error> {
    let id = job.spec.id;
    if !tx.job_close(id, status, result).await? {
        return Ok(false);
    }
    append_ended_event(tx, job, status, ending).await?;
    let agent_status = match status {
        JobStatus::Completed => AgentStatus::Completed,
        JobStatus::Queued
        | JobStatus::Running
        | JobStatus::Failed
        | JobStatus::Canceled
        | JobStatus::LeaseExpired => AgentStatus::Aborted,
    };
    tx.agent_end_with_job(id, agent_status).await?;
    Ok(tx.agent_token_revoke_job(id).await? > 0)
}

/// The ending of a job: that of the stop request, if the node reports that it has stopped the job.
pub(super) fn stopped_ending(job: &Job, reported: JobEnding) -> JobEnding {
    let requested = job.stop_ending.clone().filter(|_| reported == JobEnding::Canceled);
    requested.and_then(|ending| serde_json::from_value(ending).ok()).unwrap_or(reported)
}

async fn append_ended_event(
    tx: &mut Tx,
    job: &Job,
    status: JobStatus,
    ending: &JobEnding,
) -> Result<(), cynode_store::Error> {
    if let Some(TaskScope { created_by: owner, project, .. }) = tx.task_scope(job.spec.task).await?
    {
        let mut data = names(&job.spec);
        data["status"] = json!(status);
        data["ending"] = json!(ending);
        if job.status == JobStatus::LeaseExpired {
            data["late"] = true.into();
        }
        let ended = task_event_for(job.spec.task, owner, project, "job.ended", data);
        let (run, job) = (Some(job.spec.run), Some(job.spec.id));
        tx.event_append(&NewEvent { run, job, ..ended }).await?;
    }
    Ok(())
}

/// Returns the job if this process holds it and its result is unknown.
pub(super) fn require_held_job(
    found: Option<Job>,
    node: &NodeCaller,
    id: JobId,
) -> Result<Job, NodeError> {
    let is_unknown = |status: JobStatus| !status.is_terminal() || status == JobStatus::LeaseExpired;
    found
        .filter(|job| node.holds_job(job) && is_unknown(job.status))
        .ok_or(NodeError::JobNotHeld(id))
}

pub(super) fn status_for_ending(ending: &JobEnding) -> JobStatus {
    match ending {
        JobEnding::Exited { .. } => JobStatus::Completed,
        JobEnding::Canceled => JobStatus::Canceled,
        JobEnding::TimedOut
        | JobEnding::LimitReached { .. }
        | JobEnding::Interrupted { .. }
        | JobEnding::NotStarted { .. } => JobStatus::Failed,
    }
}
