//! Having the project manager choose the node that a task's work runs on.
//!
//! The question is asked beside the request that made the job. The job's row says until when it is
//! waited for, so that whatever becomes of this process or of the project manager, the job goes to
//! some node soon: `assign.rs` takes it then.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{DecisionId, JobId};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::Tasks as Background;
use cynode_store::{
    Decision, DecisionStore, EventStore, Job, JobStore, NewEvent, Node, NodeStore, PlacementStore,
    Store, TaskStore, Tx, WorkflowStore,
};
use cynode_wire::handoff::{DecidedBy, HandoffKind, NodeCandidate, PlaceAnswer, PlaceHandoff};
use cynode_wire::nodes::Capabilities;
use serde_json::json;

use super::Payload;
use super::assign::{Placing, able, best};
use crate::Signals;
use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::signals::Topic;
use crate::tasks::event_of;
use crate::workflow::owner;

/// What is decided, as a word.
pub(crate) const PURPOSE: &str = "place_job";

/// Asks where jobs belong. Cheap to clone.
#[derive(Clone)]
pub struct Placer {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    /// Whom to ask; nobody without one.
    handoffs: Option<Handoffs>,
    background: Background,
}

impl Placer {
    /// Asks nobody: jobs are placed by rule.
    pub fn by_rule((store, clock, signals): (Store, SharedClock, Signals)) -> Self {
        Self { store, clock, signals, handoffs: None, background: Background::new() }
    }

    /// Asks the project manager, if there is one.
    #[must_use]
    pub fn asking(self, handoffs: Handoffs) -> Self {
        Self { handoffs: Some(handoffs), ..self }
    }

    /// How jobs are given to nodes now.
    pub(crate) fn placing(&self) -> Placing {
        let is_asked = self.handoffs.as_ref().is_some_and(Handoffs::is_configured);
        Placing { is_asked, now: self.clock.now() }
    }

    /// Asks about these jobs, beside whatever the caller does.
    pub(crate) fn ask(&self, jobs: Vec<JobId>) {
        for job in jobs {
            let placer = self.clone();
            self.background.spawn("placing", async move { placer.place(job).await });
        }
    }

    async fn place(&self, job: JobId) {
        if let Err(error) = self.choose(job).await {
            tracing::warn!(
                job.id = %job, error = &error as &dyn std::error::Error,
                "a job could not be placed and waits for its turn"
            );
        }
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Events);
    }

    async fn choose(&self, id: JobId) -> Result<(), HandoffError> {
        let Some(handoffs) = &self.handoffs else { return Ok(()) };
        let asked = self.store.read(move |tx| Box::pin(look(tx, id))).await?;
        let Some((subject, body)) = asked else { return Ok(()) };
        let choice = match handoffs.place(&subject, body).await {
            Ok(answer) => Choice::of(answer),
            Err(error) => Choice::fallback(&error.to_string()),
        };
        let now = self.clock.now();
        self.store.write(move |tx| Box::pin(apply(tx, id, choice, now))).await?;
        Ok(())
    }
}

/// A choice of a node, and why.
pub(super) struct Choice {
    /// The name of the node; by rule when absent.
    node: Option<String>,
    by: DecidedBy,
    reason: String,
}

impl Choice {
    fn of(answer: PlaceAnswer) -> Self {
        let by = answer.decisions.last().map_or(DecidedBy::Rule, |decision| decision.by);
        Self { node: Some(answer.node_slug), by, reason: answer.reason }
    }

    /// The choice that is made where the project manager made none.
    pub(super) fn fallback(why: &str) -> Self {
        let reason = format!("the least loaded node, because {why}");
        Self { node: None, by: DecidedBy::Fallback, reason }
    }
}

/// What the project manager is asked; nothing if nothing is left to decide.
async fn look(
    tx: &mut Tx,
    id: JobId,
) -> Result<Option<(Subject, PlaceHandoff)>, cynode_store::Error> {
    let Some(job) = tx.job_get(id).await?.filter(|job| job.node.is_none()) else {
        return Ok(None);
    };
    let Some(task) = tx.task_get(job.asked.task).await? else { return Ok(None) };
    let nodes = tx.node_list().await?;
    let trace = tx.run_of_task(job.asked.task).await?.map(|run| run.trace.to_string());
    let subject = Subject {
        project: Some(task.asked.project),
        task: Some(task.asked.id),
        run: Some(job.asked.run),
        ..Subject::of(owner(tx, task.asked.created_by).await?, trace.unwrap_or_default())
    };
    let limits = serde_json::from_value::<Payload>(job.asked.payload.clone())
        .map_or(task.asked.options.limits, |payload| payload.limits);
    let candidates = able(&job, &nodes).filter_map(candidate).collect();
    Ok(Some((subject, PlaceHandoff { job_id: id, limits, candidates })))
}

