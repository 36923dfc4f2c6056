//! Taking a task, keeping it, and letting go.

use std::time::Duration;

use cynode_domain::ids::{HolderId, RunId, TaskId};
use cynode_runtime::failpoint;
use cynode_store::{
    Claim, EventStore, Granted, LeaseStore, NewEvent, QuestionStore, Task, TaskStore, Tx, Versions,
    Waiting, WorkflowStore,
};
use cynode_wire::workflow::{
    CheckpointView, ClaimRun, ClaimView, EffectView, GrantView, GraphVersions, Hold, ReleaseLease,
    RenewLease, ResumeRun, StartRun, StartStatus,
};
use serde_json::json;
use tokio::time::Instant;
use tracing::warn;

use super::plan::{Planner, WAIT_MS, WAITS_FOR_PLAN};
use super::{MAX_WAIT_MS, Workflow, WorkflowError, check, lease_ms, task_of};
use crate::signals::Topic;
use crate::tasks::{self, event};

/// How many tasks one claim may ask for.
const GRANTS: std::ops::RangeInclusive<u32> = 1..=64;
/// How long a run is left alone that its runner could not go on with.
const PUT_DOWN_MS: u32 = 60_000;
const MAX_REASON_CHARS: usize = 1000;
const MAX_NODE_CHARS: usize = 64;
/// The event that tells that a task was taken for the first time.
const STARTED: &str = "task.started";

impl Workflow {
    /// Grants the oldest runnable tasks, waiting for one if there is none.
    pub async fn claim(&self, request: &ClaimRun) -> Result<ClaimView, WorkflowError> {
        let max = request.max.unwrap_or(1);
        if !GRANTS.contains(&max) {
            let (low, high) = (GRANTS.start(), GRANTS.end());
            let fault = format!("max is {max}; allowed is {low} to {high}");
            return Err(WorkflowError::Invalid(fault));
        }
        let claim = Claim {
            holder: request.holder_id,
            lease_ms: lease_ms(request.lease_ms)?,
            versions: versions(request.graph_versions),
            max,
            started: STARTED,
        };
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.listen(Topic::Runs);
        loop {
            self.note_runner();
            failpoint::hit("claim_arrived", "claim");
            let granted = self
                .store
                .write_alone(move |tx| Box::pin(async move { tx.run_claim(&claim).await }))
                .await?;
            if !granted.is_empty() {
                failpoint::hit("claim_committed", "claim");
            }
            if !granted.is_empty() || !listener.wait(deadline).await {
                return self.claimed(granted).await;
            }
        }
    }

    /// The grants with what was there before them. A run that nobody held before has nothing.
    async fn claimed(&self, granted: Vec<Granted>) -> Result<ClaimView, WorkflowError> {
        let resumed: Vec<_> = granted.iter().copied().filter(Granted::is_resumed).collect();
        let mut views: Vec<_> = granted
            .iter()
            .filter(|granted| !granted.is_resumed())
            .map(|granted| granted_view(granted, StartStatus::Started))
            .collect();
        if !resumed.is_empty() {
            // Read after the grant: until then the last holder may have moved the run.
            let read = self.store.read(move |tx| Box::pin(whole_views(tx, resumed)));
            let (whole, unreadable) = read.await?;
            views.extend(whole);
            for (granted, reason) in unreadable {
                warn!(run.id = %granted.run.id, reason, "run not resumed");
                self.store
                    .write(move |tx| Box::pin(async move { put_down(tx, &granted, &reason).await }))
                    .await?;
            }
        }
        let mut views = views.into_iter();
        Ok(ClaimView { grant: views.next(), more: views.collect() })
    }

    /// Grants one task. The same holder asking again gets the grant it has.
    pub async fn start(&self, request: &StartRun) -> Result<GrantView, WorkflowError> {
        let lease_ms = lease_ms(request.lease_ms)?;
        let (task, holder) = (request.task_id, request.holder_id);
        let versions = versions(request.graph_versions);
        self.note_runner();
        self.store
            .write(move |tx| {
                Box::pin(async move { start(tx, task, (holder, lease_ms, versions)).await })
            })
            .await
    }

