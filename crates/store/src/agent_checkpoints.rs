//! Checkpoints of agents: saved progress from which the successor of an agent resumes.

use chrono::{DateTime, Utc};
use cynode_domain::agent::Role;
use cynode_domain::ids::{AgentId, CheckpointId, TaskId};
use serde_json::json;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// The saved progress of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCheckpoint {
    pub id: CheckpointId,
    pub task: TaskId,
    /// The role of the agent.
    pub role: Role,
    /// The agent instance that saved it.
    pub agent: AgentId,
    /// Progress, as free text.
    pub summary: String,
    pub completed_items: Vec<String>,
    pub pending_items: Vec<String>,
    /// The files the agent is editing.
    pub active_files: Vec<String>,
    /// Notes for the successor.
    pub notes: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// Agent checkpoints. The newest checkpoint of a role is current; a few older ones are kept.
impl Tx {
    /// Adds a checkpoint and deletes all but the newest `keep` of its role.
    pub async fn agent_checkpoint_insert(
        &mut self,
        checkpoint: &AgentCheckpoint,
        keep: u32,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO agent_checkpoints (id, task_id, role, agent_id, summary,
                   completed_items, pending_items, active_files, notes, created_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let params = params![
            checkpoint.id,
            checkpoint.task,
            checkpoint.role.as_str(),
            checkpoint.agent,
            &checkpoint.summary,
            json!(checkpoint.completed_items),
            json!(checkpoint.pending_items),
            json!(checkpoint.active_files),
            checkpoint.notes.clone(),
            checkpoint.created_at,
        ];
        self.execute(sql, params).await?;
        let sql = "DELETE FROM agent_checkpoints WHERE task_id = $1 AND role = $2 AND id NOT IN
                   (SELECT id FROM agent_checkpoints WHERE task_id = $1 AND role = $2
                    ORDER BY id DESC LIMIT $3)";
        let params = params![checkpoint.task, checkpoint.role.as_str(), keep];
        self.execute(sql, params).await.map(drop)
    }

    /// Lists the newest checkpoint of each child of a task.
    pub async fn agent_checkpoints_of_children(
        &mut self,
        parent: TaskId,
    ) -> Result<Vec<AgentCheckpoint>, Error> {
        let sql = "SELECT c.* FROM agent_checkpoints c JOIN tasks t ON t.id = c.task_id
                   WHERE t.parent_task_id = $1 AND NOT EXISTS (SELECT 1 FROM agent_checkpoints n
                       WHERE n.task_id = c.task_id AND n.id > c.id)";
        self.list(&tables::AGENT_CHECKPOINTS, sql, params![parent], checkpoint).await
    }

    /// Lists the checkpoints of a role, newest first.
    pub async fn agent_checkpoint_list(
        &mut self,
        task: TaskId,
        role: &Role,
        limit: u32,
    ) -> Result<Vec<AgentCheckpoint>, Error> {
        let sql = "SELECT * FROM agent_checkpoints WHERE task_id = $1 AND role = $2
                   ORDER BY id DESC LIMIT $3";
        self.page(&tables::AGENT_CHECKPOINTS, sql, params![task, role.as_str(), limit], checkpoint)
            .await
    }
}

pub(crate) fn checkpoint(row: &Row) -> Result<AgentCheckpoint, Error> {
    Ok(AgentCheckpoint {
        id: row.id("id")?,
        task: row.id("task_id")?,
        role: row.keyword("role")?,
        agent: row.id("agent_id")?,
        summary: row.get("summary")?,
        completed_items: row.json("completed_items")?,
        pending_items: row.json("pending_items")?,
        active_files: row.json("active_files")?,
        notes: row.get("notes")?,
        created_at: row.get("created_at")?,
    })
}
