//! Persists messages of agents to the project manager.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{MessageKind, PM};
use cynode_domain::ids::MessageId;
use cynode_domain::status::AgentStatus;
use cynode_store::{AgentMessage, NewAgentMessage, NewEvent, Task, TaskAgent, Tx};
use cynode_wire::apmas::{InstructionView, MAX_IDEMPOTENCY_KEY_CHARS, MessageReceiptView};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::answer::apply_disposition;
use super::delivery::deliver_instructions;
use super::unit_attempt::apply_unit_message;
use super::{AgentMessages, MAX_ITEMS, MAX_MESSAGES, MessageError, RoleClaim};
use cynode_execution::tasks::{TaskError, task_event};
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;

/// A message before it is persisted.
pub(crate) struct MessageDraft {
    pub(crate) kind: MessageKind,
    pub(crate) subtype: &'static str,
    pub(crate) component: Option<String>,
    pub(crate) work_unit: Option<String>,
    pub(crate) content: String,
    pub(crate) payload: Value,
    /// Idempotency key chosen by the agent.
    pub(crate) key: Option<String>,
}

/// Changes of the agent that come with a message.
#[derive(Default)]
pub(crate) struct AgentChange {
    pub(crate) to: Option<AgentStatus>,
    pub(crate) artifacts: Vec<String>,
    pub(crate) progress: Option<String>,
}

impl MessageDraft {
    fn redacted(self) -> Self {
        Self {
            component: self.component.redact_secrets(),
            content: self.content.redact_secrets(),
            payload: self.payload.redact_secrets(),
            ..self
        }
    }
}

impl AgentChange {
    fn redacted(self) -> Self {
        Self {
            artifacts: self.artifacts.redact_secrets(),
            progress: self.progress.redact_secrets(),
            ..self
        }
    }
}

/// The persisted message and the agent after it.
pub(crate) struct MessageReceipt {
    pub(crate) message: MessageId,
    pub(crate) is_repeated: bool,
    pub(crate) agent: TaskAgent,
    pub(crate) instructions: Vec<InstructionView>,
    /// The note for the sender about the effect of the message.
    pub(crate) note: Option<&'static str>,
}

impl AgentMessages {
    /// Persists a message in one transaction.
    pub(super) async fn append(
        &self,
        speaker: RoleClaim,
        draft: MessageDraft,
        change: AgentChange,
    ) -> Result<MessageReceipt, MessageError> {
        let message = self
            .store
            .write(move |tx| {
                Box::pin(async move { append_message(tx, &speaker, draft, change).await })
            })
            .await?;
        self.signals.send(Topic::Messages);
        Ok(message)
    }
}

/// Persists a message; returns the earlier one if it is a repetition.
pub(super) async fn append_message(
    tx: &mut Tx,
    speaker: &RoleClaim,
    draft: MessageDraft,
    change: AgentChange,
) -> Result<MessageReceipt, MessageError> {
    let draft = draft.redacted();
    match speaker.claim_role(tx).await {
        Ok((task, agent)) => append_as_agent(tx, &task, agent, draft, change, speaker.now).await,
        Err(refusal @ MessageError::Task(TaskError::Closed { .. })) => {
            tracing::info!(task.id = %speaker.task, role = %speaker.role, "late message ignored");
            Err(refusal)
        }
        // An ended agent that missed the response to its last message may repeat it.
        Err(refusal @ MessageError::Ended { .. }) => {
            let agent = speaker.find_agent(tx).await?.ok_or(MessageError::RoleMissing)?;
            let key = draft.idempotency_key(tx, &agent).await?;
            match tx.message_by_key(agent.task, agent.role.as_str(), &key).await? {
                Some(before) if draft.is_same_message(&before) => Ok(MessageReceipt {
                    message: before.sent.id,
                    is_repeated: true,
                    agent,
                    instructions: vec![],
                    note: None,
                }),
                _ => Err(refusal),
            }
        }
        Err(refusal) => Err(refusal),
    }
}

