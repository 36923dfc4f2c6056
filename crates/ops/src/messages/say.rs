//! Everything an agent says to the project manager.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{MessageKind, PM};
use cynode_domain::ids::MessageId;
use cynode_domain::status::AgentStatus;
use cynode_store::{
    EventStore, Message, MessageStore, NewEvent, NewMessage, Task, TaskAgent, TaskAgentStore, Tx,
};
use cynode_wire::apmas::{InstructionView, SaidView};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::answer::dispose;
use super::instruct::tell;
use super::{MAX_ITEMS, MAX_MESSAGES, MessageError, Messages, Speaker};
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;
use crate::tasks::event;

/// What an agent wants to say.
pub(crate) struct Draft {
    pub(crate) kind: MessageKind,
    pub(crate) subtype: &'static str,
    pub(crate) component: Option<String>,
    pub(crate) work_unit: Option<String>,
    pub(crate) content: String,
    pub(crate) payload: Value,
    /// The agent's own key for it.
    pub(crate) key: Option<String>,
}

/// What saying it changes about the agent.
#[derive(Default)]
pub(crate) struct Change {
    pub(crate) to: Option<AgentStatus>,
    pub(crate) artifacts: Vec<String>,
    pub(crate) progress: Option<String>,
}

impl Draft {
    fn cleaned(self) -> Self {
        Self {
            component: self.component.without_secrets(),
            content: self.content.without_secrets(),
            payload: self.payload.without_secrets(),
            ..self
        }
    }
}

impl Change {
    fn cleaned(self) -> Self {
        Self {
            artifacts: self.artifacts.without_secrets(),
            progress: self.progress.without_secrets(),
            ..self
        }
    }
}

/// What was said, and how the agent stands after it.
pub(crate) struct Said {
    pub(crate) message: MessageId,
    pub(crate) is_repeated: bool,
    pub(crate) agent: TaskAgent,
    pub(crate) told: Vec<InstructionView>,
}

impl Messages {
    /// Says something in one transaction.
    pub(super) async fn say(
        &self,
        speaker: Speaker,
        draft: Draft,
        change: Change,
    ) -> Result<Said, MessageError> {
        let said = self
            .store
            .write(move |tx| Box::pin(async move { say(tx, &speaker, draft, change).await }))
            .await?;
        self.signals.send(Topic::Events);
        Ok(said)
    }
}

/// Says it, unless the speaker has said the same before: then gives that.
pub(super) async fn say(
    tx: &mut Tx,
    speaker: &Speaker,
    draft: Draft,
    change: Change,
) -> Result<Said, MessageError> {
    let draft = draft.cleaned();
    match speaker.enter(tx).await {
        Ok((task, agent)) => say_as(tx, &task, agent, (draft, change), speaker.now).await,
        // Whoever missed the answer to its last words asks again after it has ended.
        Err(refusal @ MessageError::Ended { .. }) => {
            let agent = speaker.life(tx).await?.ok_or(MessageError::Nameless)?;
            let key = draft.key(tx, &agent).await?;
            match tx.message_by_key(agent.task, agent.role.as_str(), &key).await? {
                Some(before) if draft.is(&before) => {
                    Ok(Said { message: before.sent.id, is_repeated: true, agent, told: vec![] })
                }
                _ => Err(refusal),
            }
        }
        Err(refusal) => Err(refusal),
    }
}

/// Says it as an agent that is there.
pub(crate) async fn say_as(
    tx: &mut Tx,
    task: &Task,
    mut agent: TaskAgent,
    (draft, change): (Draft, Change),
    now: DateTime<Utc>,
) -> Result<Said, MessageError> {
    let (draft, change) = (draft.cleaned(), change.cleaned());
    let key = draft.key(tx, &agent).await?;
    if let Some(before) = tx.message_by_key(agent.task, agent.role.as_str(), &key).await? {
        if !draft.is(&before) {
            return Err(MessageError::KeyReused);
        }
        let told = tell(tx, &mut agent, now).await?;
        return Ok(Said { message: before.sent.id, is_repeated: true, agent, told });
    }
    if tx.message_count_to(agent.task, PM).await? >= MAX_MESSAGES {
        return Err(MessageError::TooMany);
    }
    apply(&mut agent, change, now)?;
    let message = draft.message(&agent, key, now);
    tx.message_insert(&message).await?;
    tx.agent_update(&agent).await?;
    announce(tx, task, &message).await?;
    dispose(tx, task, &message).await?;
    let told = tell(tx, &mut agent, now).await?;
    Ok(Said { message: message.id, is_repeated: false, agent, told })
}

/// Lets everybody who watches the task know; what the message says is not in the event.
pub(super) async fn announce(
    tx: &mut Tx,
    task: &Task,
    message: &NewMessage,
) -> Result<(), MessageError> {
    let data = json!({
        "message_id": message.id,
        "sender": message.sender,
        "recipient": message.recipient,
        "kind": message.kind,
        "type": message.subtype,
        "work_unit_id": message.work_unit,
    });
    let said: NewEvent = event(task, "agent.message", data);
    Ok(tx.event_append(&said).await?)
}

/// Moves the agent and remembers what it named. Only the project manager ends a wait for help.
fn apply(agent: &mut TaskAgent, change: Change, now: DateTime<Utc>) -> Result<(), MessageError> {
    agent.last_heartbeat_at = now;
    match change.to {
        Some(AgentStatus::Running) if agent.status == AgentStatus::Escalated => {
            return Err(MessageError::WaitsForHelp(agent.role.clone()));
        }
        Some(to) if to != agent.status => move_to(agent, agent.status.advance(to)?, now),
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

pub(super) fn move_to(agent: &mut TaskAgent, status: AgentStatus, now: DateTime<Utc>) {
    agent.status = status;
    if status.is_terminal() {
        agent.ended_at = Some(now);
    }
}

impl Draft {
    /// The key the agent gave, or one made of what it says. The same words mean something new after
    /// the project manager has spoken, so how often it did is part of the key.
    async fn key(&self, tx: &mut Tx, agent: &TaskAgent) -> Result<String, MessageError> {
        if let Some(key) = &self.key {
            super::at_most("idempotencyKey", key, 200)?;
            return Ok(format!("given:{}:{key}", agent.id));
        }
        let heard = tx.message_count_to(agent.task, agent.role.as_str()).await?;
        let said = json!([
            self.kind,
            self.subtype,
            self.component,
            self.work_unit,
            self.content,
            self.payload,
            heard
        ]);
        Ok(format!("said:{}:{}", agent.id, hex::encode(Sha256::digest(said.to_string()))))
    }

    fn is(&self, before: &Message) -> bool {
        let sent = &before.sent;
        self.kind == sent.kind
            && self.subtype == sent.subtype
            && self.component == sent.component
            && self.work_unit == sent.work_unit
            && self.content == sent.content
            && self.payload == sent.payload
    }

    fn message(self, agent: &TaskAgent, key: String, now: DateTime<Utc>) -> NewMessage {
        NewMessage {
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

impl From<Said> for SaidView {
    fn from(said: Said) -> Self {
        Self {
            message_id: said.message,
            repeated: said.is_repeated,
            agent_status: said.agent.status.as_str().to_owned(),
            instructions: said.told,
        }
    }
}