fn candidate(node: &Node) -> Option<NodeCandidate> {
    let Capabilities { os, arch, cpu_cores, memory_mib, sandbox, .. } =
        serde_json::from_value(node.capabilities.clone()).ok()?;
    let running_jobs = u32::try_from(node.open_jobs).unwrap_or(u32::MAX);
    Some(NodeCandidate {
        node_slug: node.slug.clone(),
        os,
        arch,
        cpu_cores,
        memory_mib,
        sandbox_features: sandbox.features,
        running_jobs,
        room: node.max_concurrency.saturating_sub(running_jobs),
    })
}

/// Gives the job to the chosen node if that can still take it, else to the best there is. A job that
/// has a node meanwhile keeps it.
async fn apply(
    tx: &mut Tx,
    id: JobId,
    choice: Choice,
    now: DateTime<Utc>,
) -> Result<(), HandoffError> {
    let Some(task) = tx.job_get(id).await?.map(|job| job.asked.task) else { return Ok(()) };
    // Whoever else places a job of this task waits, and then finds it placed.
    tx.task_lock(task).await?;
    let open = tx.job_lock(id).await?.filter(|job| !job.status.is_terminal());
    let Some(mut job) = open.filter(|job| job.node.is_none()) else { return Ok(()) };
    if job.asked.pinned_node.is_none() {
        job.asked.pinned_node = tx.task_node(task).await?;
    }
    let nodes = tx.node_list().await?;
    let named = |slug: &String| able(&job, &nodes).find(|node| node.slug == *slug);
    let (node, choice) = match choice.node.as_ref().map(|slug| (slug, named(slug))) {
        Some((_, Some(node))) => (Some(node), choice),
        Some((slug, None)) => {
            let why = format!("the chosen node \"{slug}\" cannot take it");
            (best(&job, &nodes), Choice::fallback(&why))
        }
        None => (best(&job, &nodes), choice),
    };
    let Some(node) = node else {
        tx.job_end_placement(id).await?;
        return Ok(());
    };
    tx.job_assign(id, node.id).await?;
    record(tx, &job, node, &choice, now).await?;
    Ok(())
}

/// Puts a choice on record, and keeps the task's other jobs together with this one.
pub(super) async fn record(
    tx: &mut Tx,
    job: &Job,
    node: &Node,
    choice: &Choice,
    now: DateTime<Utc>,
) -> Result<(), cynode_store::Error> {
    tx.task_gather(job.asked.task, node.id).await?;
    let Some(scope @ (user, project)) = tx.task_scope(job.asked.task).await? else {
        return Ok(());
    };
    let Choice { by, reason, .. } = choice;
    let placed_by = match by {
        DecidedBy::Fallback => {
            format!("rule, in the project manager's place: {}: {reason}", node.slug)
        }
        DecidedBy::Rule | DecidedBy::Model => {
            format!("project manager, {}: {}: {reason}", by.as_str(), node.slug)
        }
    };
    tx.job_record_placement(job.asked.id, &placed_by).await?;
    let data = json!({ "node": node.slug, "node_id": node.id, "by": by, "reason": reason });
    let (run, id) = (Some(job.asked.run), Some(job.asked.id));
    let placed = event_of(job.asked.task, scope, "job.placed", data);
    tx.event_append(&NewEvent { run, job: id, ..placed }).await?;
    if *by != DecidedBy::Fallback {
        // What the project manager decided came with its answer.
        return Ok(());
    }
    let decision = Decision {
        id: DecisionId::generate(),
        handoff: HandoffKind::Place.as_str().to_owned(),
        user,
        project: Some(project),
        task: Some(job.asked.task),
        run,
        thread: None,
        trace_id: String::new(),
        purpose: PURPOSE.to_owned(),
        decided_by: by.as_str().to_owned(),
        reason: format!("{}: {reason}", node.slug),
        input_hash: String::new(),
        model: None,
        created_at: now,
    };
    tx.decision_insert(&decision).await
}
