//! How far an agent came, for whoever goes on after it.

use cynode_domain::ids::CheckpointId;
use cynode_store::{AgentCheckpoint, AgentCheckpointStore, TaskAgent, TaskAgentStore, Tx};
use cynode_wire::apmas::{AgentCheckpointView, CheckpointSavedView, SaveAgentCheckpoint};

use super::instruct::tell;
use super::{MAX_TEXT_BYTES, MessageError, Messages, at_most, check_lines, check_text};
use crate::agents::AgentIdentity;
use crate::secrets::WithoutSecrets as _;

/// How many checkpoints of a role are kept.
const KEPT: u32 = 50;

impl Messages {
    /// Saves how far the agent came. What was saved last, saved again, is kept once.
    pub async fn checkpoint(
        &self,
        who: &AgentIdentity,
        request: SaveAgentCheckpoint,
    ) -> Result<CheckpointSavedView, MessageError> {
        check_text("summary", &request.summary)?;
        at_most("notes", request.notes.as_deref().unwrap_or_default(), MAX_TEXT_BYTES)?;
        let speaker = self.speaker(who, request.task_id, request.agent_role.clone());
        let checked = SaveAgentCheckpoint {
            summary: request.summary.without_secrets(),
            completed_items: check_lines("completedItems", request.completed_items)?
                .without_secrets(),
            pending_items: check_lines("pendingItems", request.pending_items)?.without_secrets(),
            active_files: check_lines("activeFiles", request.active_files)?.without_secrets(),
            notes: request.notes.without_secrets(),
            ..request
        };
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let (_, mut agent) = speaker.enter(tx).await?;
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
                    let (saved, repeated) = save(tx, &agent, new).await?;
                    Ok(CheckpointSavedView {
                        checkpoint_id: saved.id,
                        progress: progress(&saved),
                        repeated,
                        instructions: tell(tx, &mut agent, speaker.now).await?,
                    })
                })
            })
            .await
    }
}

async fn save(
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
    tx.agent_checkpoint_insert(&new, KEPT).await?;
    Ok((new, false))
}

/// Such as `2/5 (40%)`.
fn progress(checkpoint: &AgentCheckpoint) -> String {
    let done = checkpoint.completed_items.len();
    let total = done + checkpoint.pending_items.len();
    format!("{done}/{total} ({}%)", (done * 100).checked_div(total).unwrap_or(0))
}

pub(super) fn view(checkpoint: AgentCheckpoint) -> AgentCheckpointView {
    AgentCheckpointView {
        progress: progress(&checkpoint),
        id: checkpoint.id,
        summary: checkpoint.summary,
        completed_items: checkpoint.completed_items,
        pending_items: checkpoint.pending_items,
        active_files: checkpoint.active_files,
        notes: checkpoint.notes,
        created_at: checkpoint.created_at,
    }
}
