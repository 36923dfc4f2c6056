//! Agents that work on a task.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{Activity, Role};
use cynode_domain::ids::{AgentId, JobId, TaskId};
use cynode_domain::status::AgentStatus;
use serde_json::json;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// One instance of an agent on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskAgent {
    pub id: AgentId,
    pub task: TaskId,
    /// The role of the agent in the task.
    pub role: Role,
    /// The holder of the token that acts in this role.
    pub holder: String,
    /// The job it runs in.
    pub job: Option<JobId>,
    pub status: AgentStatus,
    /// The activity of the last heartbeat.
    pub activity: Option<Activity>,
    /// The progress it last reported.
    pub progress: Option<String>,
    /// The share of its context that is used, as it estimates.
    pub context_usage: Option<i64>,
    /// The files it reported.
    pub artifacts: Vec<String>,
    pub started_at: DateTime<Utc>,
    pub last_heartbeat_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// Agents that work on a task. Each role of a task has at most one open instance; an ended instance is
/// immutable.
impl Tx {
    /// Adds an instance; returns false if the role is taken.
    pub async fn agent_insert(&mut self, agent: &TaskAgent) -> Result<bool, Error> {
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

    /// Updates an open instance; returns false if it has ended.
    pub async fn agent_update(&mut self, agent: &TaskAgent) -> Result<bool, Error> {
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

    /// Ends the open instance of a job that has ended.
    pub async fn agent_end_with_job(
        &mut self,
        job: JobId,
        status: AgentStatus,
    ) -> Result<(), Error> {
        let sql = "UPDATE task_agents SET closed = $3, ended_at = cynode_now(),
                   status = CASE WHEN status = 'escalated' THEN 'aborted' ELSE $2 END
                   WHERE job_id = $1 AND NOT closed";
        self.execute(sql, params![job, status, true]).await.map(drop)
    }

    /// Returns the newest instance in a role.
    pub async fn agent_in_role(
        &mut self,
        task: TaskId,
        role: &Role,
    ) -> Result<Option<TaskAgent>, Error> {
        let sql = "SELECT * FROM task_agents WHERE task_id = $1 AND role = $2
                   ORDER BY id DESC LIMIT 1";
        self.one(&tables::TASK_AGENTS, sql, params![task, role.as_str()], agent).await
    }

    /// Returns the newest instance of a holder.
    pub async fn agent_of_holder(
        &mut self,
        task: TaskId,
        holder: &str,
    ) -> Result<Option<TaskAgent>, Error> {
        let sql = "SELECT * FROM task_agents WHERE task_id = $1 AND holder = $2
                   ORDER BY id DESC LIMIT 1";
        self.one(&tables::TASK_AGENTS, sql, params![task, holder], agent).await
    }

    /// Lists the newest instance on each child of a task.
    pub async fn agents_of_children(&mut self, parent: TaskId) -> Result<Vec<TaskAgent>, Error> {
        let sql = "SELECT a.* FROM task_agents a JOIN tasks t ON t.id = a.task_id
                   WHERE t.parent_task_id = $1 AND NOT EXISTS (SELECT 1 FROM task_agents n
                       WHERE n.task_id = a.task_id AND n.id > a.id)";
        self.list(&tables::TASK_AGENTS, sql, params![parent], agent).await
    }

    /// Lists instances on a task, newest first, at most `limit`.
    pub async fn agent_list(&mut self, task: TaskId, limit: u32) -> Result<Vec<TaskAgent>, Error> {
        let sql = "SELECT * FROM task_agents WHERE task_id = $1 ORDER BY id DESC LIMIT $2";
        self.page(&tables::TASK_AGENTS, sql, params![task, limit], agent).await
    }
}

pub(crate) fn agent(row: &Row) -> Result<TaskAgent, Error> {
    let activity = row.get::<Option<String>>("activity")?.map(|word| word.parse()).transpose();
    Ok(TaskAgent {
        id: row.id("id")?,
        task: row.id("task_id")?,
        role: row.keyword("role")?,
        holder: row.get("holder")?,
        job: row.id_opt("job_id")?,
        status: row.keyword("status")?,
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
