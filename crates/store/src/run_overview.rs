//! Runs as people see them: state, holder of the lease, and what the run waits for.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{HolderId, ProjectId, RunId, TaskId, UserId};
use cynode_domain::run::RunState;

use crate::quarantine::tables;
use crate::runs::read_run_record;
use crate::workflow::transition;
use crate::{Error, RunRecord, Transition, Tx};
use cynode_sql::Row;
use cynode_sql::{Param, params};

/// A run with its current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOverview {
    /// The run and its timestamps.
    pub record: RunRecord,
    pub task: RunTaskSummary,
    pub state: RunState,
    /// The newest transition, if the run is the newest of its task.
    pub position: Option<RunPosition>,
    /// The runner that holds the lease.
    pub lease: Option<LeaseHolder>,
    /// When a pause was requested.
    pub paused_at: Option<DateTime<Utc>>,
    /// Why the last runner suspended it, and until when it is not claimed.
    pub suspension: Option<(String, Option<DateTime<Utc>>)>,
    /// The version of the workflow graph.
    pub graph_version: Option<u32>,
    /// The run, and its transition, from which this run was branched.
    pub parent: Option<(RunId, i64)>,
}

/// The task of a run, as shown in lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTaskSummary {
    pub name: String,
    pub project: ProjectId,
    pub created_by: UserId,
}

/// The newest transition of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPosition {
    /// Its number, from 1.
    pub sequence: i64,
    pub node: String,
    pub edge: String,
}

/// The holder of a run's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseHolder {
    pub holder: HolderId,
    pub epoch: i64,
    /// When the lease expires, unless it is renewed.
    pub expires_at: DateTime<Utc>,
}

/// Selects runs of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only tasks of this user; all users if absent.
    pub created_by: Option<UserId>,
    pub task: Option<TaskId>,
    pub project: Option<ProjectId>,
    pub state: Option<RunState>,
    /// Only runs older than this one.
    pub before: Option<RunId>,
    pub limit: u32,
}

/// The state of a run. A lease is live by the clock of the database. The task and the run's own row tell what a
/// run waits for; an ended run waits for nothing.
macro_rules! state {
    () => {
        "CASE WHEN NOT r.runnable THEN r.status
            WHEN t.paused_at IS NOT NULL AND l.holder_id IS NOT NULL THEN 'pausing'
            WHEN t.paused_at IS NOT NULL THEN 'paused'
            WHEN l.holder_id IS NOT NULL THEN 'running'
            WHEN r.waits_for = 'answer' THEN 'needs_answer'
            WHEN r.waits_for = 'dependencies' THEN 'waiting'
            ELSE 'queued' END"
    };
}

pub(crate) const RUN_OVERVIEW: &str = concat!(
    "SELECT r.id, r.task_id, r.trace_id, r.status, r.created_at, r.started_at,
        r.ended_at, r.graph_version, r.parent_run_id, r.parent_sequence, r.put_down_reason,
        r.not_before, t.name, t.project_id, t.created_by, t.paused_at,
        c.sequence, c.last_node_id, c.edge, l.holder_id, l.epoch, l.expires_at, ",
    state!(),
    " AS state
    FROM runs r JOIN tasks t ON t.id = r.task_id
    LEFT JOIN task_workflow_leases l ON l.task_id = r.task_id AND l.run_id = r.id
        AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now()
    LEFT JOIN workflow_checkpoints c ON c.task_id = r.task_id AND c.run_id = r.id
        AND c.sequence > 0"
);

