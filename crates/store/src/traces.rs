//! Traces: what agents recorded, and the rows of every other table that carry the id of a trace.
//!
//! Invariants: every read takes the user who may see it, except for administrators; every list has a limit; the number of
//! statements of a trace does not depend on its size. Nothing here writes on the path of a transition or a tool call.

mod events;

use chrono::{DateTime, Utc};
use cynode_audit::StoredCall;
use cynode_domain::ids::{JobId, RunId, TaskId, TraceId, UserId};
use cynode_domain::status::{JobStatus, RequestPhase, RunStatus, TaskStatus};
use cynode_sql::Row;
use cynode_sql::params;

use crate::audit::{STORED_CALL, stored_call};
use crate::chat_records::record;
use crate::inferences::{InferenceSums, call, sums};
use crate::quarantine::tables;
use crate::{ChatRecord, Error, InferenceCall, ManagerDecision, Tx};
pub use events::TraceEventRow;
pub(crate) use events::trace_event;

/// What a read of a trace returns at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceFilter {
    pub trace: TraceId,
    /// Only what belongs to this user; everything if absent.
    pub owner: Option<UserId>,
    pub limit: u32,
}

/// A task of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceTask {
    pub id: TaskId,
    pub name: String,
    pub status: TaskStatus,
    /// The request that it is a part of, and the unit.
    pub parent: Option<(TaskId, Option<String>)>,
    /// The phase, if it is a request.
    pub phase: Option<RequestPhase>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// A run of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRun {
    pub id: RunId,
    pub trace: TraceId,
    pub task: TaskId,
    /// The name of the request that the task is a part of, else of the task.
    pub name: String,
    pub status: RunStatus,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// A transition of a run of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceTransition {
    pub run: RunId,
    pub sequence: i64,
    pub node: String,
    pub edge: String,
    pub job: Option<JobId>,
    pub duration_ms: i64,
    pub recorded_at: DateTime<Utc>,
}

/// A job of a run of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceJob {
    pub id: JobId,
    pub run: RunId,
    pub step_index: i64,
    pub attempt: i64,
    pub status: JobStatus,
    /// The name of the worker node.
    pub node: Option<String>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// How many rows a trace has, whatever the limit of a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceCounts {
    pub tasks: i64,
    pub runs: i64,
    pub transitions: i64,
    pub jobs: i64,
    pub events: i64,
    pub decisions: i64,
    pub tool_calls: i64,
    /// Of all model calls.
    pub model_calls: InferenceSums,
}

/// Selects traces of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceListFilter {
    /// Only those of this user; all if absent.
    pub owner: Option<UserId>,
    pub status: Option<RunStatus>,
    /// Only traces whose newest run is older than this one.
    pub before: Option<RunId>,
    pub limit: u32,
}

/// The tasks of a trace: those of its runs, and the request with this id and its child tasks.
macro_rules! tasks_of_trace {
    () => {
        "(SELECT r.task_id FROM runs r WHERE r.trace_id = $1
          UNION SELECT q.task_id FROM work_requests q WHERE q.task_id = $1
          UNION SELECT k.id FROM tasks k WHERE k.parent_task_id = $1)"
    };
}

/// The ids of the tool calls of a trace. `$3` to `$5` select calls of conversations, which have no task.
macro_rules! tool_calls_of_trace {
    () => {
        concat!(
            "(SELECT c.id FROM mcp_tool_call_audit_log c WHERE c.task_id IN ",
            tasks_of_trace!(),
            " AND (c.run_id IS NULL OR c.run_id IN (SELECT r.id FROM runs r WHERE r.trace_id = $1))
              UNION SELECT c.id FROM mcp_tool_call_audit_log c
              WHERE c.created_at >= $3 AND c.created_at <= $4 AND c.request_id = $5)"
        )
    };
}