/// Persists a message of a running agent.
pub(crate) async fn append_as_agent(
    tx: &mut Tx,
    task: &Task,
    mut agent: TaskAgent,
    draft: MessageDraft,
    change: AgentChange,
    now: DateTime<Utc>,
) -> Result<MessageReceipt, MessageError> {
    let (draft, change) = (draft.redacted(), change.redacted());
    let key = draft.idempotency_key(tx, &agent).await?;
    if let Some(before) = tx.message_by_key(agent.task, agent.role.as_str(), &key).await? {
        if !draft.is_same_message(&before) {
            return Err(MessageError::KeyReused);
        }
        let delivered = deliver_instructions(tx, &mut agent, now).await?;
        return Ok(MessageReceipt {
            message: before.sent.id,
            is_repeated: true,
            agent,
            instructions: delivered,
            note: None,
        });
    }
    if tx.message_count_to(agent.task, PM).await? >= MAX_MESSAGES {
        return Err(MessageError::TooMany);
    }
    apply_change(&mut agent, change, now)?;
    let message = draft.into_message(&agent, key, now);
    tx.message_insert(&message).await?;
    tx.agent_update(&agent).await?;
    append_message_event(tx, task, &message).await?;
    let note = if let Some(parent) = &task.parent {
        apply_unit_message(tx, task, parent, &message).await?
    } else {
        apply_disposition(tx, task, &message).await?;
        None
    };
    let instructions = deliver_instructions(tx, &mut agent, now).await?;
    Ok(MessageReceipt { message: message.id, is_repeated: false, agent, instructions, note })
}

/// Appends an event about the message, without its content.
pub(super) async fn append_message_event(
    tx: &mut Tx,
    task: &Task,
    message: &NewAgentMessage,
) -> Result<(), MessageError> {
    let data = json!({
        "message_id": message.id,
        "sender": message.sender,
        "recipient": message.recipient,
        "kind": message.kind,
        "type": message.subtype,
        "work_unit_id": message.work_unit,
    });
    let message: NewEvent = task_event(task, "agent.message", data);
    Ok(tx.event_append(&message).await?)
}

/// Applies a status change and the reported artifacts. Only the project manager ends a wait for
/// help.
fn apply_change(
    agent: &mut TaskAgent,
    change: AgentChange,
    now: DateTime<Utc>,
) -> Result<(), MessageError> {
    agent.last_heartbeat_at = now;
    match change.to {
        Some(AgentStatus::Running) if agent.status == AgentStatus::Escalated => {
            return Err(MessageError::WaitingForHelp(agent.role.clone()));
        }
        Some(to) if to != agent.status => set_status(agent, agent.status.advance(to)?, now),
        Some(_) | None => {}
    }
    for artifact in change.artifacts {
        if agent.artifacts.len() < MAX_ITEMS && !agent.artifacts.contains(&artifact) {
            agent.artifacts.push(artifact);
        }
    }
    if change.progress.is_some() {
        agent.progress = change.progress;
    }
    Ok(())
}

pub(super) fn set_status(agent: &mut TaskAgent, status: AgentStatus, now: DateTime<Utc>) {
    agent.status = status;
    if status.is_terminal() {
        agent.ended_at = Some(now);
    }
}

impl MessageDraft {
    /// Returns the agent's key, or a hash of the message. The same message means something new
    /// after a new instruction, so the number of instructions is part of the hash.
    async fn idempotency_key(
        &self,
        tx: &mut Tx,
        agent: &TaskAgent,
    ) -> Result<String, MessageError> {
        if let Some(key) = &self.key {
            super::check_max_bytes("idempotencyKey", key, MAX_IDEMPOTENCY_KEY_CHARS)?;
            return Ok(format!("given:{}:{key}", agent.id));
        }
        let heard = tx.message_count_to(agent.task, agent.role.as_str()).await?;
        let message = json!([
            self.kind,
            self.subtype,
            self.component,
            self.work_unit,
            self.content,
            self.payload,
            heard
        ]);
        Ok(format!("said:{}:{}", agent.id, hex::encode(Sha256::digest(message.to_string()))))
    }

    fn is_same_message(&self, before: &AgentMessage) -> bool {
        let sent = &before.sent;
        self.kind == sent.kind
            && self.subtype == sent.subtype
            && self.component == sent.component
            && self.work_unit == sent.work_unit
            && self.content == sent.content
            && self.payload == sent.payload
    }

    fn into_message(self, agent: &TaskAgent, key: String, now: DateTime<Utc>) -> NewAgentMessage {
        NewAgentMessage {
            id: MessageId::generate(),
            task: agent.task,
            agent: Some(agent.id),
            sender: agent.role.to_string(),
            recipient: PM.to_owned(),
            kind: self.kind,
            subtype: self.subtype.to_owned(),
            component: self.component,
            work_unit: self.work_unit,
            content: self.content,
            payload: self.payload,
            idempotency_key: key,
            created_at: now,
        }
    }
}

impl From<MessageReceipt> for MessageReceiptView {
    fn from(message: MessageReceipt) -> Self {
        Self {
            message_id: message.message,
            repeated: message.is_repeated,
            agent_status: message.agent.status.as_str().to_owned(),
            instructions: message.instructions,
            note: message.note.map(str::to_owned),
        }
    }
}
