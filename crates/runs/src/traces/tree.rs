//! Arranges the rows of a trace as a tree.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};
use cynode_audit::StoredCall;
use cynode_domain::ids::{JobId, ProfileId, RunId, TaskId, TraceId};
use cynode_store::{
    ChatRecord, InferenceCall, ManagerDecision, TraceCounts, TraceEventRow, TraceJob, TraceRun,
    TraceTask, TraceTransition,
};
use cynode_wire::traces::{
    OmittedSpans, TraceSpan, TraceSpanKind, TraceSpanStatus, TraceUsage, TraceView,
};

use super::spans::{
    DraftSpan, chat_turn_span, decision_span, event_span, job_span, model_call_span, run_span,
    task_span, tool_call_span, transition_span,
};

/// The rows of a trace, each list limited, and how many there are.
#[derive(Debug, Default)]
pub(super) struct TraceRows {
    pub(super) tasks: Vec<TraceTask>,
    pub(super) runs: Vec<TraceRun>,
    pub(super) transitions: Vec<TraceTransition>,
    pub(super) jobs: Vec<TraceJob>,
    pub(super) events: Vec<TraceEventRow>,
    pub(super) tool_calls: Vec<StoredCall>,
    pub(super) model_calls: Vec<InferenceCall>,
    pub(super) decisions: Vec<ManagerDecision>,
    pub(super) chat_turns: Vec<ChatRecord>,
    pub(super) counts: TraceCounts,
    /// Names of the profiles of the events.
    pub(super) profiles: BTreeMap<ProfileId, String>,
}

/// The span of a row.
pub(super) fn span_id(kind: TraceSpanKind, id: impl std::fmt::Display) -> String {
    format!("{}:{id}", kind.as_str())
}

/// Where the spans of other rows are attached.
#[derive(Debug, Default)]
pub(super) struct Parents {
    tasks: HashMap<TaskId, String>,
    runs: HashMap<RunId, String>,
    jobs: HashMap<JobId, String>,
    /// The chat turn, if the trace has exactly one.
    root: Option<String>,
}

impl Parents {
    /// The span of the innermost of these rows that is shown.
    pub(super) fn find(
        &self,
        job: Option<JobId>,
        run: Option<RunId>,
        task: Option<TaskId>,
    ) -> Option<String> {
        let job = job.and_then(|job| self.jobs.get(&job));
        let run = || run.and_then(|run| self.runs.get(&run));
        let task = || task.and_then(|task| self.tasks.get(&task));
        job.or_else(run).or_else(task).or(self.root.as_ref()).cloned()
    }
}

/// Builds the view; `None` if no row is visible.
pub(super) fn build_trace(trace: TraceId, rows: &TraceRows) -> Option<TraceView> {
    let parents = index_parents(rows);
    let mut drafts: Vec<DraftSpan> = Vec::new();
    drafts.extend(rows.chat_turns.iter().map(chat_turn_span));
    drafts.extend(rows.tasks.iter().map(|row| task_span(row, &parents)));
    drafts.extend(rows.runs.iter().map(|row| run_span(row, &parents)));
    drafts.extend(rows.transitions.iter().map(|row| transition_span(row, &parents)));
    drafts.extend(rows.jobs.iter().map(|row| job_span(row, &parents)));
    drafts.extend(rows.events.iter().map(|row| event_span(row, &parents, &rows.profiles)));
    drafts.extend(rows.decisions.iter().map(|row| decision_span(row, &parents)));
    drafts.extend(rows.tool_calls.iter().map(|row| tool_call_span(row, &parents)));
    drafts.extend(rows.model_calls.iter().map(|row| model_call_span(row, &parents)));
    drafts.sort_by(|a, b| {
        (a.start, a.span.kind, &a.span.id).cmp(&(b.start, b.span.kind, &b.span.id))
    });
    let started_at = drafts.first()?.start;
    let last =
        drafts.iter().filter_map(|draft| draft.end).chain(drafts.iter().map(|it| it.start)).max();
    let spans = sum_up(drafts.into_iter().map(|draft| draft.into_span(started_at)).collect());
    let calls = rows.counts.model_calls;
    Some(TraceView {
        trace_id: trace,
        started_at,
        duration_ms: last.map_or(0, |last| millis_between(started_at, last)),
        is_open: spans.iter().any(|span| span.status == TraceSpanStatus::Open),
        usage: TraceUsage {
            model_calls: calls.calls,
            input_tokens: calls.input_tokens,
            output_tokens: calls.output_tokens,
            cost_micro_usd: calls.cost_micro_usd,
            unpriced_calls: calls.unpriced,
        },
        omitted: list_omitted(rows),
        unknown: list_unknown(rows),
        spans,
    })
}