/// The ids of the model calls of a trace.
macro_rules! model_calls_of_trace {
    ($text:literal) => {
        concat!(
            "(SELECT b.id FROM brain_calls b WHERE b.trace_id = ",
            $text,
            " UNION SELECT b.id FROM brain_calls b JOIN runs r ON r.id = b.run_id
              WHERE r.trace_id = $1)"
        )
    };
}

impl Tx {
    /// Lists the tasks of a trace, oldest first.
    pub async fn trace_tasks(&mut self, filter: &TraceFilter) -> Result<Vec<TraceTask>, Error> {
        let sql = concat!(
            "SELECT t.id, t.name, t.status, t.parent_task_id, t.work_unit_id, t.created_at,
                 t.started_at, t.ended_at, w.phase
             FROM tasks t LEFT JOIN work_requests w ON w.task_id = t.id WHERE t.id IN ",
            tasks_of_trace!(),
            " AND ($2 /*pg ::uuid */ IS NULL OR t.created_by = $2) ORDER BY t.id LIMIT $3"
        );
        let params = params![filter.trace, filter.owner, filter.limit];
        self.page(&tables::TASKS, sql, params, trace_task).await
    }

    /// Lists the runs of a trace, oldest first.
    pub async fn trace_runs(&mut self, filter: &TraceFilter) -> Result<Vec<TraceRun>, Error> {
        let sql = "SELECT r.*, coalesce(p.name, t.name) AS name
                   FROM runs r JOIN tasks t ON t.id = r.task_id
                   LEFT JOIN tasks p ON p.id = t.parent_task_id
                   WHERE r.trace_id = $1 AND ($2 /*pg ::uuid */ IS NULL OR t.created_by = $2)
                   ORDER BY r.id LIMIT $3";
        let params = params![filter.trace, filter.owner, filter.limit];
        self.page(&tables::RUNS, sql, params, trace_run).await
    }

    /// Lists the newest run of each trace, newest first.
    pub async fn trace_list(&mut self, filter: &TraceListFilter) -> Result<Vec<TraceRun>, Error> {
        let sql = "SELECT r.*, coalesce(p.name, t.name) AS name
                   FROM runs r JOIN tasks t ON t.id = r.task_id
                   LEFT JOIN tasks p ON p.id = t.parent_task_id
                   WHERE ($1 /*pg ::uuid */ IS NULL OR t.created_by = $1)
                   AND ($2 /*pg ::text */ IS NULL OR r.status = $2)
                   AND ($3 /*pg ::uuid */ IS NULL OR r.id < $3)
                   AND NOT EXISTS (SELECT 1 FROM runs n JOIN tasks m ON m.id = n.task_id
                       WHERE n.trace_id = r.trace_id AND n.id > r.id
                       AND ($1 /*pg ::uuid */ IS NULL OR m.created_by = $1))
                   ORDER BY r.id DESC LIMIT $4";
        let status = filter.status.map(|status| status.as_str().to_owned());
        let params = params![filter.owner, status, filter.before, filter.limit];
        self.page(&tables::RUNS, sql, params, trace_run).await
    }

    /// Lists the transitions of all runs of a trace, in the order in which they were recorded.
    pub async fn trace_transitions(
        &mut self,
        filter: &TraceFilter,
    ) -> Result<Vec<TraceTransition>, Error> {
        let sql =
            "SELECT h.run_id, h.sequence, h.node_id, h.edge, h.job_id, h.duration_ms, h.recorded_at
                   FROM workflow_history h JOIN runs r ON r.id = h.run_id
                   JOIN tasks t ON t.id = r.task_id
                   WHERE r.trace_id = $1 AND ($2 /*pg ::uuid */ IS NULL OR t.created_by = $2)
                   ORDER BY h.recorded_at, h.run_id, h.sequence LIMIT $3";
        let params = params![filter.trace, filter.owner, filter.limit];
        self.page(&tables::HISTORY, sql, params, trace_transition).await
    }

