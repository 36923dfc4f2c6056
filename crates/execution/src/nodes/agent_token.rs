//! The token with which a node calls models and tools for the agent of a job.
//!
//! The node asks for it when the job starts and when another process of the node adopts the job, and keeps it in memory
//! only. It is bound to the job and revoked when the job ends.

use cynode_domain::ids::JobId;
use cynode_domain::job::Action;
use cynode_domain::policy::AgentType;
use cynode_resources::agents::{AgentTokenError, AgentTokens, JobAgent};
use cynode_resources::{Caller, NodeCaller};
use cynode_store::{Job, Task};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::nodes::JobAgentToken;

use super::report::require_held_job;
use super::{JobPayload, NodeError, NodeService};

/// A node asks again before it expires.
const LIFETIME_S: u32 = 3600;

impl NodeService {
    /// Issues the token of a job that the calling process holds. Only jobs of agents have one.
    pub async fn issue_agent_token(
        &self,
        node: &NodeCaller,
        job: JobId,
    ) -> Result<JobAgentToken, NodeError> {
        let node = node.clone();
        let (job, task) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let job = require_held_job(tx.job_get(job).await?, &node, job)?;
                    let task = tx.task_get(job.spec.task).await?;
                    let task = task.ok_or(NodeError::JobNotHeld(job.spec.id))?;
                    Ok::<_, NodeError>((job, task))
                })
            })
            .await?;
        let Some(agent) = job_agent(&job) else {
            let fault = format!("job {} is not a job of an agent", job.spec.id);
            return Err(NodeError::Invalid(vec![fault]));
        };
        let user = task.spec.created_by;
        let caller = Caller::on_behalf_of(user, String::new(), false);
        let tokens = AgentTokens::new(self.store.clone(), self.clock.clone(), self.signals.clone());
        let issued = tokens.issue_for_job(&caller, token_request(&job, &task), agent).await;
        let issued = issued.map_err(|error| match error {
            // The job has ended, or its user is disabled.
            AgentTokenError::Invalid(_) | AgentTokenError::NotFound => {
                NodeError::JobNotHeld(job.spec.id)
            }
            AgentTokenError::Store(error) => error.into(),
            error @ (AgentTokenError::BadToken
            | AgentTokenError::NotAdmin
            | AgentTokenError::Page(_)
            | AgentTokenError::Secret(_)) => NodeError::Invalid(vec![error.to_string()]),
        })?;
        Ok(JobAgentToken { secret: issued.secret, expires_at: issued.token.expires_at })
    }
}

pub(super) fn is_agent(job: &Job) -> bool {
    job_agent(job).is_some()
}

/// The agent of a job; `None` if the job has none.
fn job_agent(job: &Job) -> Option<JobAgent> {
    let payload = serde_json::from_value::<JobPayload>(job.spec.payload.clone()).ok()?;
    let Action::Agent { .. } = payload.action else { return None };
    let (work_unit, role) = payload.work_unit.map(|unit| (unit.id, unit.role)).unzip();
    let profile = payload.agent.map(|agent| (agent.profile.to_string(), agent.revision));
    Some(JobAgent { role, work_unit, profile })
}

fn token_request(job: &Job, task: &Task) -> IssueAgentToken {
    IssueAgentToken {
        agent_type: AgentType::Sandbox,
        name: format!("agent of job {}", job.spec.id),
        user_id: None,
        expires_in_seconds: Some(LIFETIME_S),
        binding: BindingView {
            project_id: Some(task.spec.project),
            task_id: Some(job.spec.task),
            run_id: Some(job.spec.run),
            job_id: Some(job.spec.id),
            session_id: None,
        },
    }
}
