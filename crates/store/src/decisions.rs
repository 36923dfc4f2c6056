//! Decisions of the project manager.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{DecisionId, ProjectId, RunId, TaskId, ThreadId, UserId};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A decision and its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagerDecision {
    pub id: DecisionId,
    /// The kind of handoff in which it was made.
    pub handoff: String,
    pub user: UserId,
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub thread: Option<ThreadId>,
    /// Correlates the work across logs.
    pub trace_id: String,
    /// The purpose of the decision, as a keyword.
    pub purpose: String,
    /// `rule`, `model` or `fallback`.
    pub decided_by: String,
    /// The choice and the reason for it.
    pub reason: String,
    pub input_hash: String,
    /// The model that was called.
    pub model: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// Selects decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// Only decisions for this user; all users if absent.
    pub user: Option<UserId>,
    pub task: Option<TaskId>,
}

/// Decisions. They are append-only.
impl Tx {
    pub async fn decision_insert(&mut self, decision: &ManagerDecision) -> Result<(), Error> {
        let sql = "INSERT INTO pm_decisions (id, handoff, user_id, project_id, task_id, run_id,
                   thread_id, trace_id, purpose, decided_by, reason, input_hash, model, created_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
        let params = params![
            decision.id,
            &decision.handoff,
            decision.user,
            decision.project,
            decision.task,
            decision.run,
            decision.thread,
            &decision.trace_id,
            &decision.purpose,
            &decision.decided_by,
            &decision.reason,
            &decision.input_hash,
            decision.model.clone(),
            decision.created_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Lists the decisions about a task, oldest first.
    pub async fn decision_list(
        &mut self,
        task: TaskId,
        limit: u32,
    ) -> Result<Vec<ManagerDecision>, Error> {
        let sql = "SELECT * FROM pm_decisions WHERE task_id = $1 ORDER BY id LIMIT $2";
        self.page(&tables::DECISIONS, sql, params![task, limit], decision).await
    }

    /// Lists a page of decisions, newest first, older than `before`.
    pub async fn decision_page(
        &mut self,
        filter: DecisionFilter,
        before: Option<DecisionId>,
        limit: u32,
    ) -> Result<Vec<ManagerDecision>, Error> {
        let sql = "SELECT * FROM pm_decisions
                   WHERE ($1 /*pg ::uuid */ IS NULL OR user_id = $1)
                   AND ($2 /*pg ::uuid */ IS NULL OR task_id = $2)
                   AND ($3 /*pg ::uuid */ IS NULL OR id < $3)
                   ORDER BY id DESC LIMIT $4";
        self.page(
            &tables::DECISIONS,
            sql,
            params![filter.user, filter.task, before, limit],
            decision,
        )
        .await
    }
}

pub(crate) fn decision(row: &Row) -> Result<ManagerDecision, Error> {
    Ok(ManagerDecision {
        id: row.id("id")?,
        handoff: row.get("handoff")?,
        user: row.id("user_id")?,
        project: row.id_opt("project_id")?,
        task: row.id_opt("task_id")?,
        run: row.id_opt("run_id")?,
        thread: row.id_opt("thread_id")?,
        trace_id: row.get("trace_id")?,
        purpose: row.get("purpose")?,
        decided_by: row.get("decided_by")?,
        reason: row.get("reason")?,
        input_hash: row.get("input_hash")?,
        model: row.get("model")?,
        created_at: row.get("created_at")?,
    })
}
