//! Work plans and their work units.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{AgentId, TaskId};
use cynode_domain::status::WorkUnitStatus;
use cynode_domain::work::{UnitKind, WorkComponent};
use serde_json::{Value, json};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// The decomposition of a task. Each task has at most one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkPlan {
    pub task: TaskId,
    /// The issue it was created from.
    pub issue_number: Option<i64>,
    /// As given.
    pub components: Vec<WorkComponent>,
    pub created_at: DateTime<Utc>,
    /// When its last unit was completed.
    pub completed_at: Option<DateTime<Utc>>,
}

/// A piece of work for one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkUnit {
    pub task: TaskId,
    /// The id within the task, such as `impl:auth`.
    pub id: String,
    /// The index in the plan.
    pub position: u32,
    pub component: String,
    pub kind: UnitKind,
    pub status: WorkUnitStatus,
    /// The role that does it.
    pub role: String,
    /// The agent that started it.
    pub agent: Option<AgentId>,
    /// The unit whose result it builds on.
    pub parent: Option<String>,
    /// The submitted file.
    pub artifact_path: Option<String>,
    /// The summary of the submission.
    pub summary: Option<String>,
    /// Details of the submission.
    pub metadata: Option<Value>,
    /// Notes for the successor.
    pub notes: Option<String>,
    /// How often a revision was requested.
    pub revision_count: u32,
    /// Why the last revision was requested.
    pub revision_feedback: Option<Value>,
    /// When it was assigned to its role.
    pub assigned_at: Option<DateTime<Utc>>,
    pub completed_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
}

/// Work plans and their work units. A closed unit is immutable.
impl Tx {
    /// Adds a plan with its units; returns false if the task has one.
    pub async fn work_plan_insert(
        &mut self,
        plan: &WorkPlan,
        units: &[WorkUnit],
    ) -> Result<bool, Error> {
        let sql = "INSERT INTO work_plans (task_id, issue_number, components, created_at,
                   completed_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (task_id) DO NOTHING";
        let params = params![
            plan.task,
            plan.issue_number,
            json!(plan.components),
            plan.created_at,
            plan.completed_at
        ];
        if self.execute(sql, params).await? == 0 {
            return Ok(false);
        }
        for unit in units {
            unit_insert(self, unit).await?;
        }
        Ok(true)
    }

    /// Returns the plan of a task.
    pub async fn work_plan_get(&mut self, task: TaskId) -> Result<Option<WorkPlan>, Error> {
        let sql = "SELECT * FROM work_plans WHERE task_id = $1";
        self.one(&tables::WORK_PLANS, sql, params![task], plan).await
    }

    /// Marks the plan as completed.
    pub async fn work_plan_complete(
        &mut self,
        task: TaskId,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE work_plans SET completed_at = $2
                   WHERE task_id = $1 AND completed_at IS NULL";
        Ok(self.execute(sql, params![task, at]).await? == 1)
    }

    /// Returns one unit of a task.
    pub async fn work_unit_get(
        &mut self,
        task: TaskId,
        id: &str,
    ) -> Result<Option<WorkUnit>, Error> {
        let sql = "SELECT * FROM work_units WHERE task_id = $1 AND unit_id = $2";
        self.one(&tables::WORK_UNITS, sql, params![task, id], unit).await
    }

    /// Lists the units of a task, in the order of its plan.
    pub async fn work_unit_list(&mut self, task: TaskId) -> Result<Vec<WorkUnit>, Error> {
        let sql = "SELECT * FROM work_units WHERE task_id = $1 ORDER BY position";
        self.all(&tables::WORK_UNITS, sql, params![task], unit).await
    }

    /// Updates an open unit; returns false if it is closed.
    pub async fn work_unit_update(&mut self, unit: &WorkUnit) -> Result<bool, Error> {
        let sql = "UPDATE work_units SET status = $3, closed = $4, agent_id = $5,
                   artifact_path = $6, summary = $7, metadata = $8, notes = $9,
                   revision_count = $10, revision_feedback = $11, assigned_at = $12,
                   completed_at = $13, updated_at = $14
                   WHERE task_id = $1 AND unit_id = $2 AND NOT closed";
        let params = params![
            unit.task,
            &unit.id,
            unit.status,
            unit.status.is_terminal(),
            unit.agent,
            unit.artifact_path.clone(),
            unit.summary.clone(),
            unit.metadata.clone(),
            unit.notes.clone(),
            unit.revision_count,
            unit.revision_feedback.clone(),
            unit.assigned_at,
            unit.completed_at,
            unit.updated_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }
}

async fn unit_insert(tx: &mut Tx, unit: &WorkUnit) -> Result<(), Error> {
    let sql = "INSERT INTO work_units (task_id, unit_id, position, component, kind, status, closed,
               role, agent_id, parent_unit_id, artifact_path, summary, metadata, notes,
               revision_count, revision_feedback, assigned_at, completed_at, updated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
               $18, $19)";
    let params = params![
        unit.task,
        &unit.id,
        unit.position,
        &unit.component,
        unit.kind,
        unit.status,
        unit.status.is_terminal(),
        &unit.role,
        unit.agent,
        unit.parent.clone(),
        unit.artifact_path.clone(),
        unit.summary.clone(),
        unit.metadata.clone(),
        unit.notes.clone(),
        unit.revision_count,
        unit.revision_feedback.clone(),
        unit.assigned_at,
        unit.completed_at,
        unit.updated_at,
    ];
    tx.execute(sql, params).await.map(drop)
}

pub(crate) fn plan(row: &Row) -> Result<WorkPlan, Error> {
    Ok(WorkPlan {
        task: row.id("task_id")?,
        issue_number: row.get("issue_number")?,
        components: row.json("components")?,
        created_at: row.get("created_at")?,
        completed_at: row.get("completed_at")?,
    })
}

pub(crate) fn unit(row: &Row) -> Result<WorkUnit, Error> {
    Ok(WorkUnit {
        task: row.id("task_id")?,
        id: row.get("unit_id")?,
        position: row.count("position")?,
        component: row.get("component")?,
        kind: row.keyword("kind")?,
        status: row.keyword("status")?,
        role: row.get("role")?,
        agent: row.id_opt("agent_id")?,
        parent: row.get("parent_unit_id")?,
        artifact_path: row.get("artifact_path")?,
        summary: row.get("summary")?,
        metadata: row.get("metadata")?,
        notes: row.get("notes")?,
        revision_count: row.count("revision_count")?,
        revision_feedback: row.get("revision_feedback")?,
        assigned_at: row.get("assigned_at")?,
        completed_at: row.get("completed_at")?,
        updated_at: row.get("updated_at")?,
    })
}
