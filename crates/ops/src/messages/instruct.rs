//! What the project manager tells agents, and how they come to hear of it.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{InstructionKind, MessageKind, PM, Role};
use cynode_domain::ids::MessageId;
use cynode_domain::status::AgentStatus;
use cynode_store::{
    Message, MessageStore, NewMessage, Task, TaskAgent, TaskAgentStore, Tx, WorkStore,
};
use cynode_wire::apmas::{InstructAgent, InstructionView, MessageView};
use serde_json::{Value, json};

use super::say::{announce, move_to};
use super::{
    MessageError, Messages, at_most, check_json, check_text, instruction_view, message_view,
    open_task,
};
use crate::Caller;
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;

/// How many instructions one answer carries.
pub(super) const CARRIED: u32 = 50;
/// How many lives of agents are looked through for a role.
const LIVES: u32 = 500;

/// An instruction on its way.
pub(crate) struct Instruction {
    pub(crate) to: Role,
    pub(crate) kind: InstructionKind,
    pub(crate) text: String,
    pub(crate) context: Value,
    pub(crate) work_unit: Option<String>,
    pub(crate) key: Option<String>,
}

impl Messages {
    /// Leaves an instruction for an agent, who gets it with the next answer to anything it says.
    pub async fn instruct(
        &self,
        caller: &Caller,
        request: InstructAgent,
    ) -> Result<MessageView, MessageError> {
        check_text("instructions", &request.instructions)?;
        let context = request.context.unwrap_or_else(|| json!({}));
        check_json("context", &context)?;
        if let Some(key) = &request.idempotency_key {
            at_most("idempotencyKey", key, 200)?;
        }
        let instruction = Instruction {
            to: request.to_agent,
            kind: request.instruction_type,
            text: request.instructions,
            context,
            work_unit: None,
            key: request.idempotency_key.map(|key| format!("given:{key}")),
        };
        let (caller, now) = (caller.clone(), self.clock.now());
        let given = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let task = open_task(tx, &caller, request.task_id).await?;
                    check_role(tx, &task, &instruction.to).await?;
                    give(tx, &task, instruction, now).await
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(message_view(given))
    }
}

/// An instruction to a role that nobody has or will have would never be read.
async fn check_role(tx: &mut Tx, task: &Task, role: &Role) -> Result<(), MessageError> {
    let units = tx.work_unit_list(task.asked.id).await?;
    let mut known: Vec<String> = units.into_iter().map(|unit| unit.role).collect();
    let lives = tx.agent_list(task.asked.id, LIVES).await?;
    known.extend(lives.into_iter().map(|agent| agent.role.to_string()));
    if known.iter().any(|known| known == role.as_str()) {
        return Ok(());
    }
    known.sort();
    known.dedup();
    let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
    Err(MessageError::NobodyThere { role: role.clone(), known })
}

/// Stores an instruction. Without a key, one that waits already is not given twice.
pub(crate) async fn give(
    tx: &mut Tx,
    task: &Task,
    instruction: Instruction,
    now: DateTime<Utc>,
) -> Result<Message, MessageError> {
    let id = MessageId::generate();
    let has_key = instruction.key.is_some();
    let message = NewMessage {
        id,
        task: task.asked.id,
        agent: None,
        sender: PM.to_owned(),
        recipient: instruction.to.to_string(),
        kind: MessageKind::Instruction,
        subtype: instruction.kind.as_str().to_owned(),
        component: None,
        work_unit: instruction.work_unit,
        content: instruction.text.without_secrets(),
        payload: instruction.context.without_secrets(),
        idempotency_key: instruction.key.unwrap_or_else(|| format!("id:{id}")),
        created_at: now,
    };
    let before = if has_key {
        tx.message_by_key(message.task, PM, &message.idempotency_key).await?
    } else {
        let waiting = tx.message_pending(message.task, &message.recipient, CARRIED).await?;
        let is_again = |waits: &Message| waits.delivered_at.is_none() && is_same(waits, &message);
        waiting.into_iter().find(is_again)
    };
    match before {
        Some(before) if is_same(&before, &message) => return Ok(before),
        Some(_) => return Err(MessageError::KeyReused),
        None => {}
    }
    tx.message_insert(&message).await?;
    announce(tx, task, &message).await?;
    Ok(Message::new(message))
}

fn is_same(before: &Message, new: &NewMessage) -> bool {
    let before = &before.sent;
    before.recipient == new.recipient
        && before.subtype == new.subtype
        && before.content == new.content
        && before.payload == new.payload
}

/// What the agent has not been told yet: marks it as told, and moves the agent accordingly.
pub(super) async fn tell(
    tx: &mut Tx,
    agent: &mut TaskAgent,
    now: DateTime<Utc>,
) -> Result<Vec<InstructionView>, MessageError> {
    let (mut told, before) = (vec![], agent.status);
    if before.is_terminal() {
        return Ok(told);
    }
    let waiting = tx.message_pending(agent.task, agent.role.as_str(), CARRIED).await?;
    for message in waiting.into_iter().filter(|message| message.delivered_at.is_none()) {
        tx.message_deliver(message.sent.id, now).await?;
        follow(agent, &message.sent.subtype, now);
        told.push(instruction_view(message));
    }
    if agent.status != before {
        tx.agent_update(agent).await?;
    }
    Ok(told)
}

/// An instruction that asks for no move the agent can make is only told.
fn follow(agent: &mut TaskAgent, subtype: &str, now: DateTime<Utc>) {
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
        move_to(agent, status, now);
    }
}
