//! A node reports: output while a job runs, and what came of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::{IncarnationId, JobId};
use cynode_domain::job::{Ending, Limits};
use cynode_domain::status::JobStatus;
use cynode_runtime::failpoint;
use cynode_store::{
    AgentTokenStore, EventStore, Job, JobStore, KeptExecStore, NewEvent, SettingStore, TaskStore,
    Tx,
};
use cynode_wire::jobs::JobResult;
use cynode_wire::nodes::{AppendLog, LogPosition};
use serde_json::{Value, json};

use super::{NodeError, Nodes};
use crate::NodeCaller;
use crate::signals::Topic;
use crate::tasks::event_of;
use crate::workflow::make::{EXEC_STEP, EXECS_KEPT, names};

/// A stream is kept up to 1 MiB; as text it may be three times as long, when none of it is UTF-8.
const MAX_TEXT_BYTES: usize = 3 * Limits::MAX.output_bytes as usize;

impl Nodes {
    /// Adds a piece of output; the answer says where the next piece is expected.
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
            return Err(NodeError::Invalid(vec!["a stream is kept up to 1 MiB".to_owned()]));
        }
        let node = node.clone();
        let stored = self
            .store
            .append(move |tx| {
                Box::pin(async move {
                    held_job(tx.job_get(job).await?, &node, job)?;
                    let stream = request.stream.as_str();
                    Ok::<_, NodeError>(tx.log_append(job, stream, offset, &data).await?)
                })
            })
            .await?;
        Ok(LogPosition { next_offset: stored.unsigned_abs() })
    }

    /// Closes a job with what came of it. The same result again changes nothing.
    pub async fn finish(
        &self,
        node: &NodeCaller,
        job: JobId,
        result: JobResult,
    ) -> Result<(), NodeError> {
        if result.stdout.len() > MAX_TEXT_BYTES || result.stderr.len() > MAX_TEXT_BYTES {
            let fault = format!("stdout and stderr hold up to {MAX_TEXT_BYTES} bytes each");
            return Err(NodeError::Invalid(vec![fault]));
        }
        let node = node.clone();
        failpoint::hit("result_arrived", "job");
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    finish(tx, &node, job, &result).await?;
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

async fn finish(
    tx: &mut Tx,
    node: &NodeCaller,
    id: JobId,
    result: &JobResult,
) -> Result<(), NodeError> {
    let found = tx.job_lock(id).await?;
    let value = json!(result);
    if found.as_ref().is_some_and(|job| node.holds(job) && job.result.as_ref() == Some(&value)) {
        return Ok(());
    }
    let job = held_job(found, node, id)?;
    if job.status == JobStatus::LeaseExpired {
        return settle(tx, &job, node.incarnation, result).await;
    }
    let status = job.status.advance(status_of(&result.ending))?;
    let must_touch = close_job(tx, &job, status, Some(&value), &result.ending).await?;
    if job.asked.step_index == EXEC_STEP {
        tx.exec_trim(job.asked.run, EXEC_STEP, EXECS_KEPT).await?;
    }
    if must_touch {
        tx.policy_touch().await?;
    }
    Ok(())
}

/// Records a result that arrives after the job's lease ran out. The run may have continued without it; the
/// job's row is corrected all the same.
async fn settle(
    tx: &mut Tx,
    job: &Job,
    process: IncarnationId,
    result: &JobResult,
) -> Result<(), NodeError> {
    if matches!(result.ending, Ending::Canceled | Ending::Interrupted { .. }) {
        // Nothing new: the node ended it because it was not waited for any longer.
        return Ok(());
    }
    let status = job.status.settle(status_of(&result.ending))?;
    let value = json!(result);
    if tx.job_settle(job.asked.id, process, (status, &value)).await? {
        announce_end(tx, job, status, &result.ending).await?;
    }
    Ok(())
}

/// Closes a job that is open, with the tokens of its agents, and tells everybody who may see its
/// task. If it gives true, tokens were revoked and the gateway must hear of it: the last statement
/// of the transaction is then `policy_touch`. Earlier, two that end several jobs could wait for
/// each other.
pub(crate) async fn close_job(
    tx: &mut Tx,
    job: &Job,
    status: JobStatus,
    result: Option<&Value>,
    ending: &Ending,
) -> Result<bool, cynode_store::Error> {
    let id = job.asked.id;
    if !tx.job_close(id, status, result).await? {
        return Ok(false);
    }
    announce_end(tx, job, status, ending).await?;
    Ok(tx.agent_token_revoke_job(id).await? > 0)
}

async fn announce_end(
    tx: &mut Tx,
    job: &Job,
    status: JobStatus,
    ending: &Ending,
) -> Result<(), cynode_store::Error> {
    if let Some(scope) = tx.task_scope(job.asked.task).await? {
        let mut data = names(&job.asked);
        data["status"] = json!(status);
        data["ending"] = json!(ending);
        if job.status == JobStatus::LeaseExpired {
            data["late"] = true.into();
        }
        let ended = event_of(job.asked.task, scope, "job.ended", data);
        let (run, job) = (Some(job.asked.run), Some(job.asked.id));
        tx.event_append(&NewEvent { run, job, ..ended }).await?;
    }
    Ok(())
}

/// The job, if this process holds it and what came of it is not known.
fn held_job(found: Option<Job>, node: &NodeCaller, id: JobId) -> Result<Job, NodeError> {
    let is_unknown = |status: JobStatus| !status.is_terminal() || status == JobStatus::LeaseExpired;
    found.filter(|job| node.holds(job) && is_unknown(job.status)).ok_or(NodeError::NotYourJob(id))
}

fn status_of(ending: &Ending) -> JobStatus {
    match ending {
        Ending::Exited { .. } => JobStatus::Completed,
        Ending::Canceled => JobStatus::Canceled,
        Ending::TimedOut
        | Ending::LimitReached { .. }
        | Ending::Interrupted { .. }
        | Ending::NotStarted { .. } => JobStatus::Failed,
    }
}
