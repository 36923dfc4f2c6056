//! Runs as people see them: where each stands, who drives it, and what it waits for.

use std::fmt::Write as _;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{HolderId, ProjectId, RunId, TaskId, UserId};
use cynode_domain::run::RunState;

use crate::column::Row;
use crate::param::{Param, params};
use crate::quarantine::tables;
use crate::runs::recorded;
use crate::workflow::transition;
use crate::{Error, RecordedRun, Transition, Tx};

/// A run and where it stands at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRun {
    /// The run and its times.
    pub recorded: RecordedRun,
    /// Its task.
    pub task: RunTask,
    /// Where it stands.
    pub state: RunState,
    /// The newest transition, while the run is the newest of its task.
    pub place: Option<Place>,
    /// Who drives it.
    pub held: Option<HeldBy>,
    /// When somebody asked it to pause.
    pub paused_at: Option<DateTime<Utc>>,
    /// Why the last runner put it down, and until when it is left alone.
    pub put_down: Option<(String, Option<DateTime<Utc>>)>,
    /// The version of the graph that drives it.
    pub graph_version: Option<u32>,
    /// The run and the row of it that this run went on from.
    pub parent: Option<(RunId, i64)>,
}

/// The task of a run, as far as a list needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTask {
    /// Its name.
    pub name: String,
    /// Its project.
    pub project: ProjectId,
    /// Who asked for it.
    pub created_by: UserId,
}

/// The newest transition of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its number, from 1.
    pub sequence: i64,
    /// The node that completed.
    pub node: String,
    /// The edge taken out of it.
    pub edge: String,
}

/// Who drives a run, and until when unless it is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldBy {
    /// The runner.
    pub holder: HolderId,
    /// The epoch of its lease.
    pub epoch: i64,
    /// The end of its lease.
    pub expires_at: DateTime<Utc>,
}

/// Which runs a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Of tasks of this user; of everybody when absent.
    pub created_by: Option<UserId>,
    /// Of this task.
    pub task: Option<TaskId>,
    /// Of tasks of this project.
    pub project: Option<ProjectId>,
    /// In this state.
    pub state: Option<RunState>,
    /// Older than this one.
    pub before: Option<RunId>,
    /// At most this many.
    pub limit: u32,
}

/// Runs as people see them.
#[async_trait]
pub trait StandingStore {
    /// A run and where it stands.
    async fn run_standing(&mut self, id: RunId) -> Result<Option<StandingRun>, Error>;
    /// A page of runs, newest first.
    async fn run_page(&mut self, filter: &RunFilter) -> Result<Vec<StandingRun>, Error>;
    /// How the engine would find these runs, in its own words.
    async fn run_page_plan(&mut self, filter: &RunFilter) -> Result<String, Error>;
    /// The newest row of a node, up to row `until`.
    async fn history_find(
        &mut self,
        run: RunId,
        node: &str,
        until: i64,
    ) -> Result<Option<i64>, Error>;
    /// Transitions `from` to `to` of a run, oldest first.
    async fn history_range(
        &mut self,
        run: RunId,
        from: i64,
        to: i64,
    ) -> Result<Vec<Transition>, Error>;
}

/// A lease is live by the clock of the database; what a run waits for is said by its task and its
/// own row. An ended run waits for nothing, whatever it waited for before.
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

pub(crate) const STANDING: &str = concat!(
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

/// Only the wanted conditions stand in the statement, so that each engine plans for its index. What a state
/// says of the run's own row stands there as well: the indexes are about that.
fn page_statement(filter: &RunFilter) -> (String, Vec<Param>) {
    let mut params: Vec<Param> = vec![];
    let mut sql = format!("{STANDING} WHERE 1 = 1");
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

#[async_trait]
impl StandingStore for Tx {
    async fn run_standing(&mut self, id: RunId) -> Result<Option<StandingRun>, Error> {
        let sql = format!("{STANDING} WHERE r.id = $1");
        self.one(&tables::RUNS, &sql, params![id], standing).await
    }

    async fn run_page(&mut self, filter: &RunFilter) -> Result<Vec<StandingRun>, Error> {
        let (sql, params) = page_statement(filter);
        self.page(&tables::RUNS, &sql, &params, standing).await
    }

    async fn run_page_plan(&mut self, filter: &RunFilter) -> Result<String, Error> {
        let (sql, params) = page_statement(filter);
        self.plan(&sql, &params).await
    }

    async fn history_find(
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

    async fn history_range(
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

pub(crate) fn standing(row: &Row) -> Result<StandingRun, Error> {
    let version: Option<i64> = row.get("graph_version")?;
    let put_down: Option<String> = row.get("put_down_reason")?;
    let not_before = row.get("not_before")?;
    let parent: Option<RunId> = row.id_opt("parent_run_id")?;
    let parent_sequence: Option<i64> = row.get("parent_sequence")?;
    Ok(StandingRun {
        recorded: recorded(row)?,
        task: RunTask {
            name: row.get("name")?,
            project: row.id("project_id")?,
            created_by: row.id("created_by")?,
        },
        state: row.word("state")?,
        place: place(row)?,
        held: held(row)?,
        paused_at: row.get("paused_at")?,
        put_down: put_down.map(|reason| (reason, not_before)),
        graph_version: version.and_then(|version| u32::try_from(version).ok()),
        parent: parent.zip(parent_sequence),
    })
}

fn place(row: &Row) -> Result<Option<Place>, Error> {
    let Some(sequence) = row.get("sequence")? else {
        return Ok(None);
    };
    Ok(Some(Place { sequence, node: row.get("last_node_id")?, edge: row.get("edge")? }))
}

fn held(row: &Row) -> Result<Option<HeldBy>, Error> {
    let Some(holder) = row.id_opt("holder_id")? else {
        return Ok(None);
    };
    Ok(Some(HeldBy { holder, epoch: row.get("epoch")?, expires_at: row.get("expires_at")? }))
}
