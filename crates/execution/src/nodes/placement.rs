//! Placement by the project manager: it chooses the node that a task's jobs run on.
//!
//! The handoff runs in the background of the request that created the job. The job's row has a deadline for the
//! choice, so that `assign.rs` assigns the job by rule if this process or the project manager fails.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{DecisionId, JobId};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::{Job, ManagerDecision, NewEvent, Node, Store, TaskScope, Tx};
use cynode_wire::handoff::{DecidedBy, HandoffKind, NodeCandidate, PlaceAnswer, PlaceHandoff};
use cynode_wire::nodes::Capabilities;
use serde_json::json;

use super::JobPayload;
use super::admission::AgentAdmissions;
use super::assign::{AssignmentPass, assign_job, best_node, eligible_nodes};
use crate::tasks::task_event_for;
use crate::{handoff::HandoffError, handoff::HandoffService, handoff::HandoffSubject};
use cynode_resources::Signals;
use cynode_resources::signals::Topic;

/// The purpose under which placement decisions are recorded.
pub const PURPOSE: &str = "place_job";

/// Asks the project manager to place jobs. Cheap to clone.
#[derive(Clone)]
pub struct JobPlacer {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    /// `None`: jobs are placed by rule alone.
    handoffs: Option<HandoffService>,
    background: BackgroundTasks,
}

impl JobPlacer {
    /// Creates a placer that places jobs by rule alone.
    pub fn rule_based(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals, handoffs: None, background: BackgroundTasks::new() }
    }

    /// Makes the placer ask the project manager, if one is configured.
    #[must_use]
    pub fn with_handoffs(self, handoffs: HandoffService) -> Self {
        Self { handoffs: Some(handoffs), ..self }
    }

    /// The settings of an assignment pass that starts now.
    pub fn assignment_pass(&self) -> AssignmentPass {
        let is_asked = self.handoffs.as_ref().is_some_and(HandoffService::is_configured);
        AssignmentPass { asks_manager: is_asked, now: self.clock.now() }
    }

    /// Places these jobs in the background.
    pub fn ask(&self, jobs: Vec<JobId>) {
        for job in jobs {
            let placer = self.clone();
            self.background.spawn("placing", async move { placer.place_job(job).await });
        }
    }

    async fn place_job(&self, job: JobId) {
        if let Err(error) = self.choose_node(job).await {
            tracing::warn!(
                job.id = %job, error = &error as &dyn std::error::Error,
                "job placement failed"
            );
        }
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Events);
    }

    async fn choose_node(&self, id: JobId) -> Result<(), HandoffError> {
        let Some(handoffs) = &self.handoffs else { return Ok(()) };
        let request = self.store.read(move |tx| Box::pin(load_placement_handoff(tx, id))).await?;
        let Some((subject, body)) = request else { return Ok(()) };
        let choice = match handoffs.place(&subject, body).await {
            Ok(answer) => NodeChoice::from_answer(answer),
            Err(error) => NodeChoice::fallback(&error.to_string()),
        };
        let now = self.clock.now();
        self.store.write(move |tx| Box::pin(apply_choice(tx, id, choice, now))).await?;
        Ok(())
    }
}

/// A choice of a node with its reason.
pub(super) struct NodeChoice {
    /// The slug of the node; `None` means by rule.
    node: Option<String>,
    decided_by: DecidedBy,
    reason: String,
}

impl NodeChoice {
    fn from_answer(answer: PlaceAnswer) -> Self {
        let decided_by = answer.decisions.last().map_or(DecidedBy::Rule, |decision| decision.by);
        Self { node: Some(answer.node_slug), decided_by, reason: answer.reason }
    }

    /// The choice by rule, used when the project manager made none.
    pub(super) fn fallback(why: &str) -> Self {
        let reason = format!("the least loaded node, because {why}");
        Self { node: None, decided_by: DecidedBy::Fallback, reason }
    }
}

