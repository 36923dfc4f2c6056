//! Who may speak in which role on a task.
//!
//! Whoever first speaks in a role has it, and has no other on that task. The role is free again when
//! its holder ended, its job ended, or it was silent for too long; then the next one begins a life
//! of its own, and the one before can say no more.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::agent::Role;
use cynode_domain::ids::{AgentId, TaskId};
use cynode_domain::status::AgentStatus;
use cynode_store::{JobStore, Task, TaskAgent, TaskAgentStore, TaskStore, Tx};

use super::MessageError;
use crate::Caller;
use crate::agents::AgentIdentity;
use crate::tasks::{self, TaskError};

/// How long an agent may be silent before its role is free.
pub(super) const SILENCE: TimeDelta = TimeDelta::minutes(10);

/// Somebody who says to have a role on a task.
pub(crate) struct Speaker {
    pub(crate) who: AgentIdentity,
    pub(crate) task: TaskId,
    pub(crate) role: Role,
    pub(crate) now: DateTime<Utc>,
}

impl Speaker {
    /// The open task, and the speaker's own life in its role; a new one if it has none.
    pub(crate) async fn enter(&self, tx: &mut Tx) -> Result<(Task, TaskAgent), MessageError> {
        let task = open_task(tx, &self.who.caller, self.task).await?;
        if let Some(own) = self.life(tx).await? {
            if own.status.is_terminal() {
                let status = own.status.as_str();
                return Err(MessageError::Ended { role: own.role, status });
            }
            return Ok((task, own));
        }
        self.free_role(tx).await?;
        let agent = self.new_life();
        if !tx.agent_insert(&agent).await? {
            return Err(MessageError::RoleTaken(self.role.clone()));
        }
        Ok((task, agent))
    }

    /// The newest life of this speaker on the task; it must be in the role that it names.
    pub(super) async fn life(&self, tx: &mut Tx) -> Result<Option<TaskAgent>, MessageError> {
        let own = tx.agent_of_holder(self.task, &self.holder()).await?;
        match own {
            Some(own) if own.role != self.role => {
                Err(MessageError::OtherRole { has: own.role, said: self.role.clone() })
            }
            own => Ok(own),
        }
    }

    /// A job may be given more than one token; without a job the token stands for the agent.
    fn holder(&self) -> String {
        match self.who.job {
            Some(job) => format!("job:{job}"),
            None => format!("token:{}", self.who.token_id),
        }
    }

    fn new_life(&self) -> TaskAgent {
        TaskAgent {
            id: AgentId::generate(),
            task: self.task,
            role: self.role.clone(),
            holder: self.holder(),
            job: self.who.job,
            status: AgentStatus::Running,
            activity: None,
            progress: None,
            context_usage: None,
            artifacts: vec![],
            started_at: self.now,
            last_heartbeat_at: self.now,
            ended_at: None,
        }
    }

    /// Ends the life of whoever had the role and is gone; refuses while it is there.
    async fn free_role(&self, tx: &mut Tx) -> Result<(), MessageError> {
        let there = tx.agent_in_role(self.task, &self.role).await?;
        let Some(mut there) = there.filter(|agent| !agent.status.is_terminal()) else {
            return Ok(());
        };
        let is_silent = self.now - there.last_heartbeat_at > SILENCE;
        if !is_silent && !is_job_over(tx, &there).await? {
            return Err(MessageError::RoleTaken(self.role.clone()));
        }
        there.status = there.status.advance(AgentStatus::Aborted)?;
        there.ended_at = Some(self.now);
        tx.agent_update(&there).await?;
        Ok(())
    }
}

async fn is_job_over(tx: &mut Tx, agent: &TaskAgent) -> Result<bool, MessageError> {
    let Some(job) = agent.job else { return Ok(false) };
    let job = tx.job_get(job).await?;
    Ok(job.is_none_or(|job| job.status.is_terminal()))
}

/// A task that the caller may see and that is not closed, locked until the transaction ends.
pub(crate) async fn open_task(
    tx: &mut Tx,
    caller: &Caller,
    task: TaskId,
) -> Result<Task, TaskError> {
    tasks::find(tx, caller, &task.to_string()).await?;
    let found = tx.task_lock(task).await?;
    let found = found.ok_or_else(|| TaskError::NotFound(task.to_string()))?;
    if found.status.is_terminal() {
        return Err(TaskError::Closed { status: found.status.shown() });
    }
    Ok(found)
}
