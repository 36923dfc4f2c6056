//! One span for each row. Names and details are words and numbers of the row, never text of people or models.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use cynode_audit::StoredCall;
use cynode_domain::ids::ProfileId;
use cynode_domain::model::InferenceOutcome;
use cynode_domain::policy::CallStatus;
use cynode_domain::status::{JobStatus, RunStatus, TaskStatus};
use cynode_domain::trace::{TraceEventKind, TraceField, TraceStop, TraceValue};
use cynode_store::{
    ChatRecord, InferenceCall, ManagerDecision, TraceEventRow, TraceJob, TraceRun, TraceTask,
    TraceTransition,
};
use cynode_wire::traces::{TraceSpan, TraceSpanKind, TraceSpanStatus, TraceUsage};

use super::end_of;
use super::tree::{Parents, PendingCall as _, millis_between, span_id, task_span_id};

/// A span with absolute times.
#[derive(Debug)]
pub(super) struct DraftSpan {
    pub(super) start: DateTime<Utc>,
    /// `None` while it is open, and for events.
    pub(super) end: Option<DateTime<Utc>>,
    pub(super) span: TraceSpan,
}

impl DraftSpan {
    fn new(
        kind: TraceSpanKind,
        id: impl std::fmt::Display,
        name: &str,
        (start, end): (DateTime<Utc>, Option<DateTime<Utc>>),
    ) -> Self {
        let span = TraceSpan {
            id: span_id(kind, id),
            parent_id: None,
            kind,
            name: name.to_owned(),
            status: TraceSpanStatus::Ok,
            start_ms: 0,
            duration_ms: None,
            detail: String::new(),
            profile_id: None,
            usage: None,
        };
        Self { start, end, span }
    }

    fn below(mut self, parent: Option<String>) -> Self {
        self.span.parent_id = parent.filter(|parent| *parent != self.span.id);
        self
    }

    fn with(mut self, status: TraceSpanStatus, detail: impl Into<String>) -> Self {
        self.span.status = status;
        self.span.detail = detail.into();
        self
    }

    /// The span, with times relative to the start of the trace.
    pub(super) fn into_span(self, trace_start: DateTime<Utc>) -> TraceSpan {
        let duration_ms = self.end.map(|end| millis_between(self.start, end));
        TraceSpan { start_ms: millis_between(trace_start, self.start), duration_ms, ..self.span }
    }
}

pub(super) fn chat_turn_span(row: &ChatRecord) -> DraftSpan {
    let times = (row.created_at, Some(end_of(row.created_at, row.duration_ms)));
    let status = match row.outcome.as_str() {
        "success" => TraceSpanStatus::Ok,
        "canceled" => TraceSpanStatus::Canceled,
        _ => TraceSpanStatus::Error,
    };
    let detail = row.error_code.clone().unwrap_or_default();
    DraftSpan::new(TraceSpanKind::ChatTurn, row.id, &row.model, times).with(status, detail)
}

pub(super) fn task_span(row: &TraceTask, parents: &Parents) -> DraftSpan {
    let kind = if row.phase.is_some() { TraceSpanKind::Request } else { TraceSpanKind::Task };
    let status = match row.status {
        TaskStatus::Pending | TaskStatus::Running => TraceSpanStatus::Open,
        TaskStatus::Completed => TraceSpanStatus::Ok,
        TaskStatus::Failed => TraceSpanStatus::Error,
        TaskStatus::Canceled | TaskStatus::Superseded => TraceSpanStatus::Canceled,
    };
    let mut detail = row.status.as_str().to_owned();
    if let Some(phase) = row.phase {
        detail = format!("{detail}, phase {phase}");
    }
    if let Some((_, Some(unit))) = &row.parent {
        detail = format!("{detail}, unit {unit}");
    }
    let parent = row.parent.as_ref().map(|(task, _)| *task);
    let mut draft = DraftSpan::new(kind, row.id, &row.name, (row.created_at, row.ended_at));
    draft.span.id = task_span_id(row);
    draft.below(parents.find(None, None, parent)).with(status, detail)
}

