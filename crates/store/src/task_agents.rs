//! Agents at work on a task.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::agent::{Activity, Role};
use cynode_domain::ids::{AgentId, JobId, TaskId};
use cynode_domain::status::AgentStatus;
use serde_json::json;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// One life of an agent on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskAgent {
    /// The life's id.
    pub id: AgentId,
    /// The task.
    pub task: TaskId,
    /// The agent's name there.
    pub role: Role,
    /// Who speaks in this role.
    pub holder: String,
    /// The job it runs in.
    pub job: Option<JobId>,
    /// Where it stands.
    pub status: AgentStatus,
    /// What its last life sign said it does.
    pub activity: Option<Activity>,
    /// What it last said of its progress.
    pub progress: Option<String>,
    /// How much of its context is used, as it estimates.
    pub context_usage: Option<i64>,
    /// The files it named.
    pub artifacts: Vec<String>,
    /// When it first spoke.
    pub started_at: DateTime<Utc>,
    /// When it last gave a sign of life.
    pub last_heartbeat_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Agents at work on a task. Each task has at most one open life for each role; a life that ended
/// never changes again.
#[async_trait]
pub trait TaskAgentStore {
    /// Begins a life; false if another has the role.
    async fn agent_insert(&mut self, agent: &TaskAgent) -> Result<bool, Error>;
    /// Writes down where an open life stands; false if it has ended.
    async fn agent_update(&mut self, agent: &TaskAgent) -> Result<bool, Error>;
    /// The newest life in a role.
    async fn agent_in_role(
        &mut self,
        task: TaskId,
        role: &Role,
    ) -> Result<Option<TaskAgent>, Error>;
    /// The newest life of a holder.
    async fn agent_of_holder(
        &mut self,
        task: TaskId,
        holder: &str,
    ) -> Result<Option<TaskAgent>, Error>;
    /// Lives on a task, newest first, at most `limit`.
    async fn agent_list(&mut self, task: TaskId, limit: u32) -> Result<Vec<TaskAgent>, Error>;
}

#[async_trait]
impl TaskAgentStore for Tx {
    async fn agent_insert(&mut self, agent: &TaskAgent) -> Result<bool, Error> {
        let sql = "INSERT INTO task_agents (id, task_id, role, holder, job_id, status, closed,
                   activity, progress, context_usage, artifacts, started_at, last_heartbeat_at,
                   ended_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
                   ON CONFLICT (task_id, role) WHERE NOT closed DO NOTHING";
        let params = params![
            agent.id,
            agent.task,
            agent.role.as_str(),
            &agent.holder,
            agent.job,
            agent.status,
            agent.status.is_terminal(),
            agent.activity,
            agent.progress.clone(),
            agent.context_usage,
            json!(agent.artifacts),
            agent.started_at,
            agent.last_heartbeat_at,
            agent.ended_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn agent_update(&mut self, agent: &TaskAgent) -> Result<bool, Error> {
        let sql = "UPDATE task_agents SET status = $2, closed = $3, activity = $4, progress = $5,
                   context_usage = $6, artifacts = $7, last_heartbeat_at = $8, ended_at = $9
                   WHERE id = $1 AND NOT closed";
        let params = params![
            agent.id,
            agent.status,
            agent.status.is_terminal(),
            agent.activity,
            agent.progress.clone(),
            agent.context_usage,
            json!(agent.artifacts),
            agent.last_heartbeat_at,
            agent.ended_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn agent_in_role(
        &mut self,
        task: TaskId,
        role: &Role,
    ) -> Result<Option<TaskAgent>, Error> {
        let sql = "SELECT * FROM task_agents WHERE task_id = $1 AND role = $2
                   ORDER BY id DESC LIMIT 1";
        self.one(&tables::TASK_AGENTS, sql, params![task, role.as_str()], agent).await
    }

    async fn agent_of_holder(
        &mut self,
        task: TaskId,
        holder: &str,
    ) -> Result<Option<TaskAgent>, Error> {
        let sql = "SELECT * FROM task_agents WHERE task_id = $1 AND holder = $2
                   ORDER BY id DESC LIMIT 1";
        self.one(&tables::TASK_AGENTS, sql, params![task, holder], agent).await
    }

    async fn agent_list(&mut self, task: TaskId, limit: u32) -> Result<Vec<TaskAgent>, Error> {
        let sql = "SELECT * FROM task_agents WHERE task_id = $1 ORDER BY id DESC LIMIT $2";
        self.page(&tables::TASK_AGENTS, sql, params![task, limit], agent).await
    }
}

pub(crate) fn agent(row: &Row) -> Result<TaskAgent, Error> {
    let activity = row.get::<Option<String>>("activity")?.map(|word| word.parse()).transpose();
    Ok(TaskAgent {
        id: row.id("id")?,
        task: row.id("task_id")?,
        role: row.word("role")?,
        holder: row.get("holder")?,
        job: row.id_opt("job_id")?,
        status: row.word("status")?,
        activity: activity.map_err(|fault: cynode_domain::policy::UnknownWord| {
            Error::unreadable("activity", fault.to_string())
        })?,
        progress: row.get("progress")?,
        context_usage: row.get("context_usage")?,
        artifacts: row.json("artifacts")?,
        started_at: row.get("started_at")?,
        last_heartbeat_at: row.get("last_heartbeat_at")?,
        ended_at: row.get("ended_at")?,
    })
}
