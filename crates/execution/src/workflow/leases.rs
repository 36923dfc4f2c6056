//! Leases: claim, start, resume, renew and release.

use std::time::Duration;

use cynode_domain::ids::{HolderId, RunId, TaskId};
use cynode_runtime::failpoint;
use cynode_store::{GrantedRun, GraphVersionRange, LeaseWait, NewEvent, RunClaim, Task, Tx};
use cynode_wire::workflow::{
    CheckpointView, ClaimRun, ClaimView, EffectView, GrantView, GraphVersions, LeaseToken,
    ReleaseLease, RenewLease, ResumeRun, StartRun, StartStatus,
};
use serde_json::json;
use tokio::time::Instant;
use tracing::warn;

use super::plan::{PLAN_PENDING_REASON, PLAN_SUSPEND_MS, PromptPlanner};
use super::{
    MAX_WAIT_MS, WorkflowError, WorkflowService, check_lease, load_task, validate_lease_ms,
};
use crate::{tasks, tasks::task_event};
use cynode_resources::signals::Topic;

/// How many tasks one claim may request.
const GRANTS_PER_CLAIM: std::ops::RangeInclusive<u32> = 1..=64;
/// Backoff of a run that its runner could not continue.
const SUSPEND_MS: u32 = 60_000;
/// Why a run is suspended whose job has no worker node yet.
pub const NODE_PENDING_REASON: &str = "its job waits for a worker node";
/// How long it is, unless its job is assigned before. Whatever else ends the job is noticed after that.
const NODE_SUSPEND_MS: u32 = 30_000;
const MAX_REASON_CHARS: usize = 1000;
const MAX_NODE_CHARS: usize = 64;
/// The event of the first grant of a task.
const STARTED_EVENT: &str = "task.started";

impl WorkflowService {
    /// Grants the oldest runnable tasks; waits up to `wait_ms` if there is none.
    pub async fn claim(&self, request: &ClaimRun) -> Result<ClaimView, WorkflowError> {
        let max = request.max.unwrap_or(1);
        if !GRANTS_PER_CLAIM.contains(&max) {
            let (low, high) = (GRANTS_PER_CLAIM.start(), GRANTS_PER_CLAIM.end());
            let fault = format!("max is {max}; allowed is {low} to {high}");
            return Err(WorkflowError::Invalid(fault));
        }
        let claim = RunClaim {
            holder: request.holder_id,
            lease_ms: validate_lease_ms(request.lease_ms)?,
            versions: supported_versions(request.graph_versions),
            max,
            started_event: STARTED_EVENT,
        };
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.subscribe(Topic::Runs);
        loop {
            self.record_runner_seen();
            failpoint::hit("claim_arrived", "claim");
            let granted = self.store.run_claim(claim).await?;
            if !granted.is_empty() {
                failpoint::hit("claim_committed", "claim");
            }
            if !granted.is_empty() || !listener.wait(deadline).await {
                return self.claim_view(granted).await;
            }
        }
    }

    /// Adds checkpoint and effects to the grants of resumed runs. A run without an earlier holder has neither.
    async fn claim_view(&self, granted: Vec<GrantedRun>) -> Result<ClaimView, WorkflowError> {
        let resumed: Vec<_> = granted.iter().copied().filter(GrantedRun::is_resumed).collect();
        let mut views: Vec<_> = granted
            .iter()
            .filter(|granted| !granted.is_resumed())
            .map(|granted| fresh_grant_view(granted, StartStatus::Started))
            .collect();
        if !resumed.is_empty() {
            // Loaded after the grant: until then the last holder may have moved the run.
            let read = self.store.read(move |tx| Box::pin(load_grant_views(tx, resumed)));
            let (whole, unreadable) = read.await?;
            views.extend(whole);
            for (granted, reason) in unreadable {
                warn!(run.id = %granted.run.id, reason, "run not resumed");
                self.store
                    .write(move |tx| {
                        Box::pin(async move { suspend_run(tx, &granted, &reason).await })
                    })
                    .await?;
            }
        }
        let mut views = views.into_iter();
        Ok(ClaimView { grant: views.next(), more: views.collect() })
    }

    /// Grants one task. Idempotent: the same holder gets its existing grant.
    pub async fn start(&self, request: &StartRun) -> Result<GrantView, WorkflowError> {
        let lease_ms = validate_lease_ms(request.lease_ms)?;
        let (task, holder) = (request.task_id, request.holder_id);
        let versions = supported_versions(request.graph_versions);
        self.record_runner_seen();
        self.store
            .write(move |tx| {
                Box::pin(async move { grant_task(tx, task, holder, lease_ms, versions).await })
            })
            .await
    }