pub(super) fn run_span(row: &TraceRun, parents: &Parents) -> DraftSpan {
    let status = match row.status {
        RunStatus::Pending | RunStatus::Running => TraceSpanStatus::Open,
        RunStatus::Completed => TraceSpanStatus::Ok,
        RunStatus::Failed => TraceSpanStatus::Error,
        RunStatus::Canceled => TraceSpanStatus::Canceled,
    };
    let mut detail = row.status.as_str().to_owned();
    if let Some(started) = row.started_at {
        let waited = millis_between(row.created_at, started);
        detail = format!("{detail}, claimed after {waited} ms");
    }
    DraftSpan::new(TraceSpanKind::Run, row.id, "run", (row.created_at, row.ended_at))
        .below(parents.find(None, None, Some(row.task)))
        .with(status, detail)
}

pub(super) fn transition_span(row: &TraceTransition, parents: &Parents) -> DraftSpan {
    let duration = TimeDelta::try_milliseconds(row.duration_ms).unwrap_or_default();
    let start = row.recorded_at.checked_sub_signed(duration).unwrap_or(row.recorded_at);
    let id = format!("{}/{}", row.run, row.sequence);
    DraftSpan::new(TraceSpanKind::Transition, id, &row.node, (start, Some(row.recorded_at)))
        .below(parents.find(None, Some(row.run), None))
        .with(TraceSpanStatus::Ok, format!("#{}, edge {}", row.sequence, row.edge))
}

pub(super) fn job_span(row: &TraceJob, parents: &Parents) -> DraftSpan {
    let status = match row.status {
        JobStatus::Queued | JobStatus::Running => TraceSpanStatus::Open,
        JobStatus::Completed => TraceSpanStatus::Ok,
        JobStatus::Failed | JobStatus::LeaseExpired => TraceSpanStatus::Error,
        JobStatus::Canceled => TraceSpanStatus::Canceled,
    };
    let node = row.node.as_deref().unwrap_or("no worker node");
    let mut detail = format!("{}, attempt {}, on {node}", row.status, row.attempt);
    if let Some(started) = row.started_at {
        let waited = millis_between(row.created_at, started);
        detail = format!("{detail}, started after {waited} ms");
    }
    let name = format!("step {}", row.step_index);
    DraftSpan::new(TraceSpanKind::Job, row.id, &name, (row.created_at, row.ended_at))
        .below(parents.find(None, Some(row.run), None))
        .with(status, detail)
}

/// An event that says how long something took ends when it was recorded.
pub(super) fn event_span(
    row: &TraceEventRow,
    parents: &Parents,
    profiles: &BTreeMap<ProfileId, String>,
) -> DraftSpan {
    let entry = &row.event.entry;
    let duration = match entry.fields.get(TraceField::DurationMs) {
        Some(TraceValue::Number(ms)) => TimeDelta::try_milliseconds(*ms),
        _ => None,
    };
    let at = row.event.at;
    let times = match duration {
        Some(duration) => (at.checked_sub_signed(duration).unwrap_or(at), Some(at)),
        None => (at, None),
    };
    let is_success = matches!(entry.stop, None | Some(TraceStop::GoalMet));
    let failed = matches!(
        entry.fields.get(TraceField::Outcome),
        Some(TraceValue::Word(word)) if word == "error"
    );
    let status = if entry.kind == TraceEventKind::Error || failed || !is_success {
        TraceSpanStatus::Error
    } else {
        TraceSpanStatus::Ok
    };
    let mut words = vec![row.event.actor.as_str().to_owned()];
    words.extend(row.handoff.as_ref().map(|handoff| format!("handoff={handoff}")));
    words.extend(row.event.profile.map(|id| match profiles.get(&id) {
        Some(name) => format!("profile={name}"),
        None => format!("profile={id}"),
    }));
    words.extend(entry.step_index.map(|index| format!("step={index}")));
    words.extend(entry.stop.map(|stop| format!("stop={stop}")));
    words.extend(entry.fields.iter().map(|(field, value)| match value {
        TraceValue::Number(number) => format!("{field}={number}"),
        TraceValue::Word(word) => format!("{field}={word}"),
        TraceValue::Words(list) => format!("{field}={}", list.join(",")),
    }));
    let mut draft = DraftSpan::new(TraceSpanKind::Event, row.id, entry.kind.as_str(), times)
        .below(parents.find(row.job, row.run, row.task))
        .with(status, words.join(" "));
    draft.span.profile_id = row.event.profile;
    draft
}

