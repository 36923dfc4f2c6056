//! Arranges the rows of a trace as a tree.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};
use cynode_audit::StoredCall;
use cynode_domain::ids::{JobId, ProfileId, RunId, TaskId, TraceId};
use cynode_domain::policy::Principal;
use cynode_execution::workflow::job_creation::is_attempt;
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
    /// When the attempts at the steps of each run were executed.
    attempts: HashMap<RunId, Vec<AttemptTimes>>,
    has_all_jobs: bool,
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

    /// The job whose agent made a call: the attempt of its run that was executed at that time. `None` if the agent of no job
    /// made it, or if it is not known which one did.
    ///
    /// The row of a call names its run. Attempts of a run follow each other, and the token of an agent ends with its job: of
    /// several attempts, the time decides.
    pub(super) fn find_calling_job(&self, call: &InferenceCall) -> Option<JobId> {
        if call.agent != Some(Principal::SANDBOX) {
            return None;
        }
        let at = call.created_at;
        let attempts = self.attempts.get(&call.run?)?;
        if let ([only], true) = (&attempts[..], self.has_all_jobs) {
            return Some(only.job);
        }
        let mut found =
            attempts.iter().filter(|it| it.start <= at && it.end.is_none_or(|end| at <= end));
        let first = found.next()?;
        found.next().is_none().then_some(first.job)
    }
}

/// When a job was executed.
#[derive(Debug, Clone, Copy)]
struct AttemptTimes {
    job: JobId,
    start: DateTime<Utc>,
    /// `None` while it runs.
    end: Option<DateTime<Utc>>,
}

impl AttemptTimes {
    /// `None` for a check, a command in the workspace and a job that has not started: no agent works in them.
    fn from_job(job: &TraceJob) -> Option<Self> {
        let number = |value: i64| u32::try_from(value).ok();
        let is_attempt = is_attempt(number(job.step_index)?, number(job.attempt)?);
        let start = job.started_at.filter(|_| is_attempt)?;
        Some(Self { job: job.id, start, end: job.ended_at })
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
    let mut attempts: HashMap<RunId, Vec<AttemptTimes>> = HashMap::new();
    for job in &rows.jobs {
        attempts.entry(job.run).or_default().extend(AttemptTimes::from_job(job));
    }
    let has_all_jobs = i64::try_from(rows.jobs.len()).is_ok_and(|shown| shown >= rows.counts.jobs);
    let (tasks, runs, jobs) = (tasks.collect(), runs.collect(), jobs.collect());
    Parents { tasks, runs, jobs, attempts, has_all_jobs, root }
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

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{InferenceId, UserId};
    use cynode_domain::model::InferenceOutcome;
    use cynode_domain::status::JobStatus;

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn attempt(run: RunId, attempt: i64, from: i64, to: Option<i64>) -> TraceJob {
        TraceJob {
            id: JobId::generate(),
            run,
            step_index: 0,
            attempt,
            status: JobStatus::Completed,
            node: None,
            created_at: at(0),
            started_at: Some(at(from)),
            ended_at: to.map(at),
        }
    }

    fn call(run: RunId, agent: Principal, second: i64) -> InferenceCall {
        InferenceCall {
            id: InferenceId::generate(),
            created_at: at(second),
            purpose: String::new(),
            agent: Some(agent),
            user: UserId::generate(),
            project: None,
            task: None,
            run: Some(run),
            thread: None,
            trace_id: String::new(),
            provider: String::new(),
            model: String::new(),
            prompt_hash: None,
            input_tokens: None,
            output_tokens: None,
            cost_micro_usd: None,
            is_estimate: false,
            latency_ms: 0,
            first_chunk_ms: None,
            outcome: InferenceOutcome::Success,
            error: None,
        }
    }

    #[test]
    fn a_call_of_a_sandbox_is_below_the_attempt_that_ran_when_it_was_made() {
        let run = RunId::generate();
        // A check runs beside the second attempt.
        let jobs = vec![
            attempt(run, 1, 10, Some(20)),
            attempt(run, 2, 30, None),
            attempt(run, 1001, 30, None),
        ];
        let ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
        let rows = TraceRows { jobs, ..TraceRows::default() };
        let parents = index_parents(&rows);
        let found = |agent, second| parents.find_calling_job(&call(run, agent, second));

        assert_eq!(found(Principal::SANDBOX, 15), Some(ids[0]));
        assert_eq!(found(Principal::SANDBOX, 99), Some(ids[1]));
        assert_eq!(found(Principal::SANDBOX, 25), None);
        assert_eq!(found(Principal::PM, 15), None);
    }
}
