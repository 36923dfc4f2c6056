//! A node asks for work: one long poll that shows it lives, renews its jobs and brings news.

use std::time::Duration;

use cynode_domain::ids::IncarnationId;
use cynode_domain::job::Ending;
use cynode_domain::status::{JobStatus, NodeStatus};
use cynode_store::{
    EventStore, Job, JobStore, NewEvent, NodeStore, PlacementStore, QuarantineStore, SettingStore,
    TaskStore, Tx,
};
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::nodes::{Assignment, Poll, PollView};
use serde_json::json;
use tokio::time::Instant;

use super::{Assigned, NodeError, Nodes, Payload, Placing, close_job};
use crate::NodeCaller;
use crate::signals::Topic;
use crate::tasks::event_of;
use crate::workflow::MAX_WAIT_MS;
use crate::workflow::make::{EXEC_STEP, names};

const MAX_HOLDING: usize = 1000;

impl Nodes {
    /// News for a node, waiting for some if there is none.
    pub async fn poll(&self, node: &NodeCaller, request: Poll) -> Result<PollView, NodeError> {
        if request.holding.len() > MAX_HOLDING {
            let fault = format!("holding has more than {MAX_HOLDING} entries");
            return Err(NodeError::Invalid(vec![fault]));
        }
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        // A node that waits holds its jobs: their leases are renewed at every look.
        let lease_ms = self.job_lease_ms;
        let often = Duration::from_millis(u64::from(lease_ms / 3));
        let mut listener = self.signals.listen(Topic::Jobs).at_least_every(often);
        loop {
            let (node, request) = (node.clone(), request.clone());
            let terms = Terms { lease_ms, placing: self.placer.placing() };
            let Looked { news, is_revoked, assigned } = self
                .store
                .write(move |tx| Box::pin(async move { look(tx, &node, &request, terms).await }))
                .await?;
            self.placer.ask(assigned.asked);
            if assigned.has_news {
                // Perhaps for another node, whose own look passed over what this one was looking at.
                self.signals.send(Topic::Jobs);
            }
            if is_revoked {
                self.signals.send(Topic::Policy);
            }
            if !news.assignments.is_empty() {
                self.signals.send(Topic::Events);
            }
            if news != PollView::default() || !listener.wait(deadline).await {
                return Ok(news);
            }
        }
    }
}

/// On which terms jobs are handed out.
#[derive(Clone, Copy)]
struct Terms {
    lease_ms: u32,
    placing: Placing,
}

/// What a look found.
struct Looked {
    news: PollView,
    /// Whether tokens of agents ended with their job.
    is_revoked: bool,
    /// What came of placing jobs, this node's and others'.
    assigned: Assigned,
}

async fn look(
    tx: &mut Tx,
    node: &NodeCaller,
    request: &Poll,
    Terms { lease_ms, placing }: Terms,
) -> Result<Looked, NodeError> {
    if !tx.node_touch(node.node, node.incarnation).await? {
        return Err(NodeError::Superseded(node.slug.clone()));
    }
    let (mut news, mut is_revoked) = (PollView::default(), false);
    for id in &request.holding {
        if !tx.job_renew(*id, (node.node, node.incarnation), lease_ms).await? {
            news.forget.push(*id);
        }
    }
    let assigned = placing.assign(tx).await?;
    let mut free = match tx.node_get(node.node).await? {
        Some(node) if node.status == NodeStatus::Active => request.free_slots as usize,
        // A drained node finishes what it has.
        _ => 0,
    };
    for job in tx.job_of_node(node.node).await? {
        let id = job.asked.id;
        if job.cancel_requested {
            if request.holding.contains(&id) {
                news.cancel.push(id);
            } else if !job.acknowledged && is_held(&job, node) {
                // It was handed out and never arrived: there is nothing to stop.
                let canceled = JobStatus::Canceled;
                is_revoked |= close_job(tx, &job, canceled, None, &Ending::Canceled).await?;
            }
        } else if is_to_be_handed_out(&job, node, request) && free > 0 {
            let payload = match serde_json::from_value(job.asked.payload.clone()) {
                Ok(payload) => payload,
                Err(error) => {
                    is_revoked |= end_unreadable(tx, &job, &error).await?;
                    continue;
                }
            };
            free -= 1;
            news.assignments.push(hand_out(tx, &job, payload, (node.incarnation, lease_ms)).await?);
        }
    }
    if is_revoked {
        tx.policy_touch().await?;
    }
    Ok(Looked { news, is_revoked, assigned })
}

/// Whether no other process of the node was given the job.
fn is_held(job: &Job, node: &NodeCaller) -> bool {
    job.status == JobStatus::Queued || node.holds(job)
}

/// A queued job, or one whose first handing-out to this process may have been lost on the way. Once the
/// process has said that it has a job, it is never handed out again.
fn is_to_be_handed_out(job: &Job, node: &NodeCaller, request: &Poll) -> bool {
    match job.status {
        JobStatus::Queued => true,
        JobStatus::Running => {
            is_held(job, node) && !job.acknowledged && !request.holding.contains(&job.asked.id)
        }
        JobStatus::Completed
        | JobStatus::Failed
        | JobStatus::Canceled
        | JobStatus::LeaseExpired => false,
    }
}

/// Ends a job that no node can be told what to do for: it would be handed out for ever, and stand in
/// the way of the node's other jobs.
async fn end_unreadable(
    tx: &mut Tx,
    job: &Job,
    error: &serde_json::Error,
) -> Result<bool, NodeError> {
    let (id, reason) = (job.asked.id.to_string(), format!("column payload: {error}"));
    tx.quarantine_add("jobs", &id, &reason).await?;
    let reason = format!("what the job is to do cannot be read: row {id} of table jobs, {reason}");
    let ending = Ending::NotStarted { reason };
    let result = JobResult {
        ending: ending.clone(),
        stdout: String::new(),
        stderr: String::new(),
        truncated: Truncated::default(),
    };
    let status = job.status.advance(JobStatus::Failed)?;
    Ok(close_job(tx, job, status, Some(&json!(result)), &ending).await?)
}

async fn hand_out(
    tx: &mut Tx,
    job: &Job,
    payload: Payload,
    (process, lease_ms): (IncarnationId, u32),
) -> Result<Assignment, NodeError> {
    if job.status == JobStatus::Queued {
        tx.job_start(job.asked.id, process, lease_ms).await?;
        if let Some(scope) = tx.task_scope(job.asked.task).await? {
            let mut data = names(&job.asked);
            data["node_id"] = json!(job.node);
            let started = event_of(job.asked.task, scope, "job.started", data);
            let (run, job) = (Some(job.asked.run), Some(job.asked.id));
            tx.event_append(&NewEvent { run, job, ..started }).await?;
        }
    }
    Ok(Assignment {
        job_id: job.asked.id,
        task_id: job.asked.task,
        run_id: job.asked.run,
        action: payload.action,
        limits: payload.limits,
        attachments: payload.attachments,
        incarnation: Some(process),
        needs_workspace: needs_workspace(tx, job).await?,
    })
}

/// Whether a job goes on with files that an earlier one left. A later step does, and so does every job
/// that follows another one of its run; the first step of a new run begins anew.
async fn needs_workspace(tx: &mut Tx, job: &Job) -> Result<bool, NodeError> {
    let is_later_step = (1..EXEC_STEP).contains(&job.asked.step_index);
    Ok(tx.job_has_workspace(job, !is_later_step).await?)
}