pub(super) fn decision_span(row: &ManagerDecision, parents: &Parents) -> DraftSpan {
    let mut detail = format!("handoff={} by={}", row.handoff, row.decided_by);
    if let Some(model) = &row.model {
        detail = format!("{detail} model={model}");
    }
    DraftSpan::new(TraceSpanKind::Decision, row.id, &row.purpose, (row.created_at, None))
        .below(parents.find(None, row.run, row.task))
        .with(TraceSpanStatus::Ok, detail)
}

pub(super) fn tool_call_span(row: &StoredCall, parents: &Parents) -> DraftSpan {
    let call = &row.call;
    let result = row.outcome.as_ref().map_or(call.status, |outcome| outcome.status);
    let status = match result {
        _ if row.is_pending_in_trace() => TraceSpanStatus::Open,
        CallStatus::Success => TraceSpanStatus::Ok,
        CallStatus::Pending => TraceSpanStatus::Unknown,
        CallStatus::Error => TraceSpanStatus::Error,
    };
    let error = row.outcome.as_ref().and_then(|outcome| outcome.error_type.as_ref());
    let error = error.or(call.error_type.as_ref());
    let mut detail = format!("{} by {}, {}", call.decision, call.caller.kind, call.server);
    if let Some(error) = error {
        detail = format!("{detail}, {error}");
    }
    let ms = row.outcome.as_ref().map_or(call.duration_ms, |outcome| outcome.duration_ms);
    let end = ms.map(|ms| end_of(call.created_at, ms));
    DraftSpan::new(TraceSpanKind::ToolCall, call.id, &call.tool, (call.created_at, end))
        .below(parents.find(call.binding.job, call.binding.run, call.binding.task))
        .with(status, detail)
}

pub(super) fn model_call_span(row: &InferenceCall, parents: &Parents) -> DraftSpan {
    let status = match row.outcome {
        InferenceOutcome::Open => TraceSpanStatus::Open,
        InferenceOutcome::Success => TraceSpanStatus::Ok,
        InferenceOutcome::Canceled => TraceSpanStatus::Canceled,
        InferenceOutcome::Failed | InferenceOutcome::Denied | InferenceOutcome::OverBudget => {
            TraceSpanStatus::Error
        }
    };
    let is_open = row.outcome == InferenceOutcome::Open;
    let end = (!is_open).then(|| end_of(row.created_at, row.latency_ms));
    let is_unpriced = row.cost_micro_usd.is_none()
        && matches!(row.outcome, InferenceOutcome::Success | InferenceOutcome::Canceled);
    let mut draft =
        DraftSpan::new(TraceSpanKind::ModelCall, row.id, &row.model, (row.created_at, end))
            .below(parents.find(parents.find_calling_job(row), row.run, row.task))
            .with(status, format!("{} for {}, {}", row.provider, row.purpose, row.outcome));
    draft.span.usage = Some(TraceUsage {
        model_calls: 1,
        input_tokens: row.input_tokens.unwrap_or(0),
        output_tokens: row.output_tokens.unwrap_or(0),
        cost_micro_usd: row.cost_micro_usd.unwrap_or(0),
        unpriced_calls: i64::from(is_unpriced),
    });
    draft
}