    /// Lists the jobs of all runs of a trace, oldest first, without payload and result.
    pub async fn trace_jobs(&mut self, filter: &TraceFilter) -> Result<Vec<TraceJob>, Error> {
        let sql = "SELECT j.id, j.run_id, j.step_index, j.attempt, j.status, n.node_slug,
                       j.created_at, j.started_at, j.ended_at
                   FROM jobs j JOIN runs r ON r.id = j.run_id JOIN tasks t ON t.id = r.task_id
                   LEFT JOIN nodes n ON n.id = j.node_id
                   WHERE r.trace_id = $1 AND ($2 /*pg ::uuid */ IS NULL OR t.created_by = $2)
                   ORDER BY j.id LIMIT $3";
        let params = params![filter.trace, filter.owner, filter.limit];
        self.page(&tables::JOBS, sql, params, trace_job).await
    }

    /// Lists the decisions of the project manager in a trace, oldest first.
    pub async fn trace_decisions(
        &mut self,
        filter: &TraceFilter,
    ) -> Result<Vec<ManagerDecision>, Error> {
        let sql = "SELECT * FROM pm_decisions WHERE trace_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR user_id = $2) ORDER BY id LIMIT $3";
        let params = params![filter.trace.to_string(), filter.owner, filter.limit];
        self.page(&tables::DECISIONS, sql, params, crate::decisions::decision).await
    }

    /// Lists the chat turns of a trace, oldest first.
    pub async fn trace_chat_turns(
        &mut self,
        filter: &TraceFilter,
    ) -> Result<Vec<ChatRecord>, Error> {
        let sql = "SELECT * FROM chat_audit_log WHERE request_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR user_id = $2) ORDER BY id LIMIT $3";
        let params = params![filter.trace.to_string(), filter.owner, filter.limit];
        self.page(&tables::CHAT_RECORDS, sql, params, record).await
    }

    /// Lists the model calls of a trace and of its runs, oldest first.
    pub async fn trace_model_calls(
        &mut self,
        filter: &TraceFilter,
    ) -> Result<Vec<InferenceCall>, Error> {
        let sql = concat!(
            "SELECT * FROM brain_calls WHERE id IN ",
            model_calls_of_trace!("$3"),
            " AND ($2 /*pg ::uuid */ IS NULL OR user_id = $2) ORDER BY id LIMIT $4"
        );
        let params = params![filter.trace, filter.owner, filter.trace.to_string(), filter.limit];
        self.page(&tables::INFERENCES, sql, params, call).await
    }

