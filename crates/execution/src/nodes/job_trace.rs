//! The trace of an agent's job, as its node read it from the result that the sandbox wrote.
//!
//! Invariants: trace, user, profile and actor come from the rows of the job, never from the events; a job has one
//! bounded list of events; times are within the time of the job.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, TraceEventId};
use cynode_domain::trace::{
    TraceActor, TraceContext, TraceEvent, TraceEvents, TraceField, TraceFields, TraceValue,
};
use cynode_resources::NodeCaller;
use cynode_resources::secrets::RedactSecrets;
use cynode_runtime::trace_recorder::log_trace_event;
use cynode_store::{Job, Task, TraceEventRow, Tx};

use super::agent_token::is_agent;
use super::report::require_held_job;
use super::{JobPayload, NodeError, NodeService, trace_context};

impl NodeService {
    /// Stores what the agent of a job recorded. The first list of a job counts; a repeated or another one has no effect.
    pub async fn record_job_trace(
        &self,
        node: &NodeCaller,
        job: JobId,
        events: TraceEvents,
    ) -> Result<(), NodeError> {
        let (node, now) = (node.clone(), self.clock.now());
        let stored = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    // Locked, so that two requests do not both find that there are no events.
                    let job = require_held_job(tx.job_lock(job).await?, &node, job)?;
                    store_trace(tx, &job, events, now).await
                })
            })
            .await?;
        for row in &stored {
            log_trace_event(&row.event);
        }
        Ok(())
    }
}

async fn store_trace(
    tx: &mut Tx,
    job: &Job,
    events: TraceEvents,
    now: DateTime<Utc>,
) -> Result<Vec<TraceEventRow>, NodeError> {
    let id = job.spec.id;
    if !is_agent(job) {
        return Err(NodeError::Invalid(vec![format!("job {id} is not a job of an agent")]));
    }
    let task = tx.task_get(job.spec.task).await?.ok_or(NodeError::JobNotHeld(id))?;
    let run = tx.run_get(job.spec.run).await?.ok_or(NodeError::JobNotHeld(id))?;
    let context = trace_context(&task, run.run.trace);
    if tx.trace_has_events_of_job(context.trace, id).await? {
        return Ok(vec![]);
    }
    if events.dropped() > 0 {
        tracing::warn!(
            trace_id = %context.trace, job.id = %id, trace.dropped = events.dropped(),
            "trace events dropped"
        );
    }
    let rows = JobTrace { job, task: &task, context, actor: job_actor(job), now }.rows(events);
    for row in &rows {
        tx.trace_event_insert(row).await?;
    }
    Ok(rows)
}

/// The actor of a job, from its row: the sandbox cannot choose it.
fn job_actor(job: &Job) -> TraceActor {
    let payload = serde_json::from_value::<JobPayload>(job.spec.payload.clone());
    if payload.is_ok_and(|payload| payload.agent.is_some()) {
        TraceActor::AgentProgram
    } else {
        TraceActor::SandboxAgent
    }
}

/// What the rows say about the events of a job.
struct JobTrace<'a> {
    job: &'a Job,
    task: &'a Task,
    context: TraceContext,
    actor: TraceActor,
    now: DateTime<Utc>,
}

impl JobTrace<'_> {
    fn rows(&self, events: TraceEvents) -> Vec<TraceEventRow> {
        let row = |event| TraceEventRow {
            id: TraceEventId::generate(),
            user: self.task.spec.created_by,
            task: Some(self.job.spec.task),
            run: Some(self.job.spec.run),
            job: Some(self.job.spec.id),
            handoff: None,
            event: self.bind_event(event),
            recorded_at: self.now,
        };
        events.into_events().into_iter().map(row).collect()
    }

    /// The event as one of this job: identity from rows, times within the job, secrets redacted.
    fn bind_event(&self, mut event: TraceEvent) -> TraceEvent {
        // Times of rows are those of the database clock, which may be ahead of the clock of this process.
        let started = self.job.started_at.unwrap_or(self.job.created_at);
        let at = event.at.clamp(started, self.now.max(started));
        let fields = std::mem::take(&mut event.entry.fields);
        event.entry.fields =
            bound_duration(fields, at - started).map_words(RedactSecrets::redact_secrets);
        let TraceContext { trace, profile } = self.context;
        TraceEvent { trace, profile, actor: self.actor, at, ..event }
    }
}

/// Nothing that a job did began before the job.
fn bound_duration(mut fields: TraceFields, longest: chrono::TimeDelta) -> TraceFields {
    if let Some(TraceValue::Number(ms)) = fields.get(TraceField::DurationMs) {
        let bounded = (*ms).clamp(0, longest.num_milliseconds());
        fields.insert(TraceField::DurationMs, bounded);
    }
    fields
}
