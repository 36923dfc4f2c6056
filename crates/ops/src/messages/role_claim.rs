//! Role ownership of agents on a task.
//!
//! The first caller that uses a role holds it, and no other role on that task. The role is free
//! again when its holder ended, its job ended, or it missed its heartbeat for too long without being paused; then
//! the next caller starts a new agent row, and the previous holder is rejected.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::agent::Role;
use cynode_domain::ids::{AgentId, TaskId};
use cynode_domain::plan::InputMode;
use cynode_domain::status::AgentStatus;
use cynode_store::{Task, TaskAgent, Tx};

use super::MessageError;
use cynode_execution::{tasks, tasks::TaskError};
use cynode_resources::Caller;
use cynode_resources::agents::AgentIdentity;

/// Time without a heartbeat after which a role is free.
pub(super) const HEARTBEAT_TIMEOUT: TimeDelta = TimeDelta::minutes(10);

/// A caller that claims a role on a task.
pub(crate) struct RoleClaim {
    pub(crate) identity: AgentIdentity,
    pub(crate) task: TaskId,
    pub(crate) role: Role,
    pub(crate) now: DateTime<Utc>,
}

impl RoleClaim {
    /// Returns the open task and the caller's agent in its role; creates the agent if there is
    /// none.
    pub(crate) async fn claim_role(&self, tx: &mut Tx) -> Result<(Task, TaskAgent), MessageError> {
        self.check_token_role()?;
        let task = lock_open_task(tx, &self.identity.caller, self.task).await?;
        if let Some(own) = self.find_agent(tx).await? {
            if own.status.is_terminal() {
                let status = own.status.as_str();
                return Err(MessageError::Ended { role: own.role, status });
            }
            return Ok((task, own));
        }
        self.abort_stale_holder(tx).await?;
        let agent = self.new_agent();
        if !tx.agent_insert(&agent).await? {
            return Err(MessageError::RoleTaken(self.role.clone()));
        }
        Ok((task, agent))
    }

    /// Rejects a role other than that of the token.
    fn check_token_role(&self) -> Result<(), MessageError> {
        match &self.identity.job_agent.role {
            Some(has) if *has != self.role => {
                Err(MessageError::OtherRole { has: has.clone(), claimed: self.role.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The work unit that a message is about: the one that it names, else that of the token. Fails if the token has another.
    pub(crate) fn claim_unit(&self, named: Option<String>) -> Result<Option<String>, MessageError> {
        match (named, self.identity.job_agent.work_unit.clone()) {
            (Some(claimed), Some(has)) if claimed != has => {
                Err(MessageError::OtherUnit { has, claimed: claimed.chars().take(100).collect() })
            }
            (named, has) => Ok(named.or(has)),
        }
    }

    /// Returns the caller's newest agent on the task; fails if it has another role.
    pub(super) async fn find_agent(&self, tx: &mut Tx) -> Result<Option<TaskAgent>, MessageError> {
        let own = tx.agent_of_holder(self.task, &holder(&self.identity)).await?;
        match own {
            Some(own) if own.role != self.role => {
                Err(MessageError::OtherRole { has: own.role, claimed: self.role.clone() })
            }
            own => Ok(own),
        }
    }

    fn new_agent(&self) -> TaskAgent {
        TaskAgent {
            id: AgentId::generate(),
            task: self.task,
            role: self.role.clone(),
            holder: holder(&self.identity),
            job: self.identity.job,
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

    /// Aborts the agent of a holder that is gone; fails while the holder is alive.
    async fn abort_stale_holder(&self, tx: &mut Tx) -> Result<(), MessageError> {
        let there = tx.agent_in_role(self.task, &self.role).await?;
        let Some(mut there) = there.filter(|agent| !agent.status.is_terminal()) else {
            return Ok(());
        };
        let is_silent = there.status != AgentStatus::Paused
            && self.now - there.last_heartbeat_at > HEARTBEAT_TIMEOUT;
        if !is_silent && !is_job_over(tx, &there).await? {
            return Err(MessageError::RoleTaken(self.role.clone()));
        }
        there.status = there.status.advance(AgentStatus::Aborted)?;
        there.ended_at = Some(self.now);
        tx.agent_update(&there).await?;
        Ok(())
    }
}

/// Identifies the holder of a role by job, because a job may have several tokens; by token without a job.
pub(super) fn holder(identity: &AgentIdentity) -> String {
    match identity.job {
        Some(job) => format!("job:{job}"),
        None => format!("token:{}", identity.token_id),
    }
}

async fn is_job_over(tx: &mut Tx, agent: &TaskAgent) -> Result<bool, MessageError> {
    let Some(job) = agent.job else { return Ok(false) };
    let job = tx.job_get(job).await?;
    Ok(job.is_none_or(|job| job.status.is_terminal()))
}

/// Returns an open task that the caller may see, locked until the transaction ends.
pub(crate) async fn lock_open_task(
    tx: &mut Tx,
    caller: &Caller,
    task: TaskId,
) -> Result<Task, TaskError> {
    let seen = tasks::find(tx, caller, &task.into()).await?;
    if let Some(parent) = &seen.parent {
        // Lock order: the request before its child.
        tx.task_lock(parent.task).await?;
    }
    let found = tx.task_lock(task).await?;
    let found = found.ok_or_else(|| TaskError::NotFound(task.to_string()))?;
    if found.status.is_terminal() {
        return Err(TaskError::Closed { status: found.status.to_shown() });
    }
    if found.spec.input_mode == InputMode::Request {
        let fault = "the units of a request are planned and routed by the project manager service";
        return Err(TaskError::Invalid(vec![fault.to_owned()]));
    }
    Ok(found)
}