    /// Lists the tool calls of the tasks of a trace, and those that name the trace between two times, oldest first.
    pub async fn trace_tool_calls(
        &mut self,
        filter: &TraceFilter,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Result<Vec<StoredCall>, Error> {
        let sql = format!(
            "{STORED_CALL} WHERE c.id IN {} AND ($2 /*pg ::uuid */ IS NULL OR c.user_id = $2)
             ORDER BY c.created_at, c.id LIMIT $6",
            tool_calls_of_trace!()
        );
        let text = filter.trace.to_string();
        let params = params![filter.trace, filter.owner, from, to, text, filter.limit];
        self.page(&tables::AUDIT_CALLS, &sql, params, stored_call).await
    }

    /// Counts the rows of a trace, and sums its model calls, in one statement.
    pub async fn trace_counts(
        &mut self,
        filter: &TraceFilter,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Result<TraceCounts, Error> {
        let sql = concat!(
            "SELECT
             (SELECT count(*) FROM tasks t WHERE t.id IN ",
            tasks_of_trace!(),
            " AND ($2 /*pg ::uuid */ IS NULL OR t.created_by = $2)) AS tasks,
             (SELECT count(*) FROM runs r JOIN tasks t ON t.id = r.task_id WHERE r.trace_id = $1
                 AND ($2 /*pg ::uuid */ IS NULL OR t.created_by = $2)) AS runs,
             (SELECT count(*) FROM workflow_history h JOIN runs r ON r.id = h.run_id
                 JOIN tasks t ON t.id = r.task_id WHERE r.trace_id = $1
                 AND ($2 /*pg ::uuid */ IS NULL OR t.created_by = $2)) AS transitions,
             (SELECT count(*) FROM jobs j JOIN runs r ON r.id = j.run_id
                 JOIN tasks t ON t.id = r.task_id WHERE r.trace_id = $1
                 AND ($2 /*pg ::uuid */ IS NULL OR t.created_by = $2)) AS jobs,
             (SELECT count(*) FROM trace_events e WHERE e.trace_id = $1
                 AND ($2 /*pg ::uuid */ IS NULL OR e.user_id = $2)) AS events,
             (SELECT count(*) FROM pm_decisions d WHERE d.trace_id = $5
                 AND ($2 /*pg ::uuid */ IS NULL OR d.user_id = $2)) AS decisions,
             (SELECT count(*) FROM mcp_tool_call_audit_log a WHERE a.id IN ",
            tool_calls_of_trace!(),
            " AND ($2 /*pg ::uuid */ IS NULL OR a.user_id = $2)) AS tool_calls,
             count(*) AS calls,
             CAST(coalesce(sum(input_tokens), 0) AS bigint) AS input_tokens,
             CAST(coalesce(sum(output_tokens), 0) AS bigint) AS output_tokens,
             CAST(coalesce(sum(cost_micro_usd), 0) AS bigint) AS cost_micro_usd,
             CAST(coalesce(sum(CASE WHEN cost_micro_usd IS NULL
                 AND outcome IN ('success', 'canceled') THEN 1 ELSE 0 END), 0) AS bigint) AS unpriced
             FROM brain_calls WHERE id IN ",
            model_calls_of_trace!("$5"),
            " AND ($2 /*pg ::uuid */ IS NULL OR user_id = $2)"
        );
        let params = params![filter.trace, filter.owner, from, to, filter.trace.to_string()];
        let Some(row) = self.row(sql, params).await? else { return Ok(TraceCounts::default()) };
        Ok(TraceCounts {
            tasks: row.get("tasks")?,
            runs: row.get("runs")?,
            transitions: row.get("transitions")?,
            jobs: row.get("jobs")?,
            events: row.get("events")?,
            decisions: row.get("decisions")?,
            tool_calls: row.get("tool_calls")?,
            model_calls: sums(&row)?,
        })
    }
}

fn trace_task(row: &Row) -> Result<TraceTask, Error> {
    let parent: Option<TaskId> = row.id_opt("parent_task_id")?;
    let unit: Option<String> = row.get("work_unit_id")?;
    Ok(TraceTask {
        id: row.id("id")?,
        name: row.get("name")?,
        status: row.keyword("status")?,
        parent: parent.map(|parent| (parent, unit)),
        phase: row.keyword_opt("phase")?,
        created_at: row.get("created_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}

fn trace_run(row: &Row) -> Result<TraceRun, Error> {
    Ok(TraceRun {
        id: row.id("id")?,
        trace: row.id("trace_id")?,
        task: row.id("task_id")?,
        name: row.get("name")?,
        status: row.keyword("status")?,
        created_at: row.get("created_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}

fn trace_transition(row: &Row) -> Result<TraceTransition, Error> {
    Ok(TraceTransition {
        run: row.id("run_id")?,
        sequence: row.get("sequence")?,
        node: row.get("node_id")?,
        edge: row.get("edge")?,
        job: row.id_opt("job_id")?,
        duration_ms: row.get("duration_ms")?,
        recorded_at: row.get("recorded_at")?,
    })
}

fn trace_job(row: &Row) -> Result<TraceJob, Error> {
    Ok(TraceJob {
        id: row.id("id")?,
        run: row.id("run_id")?,
        step_index: row.get("step_index")?,
        attempt: row.get("attempt")?,
        status: row.keyword("status")?,
        node: row.get("node_slug")?,
        created_at: row.get("created_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}
