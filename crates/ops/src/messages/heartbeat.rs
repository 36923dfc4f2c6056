//! Heartbeats of agents.

use cynode_wire::apmas::{Heartbeat, HeartbeatView};

use super::delivery::deliver_instructions;
use super::role_claim::HEARTBEAT_TIMEOUT;
use super::{
    AgentMessages, MAX_ITEMS, MAX_LINE_BYTES, MessageError, check_max_bytes, invalid_message,
};
use cynode_resources::agents::AgentIdentity;
use cynode_resources::secrets::RedactSecrets as _;

impl AgentMessages {
    /// Records a heartbeat. The response carries new instructions, once.
    pub async fn record_heartbeat(
        &self,
        identity: &AgentIdentity,
        request: Heartbeat,
    ) -> Result<HeartbeatView, MessageError> {
        check_max_bytes(
            "progress",
            request.progress.as_deref().unwrap_or_default(),
            MAX_LINE_BYTES,
        )?;
        if request.acknowledge.len() > MAX_ITEMS {
            return Err(invalid_message(format!(
                "acknowledge must have at most {MAX_ITEMS} items"
            )));
        }
        let role = request.agent_role.clone().or_else(|| identity.job_agent.role.clone());
        let role = role.ok_or(MessageError::RoleMissing)?;
        let speaker = self.role_claim(identity, request.task_id, role);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let (_, mut agent) = speaker.claim_role(tx).await?;
                    let now = speaker.now;
                    agent.last_heartbeat_at = now;
                    agent.activity = Some(request.status);
                    agent.progress = request.progress.redact_secrets().or(agent.progress);
                    agent.context_usage = request.estimated_context_usage.or(agent.context_usage);
                    tx.agent_update(&agent).await?;
                    for id in request.acknowledge {
                        tx.message_acknowledge(agent.task, agent.role.as_str(), id, now).await?;
                    }
                    let instructions = deliver_instructions(tx, &mut agent, now).await?;
                    Ok(HeartbeatView {
                        agent_status: agent.status.as_str().to_owned(),
                        deadline: now + HEARTBEAT_TIMEOUT,
                        instructions,
                    })
                })
            })
            .await
    }
}