    /// Returns the newest checkpoint of a task.
    pub async fn resume(&self, request: &ResumeRun) -> Result<CheckpointView, WorkflowError> {
        let id = request.task_id;
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    load_task(tx, id).await?;
                    load_checkpoint_view(tx, id).await
                })
            })
            .await?;
        found.ok_or(WorkflowError::NoCheckpoint(id))
    }

    /// Renews a live lease.
    pub async fn renew(&self, request: &RenewLease) -> Result<(), WorkflowError> {
        let (token, lease_ms) = (request.lease, validate_lease_ms(request.lease_ms)?);
        let waiting = request.waiting.as_ref().map(|waiting| LeaseWait {
            node: sanitize_text(&waiting.node, MAX_NODE_CHARS),
            reason: sanitize_text(&waiting.waiting_for, MAX_REASON_CHARS),
        });
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let lease = check_lease(tx, token).await?;
                    if let Some(waiting) = &waiting {
                        tx.lease_set_wait(&lease, waiting).await?;
                    }
                    Ok(tx.lease_renew(&lease, lease_ms).await??)
                })
            })
            .await
    }

    /// Releases a lease, so that another runner claims the task: at once, or after a backoff if the request has a
    /// reason.
    pub async fn release(&self, request: ReleaseLease) -> Result<(), WorkflowError> {
        let planner = self.planner.clone();
        self.store
            .write(move |tx| {
                Box::pin(async move { release_lease(tx, &request, planner.as_ref()).await })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(())
    }
}

async fn grant_task(
    tx: &mut Tx,
    id: TaskId,
    holder: HolderId,
    lease_ms: u32,
    versions: GraphVersionRange,
) -> Result<GrantView, WorkflowError> {
    // Locked, so that the task is not canceled between the gate and the grant.
    let task = tx.task_lock(id).await?.ok_or(WorkflowError::TaskNotFound(id))?;
    let run = tx.run_of_task(id).await?.ok_or(WorkflowError::TaskNotFound(id))?;
    tasks::start::check_start_gate(tx, &task)
        .await?
        .map_err(|denied| WorkflowError::StartDenied { reason: denied.to_string() })?;
    reject_paused_or_waiting(tx, &task, run.id).await?;
    if let Some(needed) = tx.run_version(run.id).await?
        && !(versions.oldest..=versions.newest).contains(&needed)
    {
        let GraphVersionRange { oldest, newest } = versions;
        let reason = format!(
            "its run needs a runner for graph version {needed}, and this one supports {oldest} to {newest}"
        );
        return Err(WorkflowError::StartDenied { reason });
    }
    if let Some(lease) = tx.lease_grant(id, run.id, holder, lease_ms).await? {
        tx.run_record_grant(&run, versions, STARTED_EVENT).await?;
        return load_grant_view(tx, &GrantedRun { run, lease }, StartStatus::Started).await;
    }
    let lease = tx.lease_get(id).await?;
    match lease.and_then(|lease| lease.holder.map(|holder| (lease, holder))) {
        Some((lease, current)) if current == holder => {
            load_grant_view(tx, &GrantedRun { run, lease }, StartStatus::AlreadyRunning).await
        }
        Some((_, other)) => Err(WorkflowError::LeasedElsewhere { holder: other }),
        // The lease was released concurrently; the caller may retry.
        None => Err(WorkflowError::StartDenied {
            reason: "its lease changed concurrently: retry".to_owned(),
        }),
    }
}

async fn release_lease(
    tx: &mut Tx,
    request: &ReleaseLease,
    planner: Option<&PromptPlanner>,
) -> Result<(), WorkflowError> {
    let token = request.lease;
    if let Some(reason) = &request.reason
        && let Some(task) = tx.task_lock(token.task_id).await?
        && let Ok(lease) = tx.lease_check(token.task_id, token.lease_id, token.epoch).await?
    {
        if request.is_waiting {
            // If what it waits for has arrived meanwhile, nothing would wake a run suspended now.
            if planner.is_some_and(|planner| planner.is_planning(lease.run)) {
                tx.run_suspend(lease.run, PLAN_PENDING_REASON, None, PLAN_SUSPEND_MS).await?;
            } else if !tx.awaited_nodes_of(&[token.task_id]).await?.is_empty() {
                tx.run_suspend(lease.run, NODE_PENDING_REASON, None, NODE_SUSPEND_MS).await?;
            }
            tx.lease_release(token.task_id, token.lease_id, token.epoch).await?;
            return Ok(());
        }
        let fit = sanitize_text(reason, MAX_REASON_CHARS);
        tx.run_suspend(lease.run, &fit, request.graph_version, SUSPEND_MS).await?;
        let data = json!({ "reason": fit, "graph_version": request.graph_version });
        let put_down = task_event(&task, "workflow.put_down", data);
        tx.event_append(&NewEvent { run: Some(lease.run), ..put_down }).await?;
    }
    tx.lease_release(token.task_id, token.lease_id, token.epoch).await?;
    Ok(())
}

/// Rejects runs that are paused or have an open question.
async fn reject_paused_or_waiting(
    tx: &mut Tx,
    task: &Task,
    run: RunId,
) -> Result<(), WorkflowError> {
    let request = tx.question_last(run).await?;
    let reason = if task.paused_at.is_some() {
        "it is paused"
    } else if request.is_some_and(|request| request.answered_at.is_none()) {
        "it waits for an answer"
    } else {
        return Ok(());
    };
    Err(WorkflowError::StartDenied { reason: reason.to_owned() })
}

/// Removes NUL characters and truncates a text.
fn sanitize_text(text: &str, most: usize) -> String {
    text.chars().filter(|c| *c != '\0').take(most).collect()
}

/// Loads the views of runs that can be resumed, and the unreadable runs with the reason.
async fn load_grant_views(
    tx: &mut Tx,
    resumed: Vec<GrantedRun>,
) -> Result<ResumableGrants, WorkflowError> {
    let (mut views, mut unreadable) = (vec![], vec![]);
    for granted in resumed {
        match load_grant_view(tx, &granted, StartStatus::Started).await {
            Err(WorkflowError::Store(error)) if error.is_unreadable() => {
                unreadable.push((granted, error.to_string()));
            }
            view => views.push(view?),
        }
    }
    Ok((views, unreadable))
}

type ResumableGrants = (Vec<GrantView>, Vec<(GrantedRun, String)>);

/// Suspends a run that cannot be resumed, so that the other runs of its claim proceed.
async fn suspend_run(tx: &mut Tx, granted: &GrantedRun, reason: &str) -> Result<(), WorkflowError> {
    let GrantedRun { run, lease } = granted;
    tx.run_suspend(run.id, &sanitize_text(reason, MAX_REASON_CHARS), None, SUSPEND_MS).await?;
    Ok(tx.lease_release(run.task, lease.id, lease.epoch).await?)
}

/// The view of a grant with the checkpoint and the effects since.
async fn load_grant_view(
    tx: &mut Tx,
    granted: &GrantedRun,
    status: StartStatus,
) -> Result<GrantView, WorkflowError> {
    let checkpoint = load_checkpoint_view(tx, granted.run.task).await?;
    let last = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.sequence);
    let effects = tx.effect_list(granted.run.id, last).await?;
    let effects = effects.into_iter();
    Ok(GrantView {
        checkpoint,
        effects: effects.map(|e| EffectView { key: e.key, answer: e.answer }).collect(),
        ..fresh_grant_view(granted, status)
    })
}

/// The view of a grant without checkpoint.
fn fresh_grant_view(granted: &GrantedRun, status: StartStatus) -> GrantView {
    let GrantedRun { run, lease } = granted;
    GrantView {
        status,
        lease: LeaseToken { task_id: run.task, lease_id: lease.id, epoch: lease.epoch },
        run_id: run.id,
        trace_id: run.trace,
        checkpoint: None,
        effects: vec![],
    }
}

fn supported_versions(request: Option<GraphVersions>) -> GraphVersionRange {
    request.map_or(GraphVersionRange::ANY, |GraphVersions { oldest, newest }| GraphVersionRange {
        oldest,
        newest,
    })
}

async fn load_checkpoint_view(
    tx: &mut Tx,
    task: TaskId,
) -> Result<Option<CheckpointView>, WorkflowError> {
    let checkpoint = tx.checkpoint_get(task).await?;
    Ok(checkpoint.map(|checkpoint| CheckpointView {
        task_id: task,
        state: checkpoint.state,
        last_node_id: checkpoint.last_node,
        edge: checkpoint.edge,
        sequence: checkpoint.sequence,
        updated_at: checkpoint.updated_at,
    }))
}