    /// The newest checkpoint of a task.
    pub async fn resume(&self, request: &ResumeRun) -> Result<CheckpointView, WorkflowError> {
        let id = request.task_id;
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    task_of(tx, id).await?;
                    checkpoint_view(tx, id).await
                })
            })
            .await?;
        found.ok_or(WorkflowError::NoCheckpoint(id))
    }

    /// Extends a lease in force.
    pub async fn renew(&self, request: &RenewLease) -> Result<(), WorkflowError> {
        let (hold, lease_ms) = (request.hold, lease_ms(request.lease_ms)?);
        let waiting = request.waiting.as_ref().map(|waiting| Waiting {
            node: fit(&waiting.node, MAX_NODE_CHARS),
            what: fit(&waiting.waiting_for, MAX_REASON_CHARS),
        });
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let lease = check(tx, hold).await?;
                    if let Some(waiting) = &waiting {
                        tx.lease_note(&lease, waiting).await?;
                    }
                    Ok(tx.lease_renew(&lease, lease_ms).await??)
                })
            })
            .await
    }

    /// Gives a task up, so that another runner takes it: at once, or after a while if this one
    /// could not go on.
    pub async fn release(&self, request: ReleaseLease) -> Result<(), WorkflowError> {
        let planner = self.planner.clone();
        self.store
            .write(move |tx| Box::pin(async move { release(tx, &request, planner.as_ref()).await }))
            .await?;
        self.signals.send(Topic::Runs);
        Ok(())
    }
}

async fn start(
    tx: &mut Tx,
    id: TaskId,
    (holder, lease_ms, versions): (HolderId, u32, Versions),
) -> Result<GrantView, WorkflowError> {
    // Locked, so that nobody cancels the task between the gate and the grant.
    let task = tx.task_lock(id).await?.ok_or(WorkflowError::NoTask(id))?;
    let run = tx.run_of_task(id).await?.ok_or(WorkflowError::NoTask(id))?;
    tasks::start::gate(tx, &task)
        .await?
        .map_err(|denied| WorkflowError::Gate { reason: denied.to_string() })?;
    pass_people(tx, &task, run.id).await?;
    if let Some(needed) = tx.run_version(run.id).await?
        && !(versions.oldest..=versions.newest).contains(&needed)
    {
        let Versions { oldest, newest } = versions;
        let reason = format!(
            "its run needs a runner for graph version {needed}, and this one knows {oldest} to {newest}"
        );
        return Err(WorkflowError::Gate { reason });
    }
    if let Some(lease) = tx.lease_grant(id, run.id, holder, lease_ms).await? {
        tx.run_begin(&run, versions, STARTED).await?;
        return whole_view(tx, &Granted { run, lease }, StartStatus::Started).await;
    }
    let lease = tx.lease_get(id).await?;
    match lease.and_then(|lease| lease.holder.map(|holder| (lease, holder))) {
        Some((lease, current)) if current == holder => {
            whole_view(tx, &Granted { run, lease }, StartStatus::AlreadyRunning).await
        }
        Some((_, other)) => Err(WorkflowError::Held { holder: other }),
        // It was released at this very moment; the caller may simply ask again.
        None => Err(WorkflowError::Gate { reason: "the lease just changed hands".to_owned() }),
    }
}

