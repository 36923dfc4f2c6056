//! Signs of life.

use cynode_store::{MessageStore, TaskAgentStore};
use cynode_wire::apmas::{Heartbeat, HeartbeatView};

use super::instruct::tell;
use super::speaker::SILENCE;
use super::{MAX_ITEMS, MAX_LINE_BYTES, MessageError, Messages, at_most, invalid};
use crate::agents::AgentIdentity;
use crate::secrets::WithoutSecrets as _;

impl Messages {
    /// A sign of life. The answer carries what the project manager wants of the agent, once.
    pub async fn heartbeat(
        &self,
        who: &AgentIdentity,
        request: Heartbeat,
    ) -> Result<HeartbeatView, MessageError> {
        at_most("progress", request.progress.as_deref().unwrap_or_default(), MAX_LINE_BYTES)?;
        if request.acknowledge.len() > MAX_ITEMS {
            return Err(invalid(format!("acknowledge has more than {MAX_ITEMS} items")));
        }
        let speaker = self.speaker(who, request.task_id, request.agent_role.clone());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let (_, mut agent) = speaker.enter(tx).await?;
                    let now = speaker.now;
                    agent.last_heartbeat_at = now;
                    agent.activity = Some(request.status);
                    agent.progress = request.progress.without_secrets().or(agent.progress);
                    agent.context_usage = request.estimated_context_usage.or(agent.context_usage);
                    tx.agent_update(&agent).await?;
                    for id in request.acknowledge {
                        tx.message_acknowledge(agent.task, agent.role.as_str(), id, now).await?;
                    }
                    let instructions = tell(tx, &mut agent, now).await?;
                    Ok(HeartbeatView {
                        agent_status: agent.status.as_str().to_owned(),
                        deadline: now + SILENCE,
                        instructions,
                    })
                })
            })
            .await
    }
}
