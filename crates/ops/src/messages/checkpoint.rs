//! Checkpoints of agents, from which a successor resumes.

use cynode_domain::ids::CheckpointId;
use cynode_store::{AgentCheckpoint, TaskAgent, Tx};
use cynode_wire::apmas::{AgentCheckpointView, CheckpointSavedView, SaveAgentCheckpoint};

use super::delivery::deliver_instructions;
use super::{
    AgentMessages, MAX_TEXT_BYTES, MessageError, check_lines, check_max_bytes, check_text,
    unit_attempt,
};
use cynode_resources::agents::AgentIdentity;
use cynode_resources::secrets::RedactSecrets as _;

/// Checkpoints retained per role.
const CHECKPOINTS_RETAINED: u32 = 50;

impl AgentMessages {
    /// Saves a checkpoint. Saving the newest one again is a no-op.
    pub async fn checkpoint(
        &self,
        identity: &AgentIdentity,
        request: SaveAgentCheckpoint,
    ) -> Result<CheckpointSavedView, MessageError> {
        check_text("summary", &request.summary)?;
        check_max_bytes("notes", request.notes.as_deref().unwrap_or_default(), MAX_TEXT_BYTES)?;
        let speaker = self.role_claim(identity, request.task_id, request.agent_role.clone());
        let checked = SaveAgentCheckpoint {
            summary: request.summary.redact_secrets(),
            completed_items: check_lines("completedItems", request.completed_items)?
                .redact_secrets(),
            pending_items: check_lines("pendingItems", request.pending_items)?.redact_secrets(),
            active_files: check_lines("activeFiles", request.active_files)?.redact_secrets(),
            notes: request.notes.redact_secrets(),
            ..request
        };
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let (task, mut agent) = speaker.claim_role(tx).await?;
                    agent.last_heartbeat_at = speaker.now;
                    tx.agent_update(&agent).await?;
                    let new = AgentCheckpoint {
                        id: CheckpointId::generate(),
                        task: agent.task,
                        role: agent.role.clone(),
                        agent: agent.id,
                        summary: checked.summary,
                        completed_items: checked.completed_items,
                        pending_items: checked.pending_items,
                        active_files: checked.active_files,
                        notes: checked.notes,
                        created_at: speaker.now,
                    };
                    let (saved, repeated) = insert_unless_repeated(tx, &agent, new).await?;
                    if !repeated {
                        unit_attempt::append_checkpoint_event(tx, &task, &saved).await?;
                    }
                    Ok(CheckpointSavedView {
                        checkpoint_id: saved.id,
                        progress: render_progress(&saved),
                        repeated,
                        instructions: deliver_instructions(tx, &mut agent, speaker.now).await?,
                    })
                })
            })
            .await
    }
}

async fn insert_unless_repeated(
    tx: &mut Tx,
    agent: &TaskAgent,
    new: AgentCheckpoint,
) -> Result<(AgentCheckpoint, bool), MessageError> {
    let last = tx.agent_checkpoint_list(agent.task, &agent.role, 1).await?.pop();
    if let Some(last) = last {
        let again = AgentCheckpoint { id: last.id, created_at: last.created_at, ..new.clone() };
        if again == last {
            return Ok((last, true));
        }
    }
    tx.agent_checkpoint_insert(&new, CHECKPOINTS_RETAINED).await?;
    Ok((new, false))
}

/// Formats progress, such as `2/5 (40%)`.
pub fn render_progress(checkpoint: &AgentCheckpoint) -> String {
    let done = checkpoint.completed_items.len();
    let total = done + checkpoint.pending_items.len();
    format!("{done}/{total} ({}%)", (done * 100).checked_div(total).unwrap_or(0))
}

pub(super) fn checkpoint_view(checkpoint: AgentCheckpoint) -> AgentCheckpointView {
    AgentCheckpointView {
        progress: render_progress(&checkpoint),
        id: checkpoint.id,
        summary: checkpoint.summary,
        completed_items: checkpoint.completed_items,
        pending_items: checkpoint.pending_items,
        active_files: checkpoint.active_files,
        notes: checkpoint.notes,
        created_at: checkpoint.created_at,
    }
}