async fn release(
    tx: &mut Tx,
    request: &ReleaseLease,
    planner: Option<&Planner>,
) -> Result<(), WorkflowError> {
    let hold = request.hold;
    if let Some(reason) = &request.reason
        && let Some(task) = tx.task_lock(hold.task_id).await?
        && let Ok(lease) = tx.lease_check(hold.task_id, hold.lease_id, hold.epoch).await?
    {
        if request.is_waiting {
            // The plan may have arrived meanwhile: a run put down now would not be woken.
            if planner.is_some_and(|planner| planner.is_planning(lease.run)) {
                tx.run_put_down(lease.run, WAITS_FOR_PLAN, None, WAIT_MS).await?;
            }
            tx.lease_release(hold.task_id, hold.lease_id, hold.epoch).await?;
            return Ok(());
        }
        let fit = fit(reason, MAX_REASON_CHARS);
        tx.run_put_down(lease.run, &fit, request.graph_version, PUT_DOWN_MS).await?;
        let data = json!({ "reason": fit, "graph_version": request.graph_version });
        let put_down = event(&task, "workflow.put_down", data);
        tx.event_append(&NewEvent { run: Some(lease.run), ..put_down }).await?;
    }
    tx.lease_release(hold.task_id, hold.lease_id, hold.epoch).await?;
    Ok(())
}

/// Nobody drives what a person has paused, or what waits for a person's answer.
async fn pass_people(tx: &mut Tx, task: &Task, run: RunId) -> Result<(), WorkflowError> {
    let asked = tx.question_last(run).await?;
    let reason = if task.paused_at.is_some() {
        "it is paused"
    } else if asked.is_some_and(|asked| asked.answered_at.is_none()) {
        "it waits for an answer"
    } else {
        return Ok(());
    };
    Err(WorkflowError::Gate { reason: reason.to_owned() })
}

/// A text as it can be kept.
fn fit(text: &str, most: usize) -> String {
    text.chars().filter(|c| *c != '\0').take(most).collect()
}

/// The views of runs that can be resumed, and the others with the reason.
async fn whole_views(tx: &mut Tx, resumed: Vec<Granted>) -> Result<Resumable, WorkflowError> {
    let (mut views, mut unreadable) = (vec![], vec![]);
    for granted in resumed {
        match whole_view(tx, &granted, StartStatus::Started).await {
            Err(WorkflowError::Store(error)) if error.is_unreadable() => {
                unreadable.push((granted, error.to_string()));
            }
            view => views.push(view?),
        }
    }
    Ok((views, unreadable))
}

type Resumable = (Vec<GrantView>, Vec<(Granted, String)>);

/// Leaves a run alone for a while that nobody can go on with, so that the other runs of its claim are
/// driven.
async fn put_down(tx: &mut Tx, granted: &Granted, reason: &str) -> Result<(), WorkflowError> {
    let Granted { run, lease } = granted;
    tx.run_put_down(run.id, &fit(reason, MAX_REASON_CHARS), None, PUT_DOWN_MS).await?;
    Ok(tx.lease_release(run.task, lease.id, lease.epoch).await?)
}

/// A grant of a run with its checkpoint and the effects since.
async fn whole_view(
    tx: &mut Tx,
    granted: &Granted,
    status: StartStatus,
) -> Result<GrantView, WorkflowError> {
    let checkpoint = checkpoint_view(tx, granted.run.task).await?;
    let last = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.sequence);
    let effects = tx.effect_list(granted.run.id, last).await?;
    let effects = effects.into_iter();
    Ok(GrantView {
        checkpoint,
        effects: effects.map(|e| EffectView { key: e.key, answer: e.answer }).collect(),
        ..granted_view(granted, status)
    })
}

/// A grant of a run that has not begun.
fn granted_view(granted: &Granted, status: StartStatus) -> GrantView {
    let Granted { run, lease } = granted;
    GrantView {
        status,
        hold: Hold { task_id: run.task, lease_id: lease.id, epoch: lease.epoch },
        run_id: run.id,
        trace_id: run.trace,
        checkpoint: None,
        effects: vec![],
    }
}

fn versions(asked: Option<GraphVersions>) -> Versions {
    asked.map_or(Versions::ANY, |GraphVersions { oldest, newest }| Versions { oldest, newest })
}

async fn checkpoint_view(
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
