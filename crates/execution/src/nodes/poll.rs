//! The long poll of a worker node: heartbeat, renewal of its jobs, new assignments and cancellations.

use std::time::Duration;

use cynode_domain::job::{JobEnding, Limits};
use cynode_domain::status::{JobStatus, NodeStatus};
use cynode_store::{Job, NewEvent, Node, TaskScope, Tx};
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::nodes::{Assignment, MachineLoad, NodeSettings, Poll, PollView};
use serde_json::json;
use tokio::time::Instant;

use super::register::setting_faults;
use super::report::{status_for_ending, stopped_ending};
use super::{AssignmentOutcome, AssignmentPass, JobPayload, NodeError, NodeService, close_job};
use crate::tasks::task_event_for;
use crate::workflow::MAX_WAIT_MS;
use crate::{workflow::job_creation::EXEC_STEP, workflow::job_creation::names};
use cynode_resources::NodeCaller;
use cynode_resources::signals::Topic;

const MAX_HOLDING: usize = 1000;

impl NodeService {
    /// Returns new assignments and cancellations for a node; waits up to `wait_ms` if there are none.
    pub async fn poll(&self, node: &NodeCaller, request: Poll) -> Result<PollView, NodeError> {
        if request.holding.len() > MAX_HOLDING {
            let fault = format!("holding has more than {MAX_HOLDING} entries");
            return Err(NodeError::Invalid(vec![fault]));
        }
        if let Some(NodeSettings { max_concurrency, labels }) = &request.settings {
            let faults = setting_faults(*max_concurrency, labels);
            if !faults.is_empty() {
                return Err(NodeError::Invalid(faults));
            }
        }
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        // A waiting node holds its jobs: every iteration renews their leases.
        let lease_ms = self.job_lease_ms;
        let often = Duration::from_millis(u64::from(lease_ms / 3));
        let mut listener = self.signals.subscribe(Topic::Jobs).with_max_interval(often);
        loop {
            let (node, request) = (node.clone(), request.clone());
            let terms = PollSettings {
                lease_ms,
                job_ceiling: self.job_ceiling,
                min_free_disk_mib: self.min_free_disk_mib,
                pass: self.placer.assignment_pass(),
            };
            let PollOutcome { view: news, is_revoked, assigned } = self
                .store
                .write(move |tx| {
                    Box::pin(async move { poll_once(tx, &node, &request, terms).await })
                })
                .await?;
            self.placer.ask(assigned.awaiting_placement);
            if assigned.has_assignments {
                // The job may be for another node, whose own poll skipped the rows locked here.
                self.signals.send(Topic::Jobs);
            }
            if assigned.has_closed_jobs {
                self.signals.send(Topic::Results);
            }
            if assigned.has_closed_jobs || assigned.has_resumed_runs {
                self.signals.send(Topic::Runs);
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

/// Settings of one poll iteration.
#[derive(Clone, Copy)]
struct PollSettings {
    lease_ms: u32,
    job_ceiling: Limits,
    min_free_disk_mib: u32,
    pass: AssignmentPass,
}

/// Result of one poll iteration.
struct PollOutcome {
    view: PollView,
    /// Whether agent tokens were revoked with their job.
    is_revoked: bool,
    /// Result of the assignment pass, for this node and others.
    assigned: AssignmentOutcome,
}

async fn poll_once(
    tx: &mut Tx,
    node: &NodeCaller,
    request: &Poll,
    PollSettings { lease_ms, job_ceiling, min_free_disk_mib, pass: placing }: PollSettings,
) -> Result<PollOutcome, NodeError> {
    let load = request.load.map(|load| json!(judge_disk(load, min_free_disk_mib)));
    if !tx.node_record_poll(node.node, node.incarnation, load.as_ref()).await? {
        return Err(NodeError::Superseded(node.slug.clone()));
    }
    if let Some(settings) = &request.settings {
        apply_settings(tx, node, settings).await?;
    }
    let (mut news, mut is_revoked) = (PollView::default(), false);
    for id in &request.holding {
        if !tx.job_renew(*id, node.node, node.incarnation, lease_ms).await? {
            news.forget.push(*id);
        }
    }
    let assigned = placing.assign(tx).await?;
    let mut free = match tx.node_get(node.node).await? {
        Some(node) if node.status == NodeStatus::Active => request.free_slots as usize,
        // A drained node only finishes its jobs.
        _ => 0,
    };
    for job in tx.job_list_of_node(node.node).await? {
        let id = job.spec.id;
        if job.cancel_requested {
            if request.holding.contains(&id) {
                news.cancel.push(id);
            } else if !job.acknowledged && is_held_by(&job, node) {
                // The assignment never reached the node: there is nothing to stop.
                let ending = stopped_ending(&job, JobEnding::Canceled);
                let status = status_for_ending(&ending);
                let result = (ending != JobEnding::Canceled).then(|| json!(empty_result(&ending)));
                is_revoked |= close_job(tx, &job, status, result.as_ref(), &ending).await?;
            }
        } else if needs_assignment(&job, node, request) && free > 0 {
            let payload = match serde_json::from_value::<JobPayload>(job.spec.payload.clone()) {
                Ok(payload) => {
                    // The task may be older than the ceiling, or a fork of an older one.
                    JobPayload { limits: payload.limits.at_most(&job_ceiling), ..payload }
                }
                Err(error) => {
                    is_revoked |= fail_unreadable_job(tx, &job, &error).await?;
                    continue;
                }
            };
            if let Some(assignment) = assign_to_process(tx, &job, payload, node, lease_ms).await? {
                free -= 1;
                news.assignments.push(assignment);
            }
        }
    }
    if is_revoked {
        tx.policy_bump_revision().await?;
    }
    Ok(PollOutcome { view: news, is_revoked, assigned })
}

/// Stores settings that the node changed while it runs.
async fn apply_settings(
    tx: &mut Tx,
    node: &NodeCaller,
    settings: &NodeSettings,
) -> Result<(), NodeError> {
    let Some(Node { mut capabilities, .. }) = tx.node_get(node.node).await? else { return Ok(()) };
    capabilities["labels"] = json!(settings.labels);
    capabilities["max_concurrency"] = json!(settings.max_concurrency);
    Ok(tx.node_set_capabilities(node.node, &capabilities, settings.max_concurrency).await?)
}

/// Marks a load whose free disk is below the minimum.
fn judge_disk(load: MachineLoad, min_free_disk_mib: u32) -> MachineLoad {
    let is_disk_short = load.free_disk_mib.is_some_and(|free| free < min_free_disk_mib.into());
    MachineLoad { is_disk_short, ..load }
}

/// Whether no other process of the node holds the job.
fn is_held_by(job: &Job, node: &NodeCaller) -> bool {
    job.status == JobStatus::Queued || node.holds_job(job)
}

/// True for a queued job, and for one whose first assignment to this process may have been lost in transit. A job
/// that the process has acknowledged is never assigned again.
fn needs_assignment(job: &Job, node: &NodeCaller, request: &Poll) -> bool {
    match job.status {
        JobStatus::Queued => true,
        JobStatus::Running => {
            is_held_by(job, node) && !job.acknowledged && !request.holding.contains(&job.spec.id)
        }
        JobStatus::Completed
        | JobStatus::Failed
        | JobStatus::Canceled
        | JobStatus::LeaseExpired => false,
    }
}

/// Fails a job whose payload cannot be parsed: it would be assigned forever and block the node's other jobs.
async fn fail_unreadable_job(
    tx: &mut Tx,
    job: &Job,
    error: &serde_json::Error,
) -> Result<bool, NodeError> {
    let (id, reason) = (job.spec.id.to_string(), format!("column payload: {error}"));
    tx.quarantine_add("jobs", &id, &reason).await?;
    let reason = format!("the payload of the job cannot be read: row {id} of table jobs, {reason}");
    let ending = JobEnding::NotStarted { reason };
    let status = job.status.advance(JobStatus::Failed)?;
    Ok(close_job(tx, job, status, Some(&json!(empty_result(&ending))), &ending).await?)
}

/// The result of a job without output.
fn empty_result(ending: &JobEnding) -> JobResult {
    let (stdout, stderr) = (String::new(), String::new());
    JobResult { ending: ending.clone(), stdout, stderr, truncated: Truncated::default() }
}

/// The assignment of a job, which is started if it was queued; `None` if it was canceled or moved meanwhile.
async fn assign_to_process(
    tx: &mut Tx,
    job: &Job,
    payload: JobPayload,
    node: &NodeCaller,
    lease_ms: u32,
) -> Result<Option<Assignment>, NodeError> {
    let process = node.incarnation;
    if job.status == JobStatus::Queued {
        if !tx.job_start(job.spec.id, node.node, process, lease_ms).await? {
            return Ok(None);
        }
        if let Some(TaskScope { created_by: owner, project, .. }) =
            tx.task_scope(job.spec.task).await?
        {
            let mut data = names(&job.spec);
            data["node_id"] = json!(job.node);
            let started = task_event_for(job.spec.task, owner, project, "job.started", data);
            let (run, job) = (Some(job.spec.run), Some(job.spec.id));
            tx.event_append(&NewEvent { run, job, ..started }).await?;
        }
    }
    Ok(Some(Assignment {
        job_id: job.spec.id,
        task_id: job.spec.task,
        run_id: job.spec.run,
        action: payload.action,
        limits: payload.limits,
        attachments: payload.attachments,
        repository: payload.repository,
        push: payload.push,
        agent: payload.agent,
        image: payload.image,
        cache: payload.cache,
        trace: payload.trace,
        incarnation: Some(process),
        needs_workspace: needs_workspace(tx, job).await?,
    }))
}

/// Whether a job needs the files of an earlier job. A later step does, and so does every job that follows
/// another job of its run; the first step of a new run starts with an empty workspace.
async fn needs_workspace(tx: &mut Tx, job: &Job) -> Result<bool, NodeError> {
    let is_later_step = (1..EXEC_STEP).contains(&job.spec.step_index);
    Ok(tx.job_has_workspace(job, !is_later_step).await?)
}
