//! Registers the agent of a job on its task, so that the project manager can instruct it before its first message.

use chrono::{DateTime, Utc};
use cynode_domain::agent::Role;
use cynode_domain::ids::{AgentId, JobId, TaskId};
use cynode_domain::status::AgentStatus;
use cynode_store::{JobAgent, TaskAgent, Tx};

use super::AgentTokenError;

/// The role of an agent whose job names none.
const DEFAULT_ROLE: &str = "developer";
/// The most agents of one kind on a task at once.
const MAX_NUMBER: u32 = 100;

/// Returns the agent with its role: the one that the job has on its task already, else a new one. A number distinguishes it
/// from the other live agents of its kind.
pub(super) async fn register_agent(
    tx: &mut Tx,
    task: TaskId,
    job: JobId,
    agent: JobAgent,
    now: DateTime<Utc>,
) -> Result<JobAgent, AgentTokenError> {
    tx.task_lock(task).await?;
    let holder = format!("job:{job}");
    if let Some(own) = tx.agent_of_holder(task, &holder).await? {
        return Ok(JobAgent { role: Some(own.role), ..agent });
    }
    let kind = agent.role.as_ref().map_or(DEFAULT_ROLE, Role::as_str);
    for number in 1..=MAX_NUMBER {
        let name = if number == 1 { kind.to_owned() } else { format!("{kind}-{number}") };
        let Ok(role) = name.parse::<Role>() else { break };
        if is_taken(tx, task, &role, now).await? {
            continue;
        }
        let new = TaskAgent {
            id: AgentId::generate(),
            task,
            role: role.clone(),
            holder: holder.clone(),
            job: Some(job),
            status: AgentStatus::Running,
            activity: None,
            progress: None,
            context_usage: None,
            artifacts: vec![],
            started_at: now,
            last_heartbeat_at: now,
            ended_at: None,
        };
        if tx.agent_insert(&new).await? {
            return Ok(JobAgent { role: Some(role), ..agent });
        }
    }
    // Its first message decides, as for tokens without a job.
    Ok(JobAgent { role: None, ..agent })
}

/// Whether a live agent has the role. The agent of a job that has ended is aborted.
async fn is_taken(
    tx: &mut Tx,
    task: TaskId,
    role: &Role,
    now: DateTime<Utc>,
) -> Result<bool, AgentTokenError> {
    let found = tx.agent_in_role(task, role).await?;
    let Some(mut there) = found.filter(|agent| !agent.status.is_terminal()) else {
        return Ok(false);
    };
    let is_over = match there.job {
        Some(job) => tx.job_get(job).await?.is_none_or(|job| job.status.is_terminal()),
        None => false,
    };
    if let (true, Ok(aborted)) = (is_over, there.status.advance(AgentStatus::Aborted)) {
        there.status = aborted;
        there.ended_at = Some(now);
        tx.agent_update(&there).await?;
        return Ok(false);
    }
    Ok(true)
}