/// Loads the placement handoff; `None` if the job already has a node.
async fn load_placement_handoff(
    tx: &mut Tx,
    id: JobId,
) -> Result<Option<(HandoffSubject, PlaceHandoff)>, cynode_store::Error> {
    let Some(job) = tx.job_get(id).await?.filter(|job| job.node.is_none()) else {
        return Ok(None);
    };
    let Some(task) = tx.task_get(job.spec.task).await? else { return Ok(None) };
    let nodes = tx.node_list().await?;
    let subject = HandoffSubject::for_task(tx, &task.spec, job.spec.run).await?;
    let limits = serde_json::from_value::<JobPayload>(job.spec.payload.clone())
        .map_or(task.spec.options.limits, |payload| payload.limits);
    let admissions = AgentAdmissions::load_for(tx, &job).await?;
    let candidates = eligible_nodes(&job, &nodes, &admissions).filter_map(node_candidate).collect();
    Ok(Some((subject, PlaceHandoff { job_id: id, limits, candidates })))
}

fn node_candidate(node: &Node) -> Option<NodeCandidate> {
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

/// Assigns the job to the chosen node if that is still eligible, else to the best node. A job that was assigned
/// meanwhile keeps its node.
async fn apply_choice(
    tx: &mut Tx,
    id: JobId,
    choice: NodeChoice,
    now: DateTime<Utc>,
) -> Result<(), HandoffError> {
    let Some(task) = tx.job_get(id).await?.map(|job| job.spec.task) else { return Ok(()) };
    // A concurrent placement of the same task waits for this lock, and then finds the job placed.
    tx.task_lock(task).await?;
    let open = tx.job_lock(id).await?.filter(|job| !job.status.is_terminal());
    let Some(mut job) = open.filter(|job| job.node.is_none()) else { return Ok(()) };
    if job.spec.pinned_node.is_none() {
        job.spec.pinned_node = tx.task_node(task).await?;
    }
    let nodes = tx.node_list().await?;
    let admissions = AgentAdmissions::load_for(tx, &job).await?;
    let named =
        |slug: &String| eligible_nodes(&job, &nodes, &admissions).find(|node| node.slug == *slug);
    let (node, choice) = match choice.node.as_ref().map(|slug| (slug, named(slug))) {
        Some((_, Some(node))) => (Some(node), choice),
        Some((slug, None)) => {
            let why = format!("the chosen node \"{slug}\" is not eligible");
            (best_node(&job, &nodes, &admissions), NodeChoice::fallback(&why))
        }
        None => (best_node(&job, &nodes, &admissions), choice),
    };
    let Some(node) = node else {
        tx.job_allow_assignment(id).await?;
        return Ok(());
    };
    assign_job(tx, &job, node.id, now).await?;
    record_placement(tx, &job, node, &choice, now).await?;
    Ok(())
}

/// Records a choice, and pins the task's other jobs to the same node.
pub(super) async fn record_placement(
    tx: &mut Tx,
    job: &Job,
    node: &Node,
    choice: &NodeChoice,
    now: DateTime<Utc>,
) -> Result<(), cynode_store::Error> {
    tx.task_pin_jobs(job.spec.task, node.id).await?;
    let Some(TaskScope { created_by: user, project, .. }) = tx.task_scope(job.spec.task).await?
    else {
        return Ok(());
    };
    let NodeChoice { decided_by: by, reason, .. } = choice;
    let placed_by = match by {
        DecidedBy::Fallback => {
            format!("fallback rule: {}: {reason}", node.slug)
        }
        DecidedBy::Rule | DecidedBy::Model => {
            format!("project manager, {}: {}: {reason}", by.as_str(), node.slug)
        }
    };
    tx.job_record_placement(job.spec.id, &placed_by).await?;
    let data = json!({ "node": node.slug, "node_id": node.id, "by": by, "reason": reason });
    let (run, id) = (Some(job.spec.run), Some(job.spec.id));
    let placed = task_event_for(job.spec.task, user, project, "job.placed", data);
    tx.event_append(&NewEvent { run, job: id, ..placed }).await?;
    if *by != DecidedBy::Fallback {
        // The project manager's own decisions were recorded with its answer.
        return Ok(());
    }
    let decision = ManagerDecision {
        id: DecisionId::generate(),
        handoff: HandoffKind::Place.as_str().to_owned(),
        user,
        project: Some(project),
        task: Some(job.spec.task),
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
