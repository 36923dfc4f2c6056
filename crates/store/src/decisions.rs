//! What the project manager decided.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{DecisionId, ProjectId, RunId, TaskId, ThreadId, UserId};

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A decision, and what it was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The decision's id.
    pub id: DecisionId,
    /// The kind of handoff in which it was made.
    pub handoff: String,
    /// For which user.
    pub user: UserId,
    /// About which project.
    pub project: Option<ProjectId>,
    /// About which task.
    pub task: Option<TaskId>,
    /// In which run.
    pub run: Option<RunId>,
    /// In which conversation.
    pub thread: Option<ThreadId>,
    /// Follows the work through logs.
    pub trace_id: String,
    /// What was decided, as a word.
    pub purpose: String,
    /// `rule`, `model` or `fallback`.
    pub decided_by: String,
    /// What was chosen and why, in words.
    pub reason: String,
    /// The hash of what it rests on.
    pub input_hash: String,
    /// The model that was asked.
    pub model: Option<String>,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// Which decisions are looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// Those made for this user; everybody's when absent.
    pub user: Option<UserId>,
    /// Those about this task.
    pub task: Option<TaskId>,
}

/// Decisions. They are added and read, never changed.
#[async_trait]
pub trait DecisionStore {
    /// Adds a decision.
    async fn decision_insert(&mut self, decision: &Decision) -> Result<(), Error>;
    /// The decisions about a task, oldest first.
    async fn decision_list(&mut self, task: TaskId, limit: u32) -> Result<Vec<Decision>, Error>;
    /// A page of decisions, newest first, older than `before`.
    async fn decision_page(
        &mut self,
        filter: DecisionFilter,
        before: Option<DecisionId>,
        limit: u32,
    ) -> Result<Vec<Decision>, Error>;
}

#[async_trait]
impl DecisionStore for Tx {
    async fn decision_insert(&mut self, decision: &Decision) -> Result<(), Error> {
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

    async fn decision_list(&mut self, task: TaskId, limit: u32) -> Result<Vec<Decision>, Error> {
        let sql = "SELECT * FROM pm_decisions WHERE task_id = $1 ORDER BY id LIMIT $2";
        self.page(&tables::DECISIONS, sql, params![task, limit], decision).await
    }

    async fn decision_page(
        &mut self,
        filter: DecisionFilter,
        before: Option<DecisionId>,
        limit: u32,
    ) -> Result<Vec<Decision>, Error> {
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

pub(crate) fn decision(row: &Row) -> Result<Decision, Error> {
    Ok(Decision {
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
