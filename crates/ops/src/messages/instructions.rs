//! Instructions of the project manager.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{InstructionKind, MessageKind, PM, Role};
use cynode_domain::ids::MessageId;
use cynode_domain::job::JobEnding;
use cynode_domain::status::AgentStatus;
use cynode_domain::text::truncate_chars;
use cynode_store::{AgentMessage, NewAgentMessage, Task, Tx};
use cynode_wire::apmas::{InstructAgent, MAX_IDEMPOTENCY_KEY_CHARS, MessageView};
use serde_json::{Value, json};

use super::append::append_message_event;
use super::delivery::MAX_DELIVERED;
use super::unit_attempt::apply_unit_instruction;
use super::{
    AgentMessages, MessageError, check_json, check_max_bytes, check_text, lock_open_task,
    message_view,
};
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;

/// Maximum characters of an instruction in the ending of a job.
const MAX_REASON_CHARS: usize = 500;
/// Maximum agent rows searched for a role.
const MAX_AGENTS_SEARCHED: u32 = 500;

/// An instruction to be stored.
pub(crate) struct NewInstruction {
    pub(crate) to: Role,
    pub(crate) kind: InstructionKind,
    pub(crate) text: String,
    pub(crate) context: Value,
    pub(crate) work_unit: Option<String>,
    pub(crate) key: Option<String>,
}

impl AgentMessages {
    /// Stores an instruction; the agent gets it with the response to its next request.
    pub async fn send_instruction(
        &self,
        caller: &Caller,
        request: InstructAgent,
    ) -> Result<MessageView, MessageError> {
        check_text("instructions", &request.instructions)?;
        let context = request.context.unwrap_or_else(|| json!({}));
        check_json("context", &context)?;
        if let Some(key) = &request.idempotency_key {
            check_max_bytes("idempotencyKey", key, MAX_IDEMPOTENCY_KEY_CHARS)?;
        }
        let instruction = NewInstruction {
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
                    let task = lock_open_task(tx, &caller, request.task_id).await?;
                    check_role(tx, &task, &instruction.to).await?;
                    store_instruction(tx, &task, instruction, now).await
                })
            })
            .await?;
        // An abort stops a job; that of a unit's agent ends a task.
        for topic in [Topic::Jobs, Topic::Runs, Topic::Policy, Topic::Events] {
            self.signals.send(topic);
        }
        Ok(message_view(given))
    }
}

/// Rejects a role without agents or work units, because the instruction would never be read.
async fn check_role(tx: &mut Tx, task: &Task, role: &Role) -> Result<(), MessageError> {
    let units = tx.work_unit_list(task.spec.id).await?;
    let mut known: Vec<String> = units.into_iter().map(|unit| unit.role).collect();
    if let Some(parent) = &task.parent {
        // The agent of an attempt registers when its job starts.
        let unit = tx.work_unit_get(parent.task, &parent.unit).await?;
        known.extend(unit.map(|unit| unit.role));
    }
    let lives = tx.agent_list(task.spec.id, MAX_AGENTS_SEARCHED).await?;
    known.extend(lives.into_iter().map(|agent| agent.role.to_string()));
    if known.iter().any(|known| known == role.as_str()) {
        return Ok(());
    }
    known.sort();
    known.dedup();
    let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
    Err(MessageError::UnknownRole { role: role.clone(), known })
}

/// Stores an instruction for the agent in a role of an open task, in the transaction of the change that it is about. The
/// caller has locked the task, after that of its request.
pub async fn instruct_agent(
    tx: &mut Tx,
    task: &Task,
    to: Role,
    (kind, text): (InstructionKind, &str),
    now: DateTime<Utc>,
) -> Result<(), MessageError> {
    let (text, context) = (text.to_owned(), json!({}));
    let instruction = NewInstruction { to, kind, text, context, work_unit: None, key: None };
    store_instruction(tx, task, instruction, now).await?;
    Ok(())
}

/// Stores an instruction. Without a key, the newest undelivered instruction is reused if it is identical; an older one is
/// undone by those after it.
pub(crate) async fn store_instruction(
    tx: &mut Tx,
    task: &Task,
    instruction: NewInstruction,
    now: DateTime<Utc>,
) -> Result<AgentMessage, MessageError> {
    let id = MessageId::generate();
    let has_key = instruction.key.is_some();
    let message = NewAgentMessage {
        id,
        task: task.spec.id,
        agent: None,
        sender: PM.to_owned(),
        recipient: instruction.to.to_string(),
        kind: MessageKind::Instruction,
        subtype: instruction.kind.as_str().to_owned(),
        component: None,
        work_unit: instruction.work_unit,
        content: instruction.text.redact_secrets(),
        payload: instruction.context.redact_secrets(),
        idempotency_key: instruction.key.unwrap_or_else(|| format!("id:{id}")),
        created_at: now,
    };
    let before = if has_key {
        tx.message_by_key(message.task, PM, &message.idempotency_key).await?
    } else {
        let waiting = tx.message_pending(message.task, &message.recipient, MAX_DELIVERED).await?;
        // Oldest first.
        let newest = waiting.into_iter().rfind(|waits| waits.delivered_at.is_none());
        newest.filter(|newest| is_same_instruction(newest, &message))
    };
    match before {
        Some(before) if is_same_instruction(&before, &message) => return Ok(before),
        Some(_) => return Err(MessageError::KeyReused),
        None => {}
    }
    tx.message_insert(&message).await?;
    append_message_event(tx, task, &message).await?;
    if let Some(parent) = &task.parent {
        apply_unit_instruction(tx, task, parent, instruction.kind, &message.content, now).await?;
    }
    match instruction.kind {
        InstructionKind::Abort => stop_job(tx, &instruction.to, &message).await?,
        InstructionKind::Pause => {}
        InstructionKind::Continue
        | InstructionKind::Revise
        | InstructionKind::ExpandScope
        | InstructionKind::ReduceScope => restart_deadline(tx, task, &instruction.to).await?,
    }
    Ok(AgentMessage::new(message))
}

/// Gives a paused agent, whose deadline did not run, the whole time to read an instruction to go on.
async fn restart_deadline(tx: &mut Tx, task: &Task, role: &Role) -> Result<(), MessageError> {
    let agent = tx.agent_in_role(task.spec.id, role).await?;
    if let Some(job) =
        agent.filter(|agent| agent.status == AgentStatus::Paused).and_then(|agent| agent.job)
    {
        tx.job_record_sign(job).await?;
    }
    Ok(())
}

/// Requests that the running job of the aborted agent is stopped. The ending of the job names the instruction.
async fn stop_job(tx: &mut Tx, role: &Role, abort: &NewAgentMessage) -> Result<(), MessageError> {
    let agent = tx.agent_in_role(abort.task, role).await?;
    let job = agent.filter(|agent| !agent.status.is_terminal()).and_then(|agent| agent.job);
    let Some(job) = job else { return Ok(()) };
    let text = truncate_chars(&abort.content, MAX_REASON_CHARS);
    let reason =
        format!("the project manager aborted the agent: {text} (instruction {})", abort.id);
    tx.job_request_stop(job, &json!(JobEnding::Interrupted { reason })).await?;
    Ok(())
}

fn is_same_instruction(before: &AgentMessage, new: &NewAgentMessage) -> bool {
    let before = &before.sent;
    before.recipient == new.recipient
        && before.subtype == new.subtype
        && before.content == new.content
        && before.payload == new.payload
}
