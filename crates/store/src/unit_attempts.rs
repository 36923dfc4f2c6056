//! The attempts at units and steps of submitted work; each is a child task.

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::status::TaskStatus;
use serde_json::Value;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// An attempt at a unit, or at another step of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitAttempt {
    /// The task of the request.
    pub task: TaskId,
    /// The unit, such as `impl:auth`, or the step, such as `context`.
    pub unit: String,
    /// From 1.
    pub number: u32,
    /// The order of all attempts of the request, from 1. The database sets it, whatever the clocks say.
    pub sequence: u32,
    pub child: TaskId,
    /// Its outcome; set together with `concluded_at`.
    pub outcome: Option<Value>,
    pub created_at: DateTime<Utc>,
    pub concluded_at: Option<DateTime<Utc>>,
}

/// An attempt with the status of its child task.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptStatus {
    pub attempt: UnitAttempt,
    pub status: TaskStatus,
    /// The summary of the child task, once it is closed.
    pub summary: Option<String>,
    /// The agent profile of the child task; absent for the built-in agent, and for steps without an agent.
    pub agent: Option<String>,
}

impl Tx {
    /// Adds an attempt as the last one of its request, which the caller has locked; returns false if it exists.
    pub async fn attempt_insert(&mut self, attempt: &UnitAttempt) -> Result<bool, Error> {
        let sql = "INSERT INTO unit_attempts
                   (task_id, unit_id, number, child_task_id, created_at, sequence)
                   VALUES ($1, $2, $3, $4, $5, (SELECT coalesce(max(sequence), 0) + 1
                       FROM unit_attempts WHERE task_id = $1)) ON CONFLICT DO NOTHING";
        let UnitAttempt { task, unit, number, child, created_at, .. } = attempt;
        let params = params![*task, unit, *number, *child, *created_at];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Lists the attempts of a request with the status of their child tasks, oldest first.
    pub async fn attempt_list(&mut self, task: TaskId) -> Result<Vec<AttemptStatus>, Error> {
        let sql = format!("{ATTEMPT} WHERE a.task_id = $1 ORDER BY a.sequence");
        // All or none: an attempt that is left out would be made again.
        self.all(&tables::UNIT_ATTEMPTS, &sql, params![task], attempt).await
    }

    /// Returns the attempt that a child task is.
    pub async fn attempt_of_child(
        &mut self,
        child: TaskId,
    ) -> Result<Option<AttemptStatus>, Error> {
        let sql = format!("{ATTEMPT} WHERE a.child_task_id = $1");
        self.one(&tables::UNIT_ATTEMPTS, &sql, params![child], attempt).await
    }

    /// Records the outcome of an attempt; returns false if one is recorded already.
    pub async fn attempt_conclude(
        &mut self,
        child: TaskId,
        outcome: &Value,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE unit_attempts SET outcome = $2, concluded_at = $3
                   WHERE child_task_id = $1 AND concluded_at IS NULL";
        Ok(self.execute(sql, params![child, outcome.clone(), at]).await? == 1)
    }

    /// Makes a task the child of another, for one of its units.
    pub async fn task_set_parent(
        &mut self,
        child: TaskId,
        parent: TaskId,
        unit: &str,
    ) -> Result<(), Error> {
        let sql = "UPDATE tasks SET parent_task_id = $2, work_unit_id = $3 WHERE id = $1";
        self.execute(sql, params![child, parent, unit]).await.map(drop)
    }

    /// Lists the open children of a task.
    pub async fn task_open_children(&mut self, parent: TaskId) -> Result<Vec<TaskId>, Error> {
        let sql = "SELECT id FROM tasks WHERE parent_task_id = $1 AND NOT closed ORDER BY id";
        let rows = self.rows(sql, params![parent]).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }
}

/// Selects attempts with the status of their child tasks.
pub(crate) const ATTEMPT: &str = "SELECT a.*, c.status AS child_status, c.summary AS child_summary,
    c.options AS child_options
    FROM unit_attempts a JOIN tasks c ON c.id = a.child_task_id";

pub(crate) fn attempt(row: &Row) -> Result<AttemptStatus, Error> {
    let options: Value = row.get("child_options")?;
    Ok(AttemptStatus {
        attempt: UnitAttempt {
            task: row.id("task_id")?,
            unit: row.get("unit_id")?,
            number: row.count("number")?,
            sequence: row.count("sequence")?,
            child: row.id("child_task_id")?,
            outcome: row.get("outcome")?,
            created_at: row.get("created_at")?,
            concluded_at: row.get("concluded_at")?,
        },
        status: row.keyword("child_status")?,
        summary: row.get("child_summary")?,
        agent: options["agent"]["profile"].as_str().map(str::to_owned),
    })
}
