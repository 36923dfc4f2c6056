//! Traces: one request from its start to its end, read from the rows that carry its id.
//!
//! Nothing is recorded for a trace alone, except what agents return: tasks, runs, transitions, jobs, tool calls,
//! model calls and decisions are rows that exist anyway, and [`tree`] arranges them.
//!
//! Invariants: a user sees what belongs to the user, and a trace without such a row does not exist; the number of statements
//! does not depend on the size of a trace; what is not shown is counted, and what was not recorded is said to be unknown.

mod spans;
mod tree;

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::{ProfileId, RunId, TaskId, TraceId};
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;
use cynode_store::{InferenceCall, TraceFilter, TraceListFilter, TraceProfile, TraceRun, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::traces::{
    DEFAULT_TRACE_SPANS, MAX_TRACE_SPANS, TraceListQuery, TraceQuery, TraceSummary, TraceView,
};

use self::tree::{TraceRows, build_trace};
use crate::{RunError, RunQueries};

/// Tool calls of a conversation are looked for from so long before its first row to so long after its last one.
const MARGIN: TimeDelta = TimeDelta::minutes(1);

impl RunQueries {
    /// Returns a trace as the caller may see it.
    pub async fn get_trace(
        &self,
        caller: &Caller,
        trace: TraceId,
        query: TraceQuery,
    ) -> Result<TraceView, RunError> {
        let limit = query.limit.unwrap_or(DEFAULT_TRACE_SPANS);
        if !(1..=MAX_TRACE_SPANS).contains(&limit) {
            let fault = format!("limit: must be from 1 to {MAX_TRACE_SPANS}");
            return Err(RunError::Invalid(vec![fault]));
        }
        let filter = TraceFilter { trace, owner: caller.own(), limit };
        let rows = self
            .store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, RunError>(load_rows(tx, &filter).await?) })
            })
            .await?;
        build_trace(trace, &rows).ok_or_else(|| RunError::TraceNotFound(trace))
    }

    /// Returns the profiles that the caller's rows of a trace belong to.
    pub async fn get_trace_profiles(
        &self,
        caller: &Caller,
        trace: TraceId,
    ) -> Result<Vec<TraceProfile>, RunError> {
        let owner = caller.user;
        let found = self.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RunError>(tx.trace_profiles(trace, owner).await?) })
        });
        found.await
    }

    /// Returns the trace of a run, else of a task, whose access was checked.
    pub async fn find_trace_of_work(
        &self,
        run: Option<RunId>,
        task: Option<TaskId>,
    ) -> Result<Option<TraceId>, RunError> {
        let found = self.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RunError>(tx.trace_of_work(run, task).await?) })
        });
        found.await
    }

    /// Returns a page of the traces that have a run, the one with the newest run first.
    pub async fn list_traces(
        &self,
        caller: &Caller,
        query: TraceListQuery,
    ) -> Result<Page<TraceSummary>, RunError> {
        let page = PageQuery { limit: query.limit, cursor: query.cursor };
        let request = PageRequest::<RunId>::parse(&page)?;
        let filter = TraceListFilter {
            owner: caller.own(),
            status: query.status,
            before: request.before,
            limit: request.fetch,
        };
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, RunError>(tx.trace_list(&filter).await?) })
            })
            .await?;
        Ok(request.page(found, |run| run.id.to_string(), summarize_trace))
    }
}

fn summarize_trace(run: TraceRun) -> TraceSummary {
    TraceSummary {
        trace_id: run.trace,
        run_id: run.id,
        task_id: run.task,
        name: run.name,
        status: run.status,
        created_at: run.created_at,
        ended_at: run.ended_at,
    }
}

/// Eleven statements, whatever the size of the trace.
async fn load_rows(tx: &mut Tx, filter: &TraceFilter) -> Result<TraceRows, cynode_store::Error> {
    let chat_turns = tx.trace_chat_turns(filter).await?;
    let decisions = tx.trace_decisions(filter).await?;
    let model_calls = tx.trace_model_calls(filter).await?;
    let moments = chat_turns
        .iter()
        .flat_map(|turn| [turn.created_at, end_of(turn.created_at, turn.duration_ms)])
        .chain(decisions.iter().map(|decision| decision.created_at))
        .chain(model_calls.iter().map(|call| end_of(call.created_at, call.latency_ms)))
        .chain(model_calls.iter().map(|call: &InferenceCall| call.created_at));
    let (first, last) = moments.fold((None, None), |(first, last), at| {
        (
            Some(first.map_or(at, |first: DateTime<Utc>| first.min(at))),
            Some(last.map_or(at, |last: DateTime<Utc>| last.max(at))),
        )
    });
    // Without such a row there is no conversation, and the span of time is empty.
    let window = match (first, last) {
        (Some(first), Some(last)) => (first - MARGIN, last + MARGIN),
        _ => (DateTime::UNIX_EPOCH, DateTime::UNIX_EPOCH),
    };
    let events = tx.trace_event_list(filter).await?;
    let used: BTreeSet<ProfileId> = events.iter().filter_map(|row| row.event.profile).collect();
    let used: Vec<ProfileId> = used.into_iter().collect();
    Ok(TraceRows {
        tasks: tx.trace_tasks(filter).await?,
        runs: tx.trace_runs(filter).await?,
        transitions: tx.trace_transitions(filter).await?,
        jobs: tx.trace_jobs(filter).await?,
        profiles: tx.profile_shown_names(&used).await?,
        events,
        tool_calls: tx.trace_tool_calls(filter, window).await?,
        counts: tx.trace_counts(filter, window).await?,
        chat_turns,
        decisions,
        model_calls,
    })
}

/// When something ended that took so long.
fn end_of(start: DateTime<Utc>, duration_ms: i64) -> DateTime<Utc> {
    let duration = TimeDelta::try_milliseconds(duration_ms).unwrap_or_default();
    start.checked_add_signed(duration).unwrap_or(start)
}
