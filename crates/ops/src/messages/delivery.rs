//! Delivery of instructions with the responses to an agent's requests.
//!
//! An instruction is delivered with one response, and again after [`REDELIVERY_AFTER`] until the agent acknowledges it, because
//! a response may be lost. Its id is the same each time, so that the agent can recognize it.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::agent::{InstructionKind, Role};
use cynode_domain::policy::Principal;
use cynode_domain::status::AgentStatus;
use cynode_store::{AgentMessage, TaskAgent, Tx};
use cynode_wire::apmas::InstructionView;
use serde_json::json;

use super::append::set_status;
use super::role_claim::holder;
use super::{AgentMessages, MessageError, instruction_view};
use cynode_resources::agents::AgentIdentity;

/// Maximum instructions per response.
pub(super) const MAX_DELIVERED: u32 = 50;
/// How long an agent has to acknowledge an instruction before it is delivered again.
const REDELIVERY_AFTER: TimeDelta = TimeDelta::minutes(5);
/// Maximum bytes of the instructions that the response of another tool carries.
const REPLY_BYTES: usize = 16 * 1024;
/// Maximum bytes of the text and of the details of one of them; the agent's context has all of it.
const REPLY_PART_BYTES: usize = 6 * 1024;

/// The instructions that a response carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyInstructions {
    /// The role of the agent.
    pub role: Role,
    /// Oldest first.
    pub instructions: Vec<InstructionView>,
}

impl AgentMessages {
    /// Returns the instructions that wait for the agent of a job, and marks them as delivered. Callers without a job have
    /// none. If none waits, this is a single indexed read: the answer must not depend on the memory of one process,
    /// because another one may have stored the instruction.
    pub async fn deliver_with_reply(
        &self,
        identity: &AgentIdentity,
    ) -> Result<Option<ReplyInstructions>, MessageError> {
        let (Principal::SANDBOX, Some(task), Some(_)) =
            (identity.agent, identity.task, identity.job)
        else {
            return Ok(None);
        };
        let (now, holder) = (self.clock.now(), holder(identity));
        let asked = holder.clone();
        let is_due = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let overdue = now - REDELIVERY_AFTER;
                    Ok::<_, MessageError>(tx.message_is_due(task, &asked, overdue).await?)
                })
            })
            .await?;
        if !is_due {
            return Ok(None);
        }
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    // Concurrent responses to one agent deliver an instruction once.
                    tx.task_lock(task).await?;
                    let agent = tx.agent_of_holder(task, &holder).await?;
                    let Some(mut agent) = agent else { return Ok(None) };
                    let due = list_due(tx, &agent, now).await?;
                    let instructions = deliver(tx, &mut agent, fit_reply(due), now).await?;
                    let is_empty = instructions.is_empty();
                    Ok((!is_empty).then_some(ReplyInstructions { role: agent.role, instructions }))
                })
            })
            .await
    }
}

/// Returns the instructions that are due, marks them as delivered, and updates the agent's status accordingly.
pub(super) async fn deliver_instructions(
    tx: &mut Tx,
    agent: &mut TaskAgent,
    now: DateTime<Utc>,
) -> Result<Vec<InstructionView>, MessageError> {
    let due = list_due(tx, agent, now).await?;
    deliver(tx, agent, due, now).await
}

/// Lists the instructions to deliver now, oldest first.
async fn list_due(
    tx: &mut Tx,
    agent: &TaskAgent,
    now: DateTime<Utc>,
) -> Result<Vec<AgentMessage>, MessageError> {
    if agent.status.is_terminal() {
        return Ok(vec![]);
    }
    let mut due = tx.message_pending(agent.task, agent.role.as_str(), MAX_DELIVERED).await?;
    due.retain(|message| {
        let last = message.redelivered_at.or(message.delivered_at);
        last.is_none_or(|last| last < now - REDELIVERY_AFTER)
    });
    due.sort_by_key(|message| message.sent.id);
    Ok(due)
}

async fn deliver(
    tx: &mut Tx,
    agent: &mut TaskAgent,
    due: Vec<AgentMessage>,
    now: DateTime<Utc>,
) -> Result<Vec<InstructionView>, MessageError> {
    let (mut delivered, before) = (vec![], agent.status);
    for message in due {
        tx.message_deliver(message.sent.id, now).await?;
        if message.delivered_at.is_none() {
            apply_instruction(agent, &message.sent.subtype, now);
        }
        delivered.push(instruction_view(message));
    }
    if agent.status != before {
        // The agent has just received them: its deadline starts now.
        agent.last_heartbeat_at = now;
        tx.agent_update(agent).await?;
    }
    Ok(delivered)
}

/// Shortens instructions and keeps as many as fit into a response, at least one. The others are delivered with the next.
fn fit_reply(due: Vec<AgentMessage>) -> Vec<AgentMessage> {
    let (mut kept, mut bytes) = (vec![], 0);
    for mut message in due {
        let sent = &mut message.sent;
        if sent.content.len() > REPLY_PART_BYTES {
            sent.content.truncate(sent.content.floor_char_boundary(REPLY_PART_BYTES));
            sent.content.push_str("… (shortened: apmas_get_context has all of it)");
        }
        let mut details = sent.payload.to_string().len();
        if details > REPLY_PART_BYTES {
            sent.payload = json!({ "omitted": "apmas_get_context has it" });
            details = REPLY_PART_BYTES.min(64);
        }
        bytes += sent.content.len() + details;
        if bytes > REPLY_BYTES && !kept.is_empty() {
            break;
        }
        kept.push(message);
    }
    kept
}

/// Applies the status that an instruction implies, if the transition is legal.
fn apply_instruction(agent: &mut TaskAgent, subtype: &str, now: DateTime<Utc>) {
    let to = match subtype.parse::<InstructionKind>() {
        Ok(InstructionKind::Pause) => AgentStatus::Paused,
        Ok(InstructionKind::Abort) => AgentStatus::Aborted,
        Ok(
            InstructionKind::Continue
            | InstructionKind::Revise
            | InstructionKind::ExpandScope
            | InstructionKind::ReduceScope,
        ) => AgentStatus::Running,
        Err(_) => return,
    };
    if let Ok(status) = agent.status.advance(to) {
        set_status(agent, status, now);
    }
}