/// The statement contains only the requested conditions, so each engine can plan for an index. The conditions
/// of a state on the run's own row are repeated, because the indexes cover these.
fn page_statement(filter: &RunFilter) -> (String, Vec<Param>) {
    let mut params: Vec<Param> = vec![];
    let mut sql = format!("{RUN_OVERVIEW} WHERE 1 = 1");
    let mut wanted = |condition: &str, value: Option<Param>| {
        if let Some(value) = value {
            params.push(value);
            let _ = write!(sql, " AND {condition} ${}", params.len());
        }
    };
    wanted("t.created_by =", filter.created_by.map(Into::into));
    wanted("r.task_id =", filter.task.map(Into::into));
    wanted("t.project_id =", filter.project.map(Into::into));
    wanted("r.id <", filter.before.map(Into::into));
    wanted(concat!(state!(), " ="), filter.state.map(|state| state.as_str().into()));
    let mut order = "r.id DESC";
    match filter.state {
        None => {}
        Some(RunState::NeedsAnswer) => sql.push_str(" AND r.runnable AND r.waits_for = 'answer'"),
        Some(RunState::Waiting) => {
            sql.push_str(" AND r.runnable AND r.waits_for = 'dependencies'");
        }
        Some(RunState::Queued | RunState::Running | RunState::Pausing | RunState::Paused) => {
            sql.push_str(" AND r.runnable");
        }
        Some(ended @ (RunState::Completed | RunState::Failed | RunState::Canceled)) => {
            params.push(ended.as_str().into());
            let number = params.len();
            let _ = write!(
                sql,
                " AND NOT r.runnable AND r.status >= ${number} AND r.status <= ${number}"
            );
            order = "r.status DESC, r.id DESC";
        }
    }
    params.push(filter.limit.into());
    let _ = write!(sql, " ORDER BY {order} LIMIT ${}", params.len());
    (sql, params)
}

impl Tx {
    /// Returns a run with its current state.
    pub async fn run_overview(&mut self, id: RunId) -> Result<Option<RunOverview>, Error> {
        let sql = format!("{RUN_OVERVIEW} WHERE r.id = $1");
        self.one(&tables::RUNS, &sql, params![id], overview).await
    }

    /// Lists a page of runs, newest first.
    pub async fn run_page(&mut self, filter: &RunFilter) -> Result<Vec<RunOverview>, Error> {
        let (sql, params) = page_statement(filter);
        self.page(&tables::RUNS, &sql, &params, overview).await
    }

    /// Returns the query plan of the engine.
    pub async fn run_page_plan(&mut self, filter: &RunFilter) -> Result<String, Error> {
        let (sql, params) = page_statement(filter);
        self.plan(&sql, &params).await
    }

    /// Returns the newest transition of a workflow node, up to transition `until`.
    pub async fn history_find(
        &mut self,
        run: RunId,
        node: &str,
        until: i64,
    ) -> Result<Option<i64>, Error> {
        let sql = "SELECT sequence FROM workflow_history
                   WHERE run_id = $1 AND node_id = $2 AND sequence <= $3
                   ORDER BY sequence DESC LIMIT 1";
        self.row(sql, params![run, node, until]).await?.map(|row| row.get("sequence")).transpose()
    }

    /// Lists transitions `from` to `to` of a run, oldest first.
    pub async fn history_range(
        &mut self,
        run: RunId,
        from: i64,
        to: i64,
    ) -> Result<Vec<Transition>, Error> {
        let sql = "SELECT * FROM workflow_history
                   WHERE run_id = $1 AND sequence BETWEEN $2 AND $3 ORDER BY sequence";
        self.all(&tables::HISTORY, sql, params![run, from, to], transition).await
    }
}

pub(crate) fn overview(row: &Row) -> Result<RunOverview, Error> {
    let version: Option<i64> = row.get("graph_version")?;
    let put_down: Option<String> = row.get("put_down_reason")?;
    let not_before = row.get("not_before")?;
    let parent: Option<RunId> = row.id_opt("parent_run_id")?;
    let parent_sequence: Option<i64> = row.get("parent_sequence")?;
    Ok(RunOverview {
        record: read_run_record(row)?,
        task: RunTaskSummary {
            name: row.get("name")?,
            project: row.id("project_id")?,
            created_by: row.id("created_by")?,
        },
        state: row.keyword("state")?,
        position: position(row)?,
        lease: lease_holder(row)?,
        paused_at: row.get("paused_at")?,
        suspension: put_down.map(|reason| (reason, not_before)),
        graph_version: version.and_then(|version| u32::try_from(version).ok()),
        parent: parent.zip(parent_sequence),
    })
}

fn position(row: &Row) -> Result<Option<RunPosition>, Error> {
    let Some(sequence) = row.get("sequence")? else {
        return Ok(None);
    };
    Ok(Some(RunPosition { sequence, node: row.get("last_node_id")?, edge: row.get("edge")? }))
}

fn lease_holder(row: &Row) -> Result<Option<LeaseHolder>, Error> {
    let Some(holder) = row.id_opt("holder_id")? else {
        return Ok(None);
    };
    Ok(Some(LeaseHolder { holder, epoch: row.get("epoch")?, expires_at: row.get("expires_at")? }))
}