fn index_parents(rows: &TraceRows) -> Parents {
    let tasks = rows.tasks.iter().map(|task| (task.id, task_span_id(task)));
    let runs = rows.runs.iter().map(|run| (run.id, span_id(TraceSpanKind::Run, run.id)));
    let jobs = rows.jobs.iter().map(|job| (job.id, span_id(TraceSpanKind::Job, job.id)));
    let root = match rows.chat_turns.as_slice() {
        [turn] => Some(span_id(TraceSpanKind::ChatTurn, turn.id)),
        _ => None,
    };
    Parents { tasks: tasks.collect(), runs: runs.collect(), jobs: jobs.collect(), root }
}

pub(super) fn task_span_id(task: &TraceTask) -> String {
    let kind = if task.phase.is_some() { TraceSpanKind::Request } else { TraceSpanKind::Task };
    span_id(kind, task.id)
}

/// Adds the usage of every span to the spans above it.
fn sum_up(mut spans: Vec<TraceSpan>) -> Vec<TraceSpan> {
    let places: HashMap<String, usize> =
        spans.iter().enumerate().map(|(place, span)| (span.id.clone(), place)).collect();
    let own: Vec<(usize, TraceUsage)> =
        spans.iter().enumerate().filter_map(|(place, span)| Some((place, span.usage?))).collect();
    for (place, usage) in own {
        let mut seen = HashSet::from([place]);
        let mut above = place;
        while let Some(parent) = spans[above].parent_id.as_ref().and_then(|id| places.get(id)) {
            above = *parent;
            if !seen.insert(above) {
                break;
            }
            spans[above].usage.get_or_insert_default().add(usage);
        }
    }
    spans
}

fn list_omitted(rows: &TraceRows) -> Vec<OmittedSpans> {
    let counts = &rows.counts;
    let lists = [
        (TraceSpanKind::Task, rows.tasks.len(), counts.tasks),
        (TraceSpanKind::Run, rows.runs.len(), counts.runs),
        (TraceSpanKind::Transition, rows.transitions.len(), counts.transitions),
        (TraceSpanKind::Job, rows.jobs.len(), counts.jobs),
        (TraceSpanKind::Event, rows.events.len(), counts.events),
        (TraceSpanKind::Decision, rows.decisions.len(), counts.decisions),
        (TraceSpanKind::ToolCall, rows.tool_calls.len(), counts.tool_calls),
        (TraceSpanKind::ModelCall, rows.model_calls.len(), counts.model_calls.calls),
    ];
    let omitted = lists.into_iter().filter_map(|(kind, shown, total)| {
        let shown = i64::try_from(shown).unwrap_or(i64::MAX);
        (total > shown).then_some(OmittedSpans { kind, shown, total })
    });
    omitted.collect()
}

fn list_unknown(rows: &TraceRows) -> Vec<String> {
    let mut unknown = Vec::new();
    let unpriced = rows.counts.model_calls.unpriced;
    if unpriced > 0 {
        unknown.push(format!(
            "The price of {unpriced} model calls is not known: the cost is a lower bound."
        ));
    }
    let open = rows.tool_calls.iter().filter(|call| call.is_pending_in_trace()).count();
    if open > 0 {
        unknown.push(format!(
            "{open} tool calls have no outcome: they run, or their process ended first."
        ));
    }
    let with_events: HashSet<JobId> = rows.events.iter().filter_map(|event| event.job).collect();
    let silent =
        rows.jobs.iter().filter(|job| job.ended_at.is_some() && !with_events.contains(&job.id));
    let silent = silent.count();
    if silent > 0 {
        unknown.push(format!(
            "{silent} jobs recorded no steps of an agent: they had no agent, or it recorded none."
        ));
    }
    unknown
}

/// Milliseconds between two times; never negative, because clocks of several machines differ.
pub(super) fn millis_between(from: DateTime<Utc>, to: DateTime<Utc>) -> i64 {
    (to - from).num_milliseconds().max(0)
}

/// Whether a call was allowed and has no outcome.
pub(super) trait PendingCall {
    fn is_pending_in_trace(&self) -> bool;
}

impl PendingCall for StoredCall {
    fn is_pending_in_trace(&self) -> bool {
        self.outcome.is_none() && self.call.status == cynode_domain::policy::CallStatus::Pending
    }
}
