//! What agents and the project manager say to each other.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::agent::MessageKind;
use cynode_domain::ids::{AgentId, MessageId, ProjectId, TaskId, UserId};
use serde_json::Value;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A message as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The message's id.
    pub id: MessageId,
    /// The task it is about.
    pub task: TaskId,
    /// The life that sent it; none for the project manager.
    pub agent: Option<AgentId>,
    /// Who sent it: a role, or `pm`.
    pub sender: String,
    /// Who gets it: a role, or `pm`.
    pub recipient: String,
    /// What kind it is.
    pub kind: MessageKind,
    /// The type within its kind.
    pub subtype: String,
    /// The component it is about.
    pub component: Option<String>,
    /// The work unit it is about.
    pub work_unit: Option<String>,
    /// What it says, for people.
    pub content: String,
    /// What it says, for programs.
    pub payload: Value,
    /// Two messages of one sender with the same key are one.
    pub idempotency_key: String,
    /// When it was sent.
    pub created_at: DateTime<Utc>,
}

/// A message and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The message.
    pub sent: NewMessage,
    /// When its recipient first got it.
    pub delivered_at: Option<DateTime<Utc>>,
    /// When its recipient said so.
    pub acknowledged_at: Option<DateTime<Utc>>,
    /// When the project manager was done with it.
    pub processed_at: Option<DateTime<Utc>>,
    /// Why the project manager does not deal with it any more.
    pub given_up: Option<String>,
    /// Why a person has to answer it.
    pub needs_person: Option<String>,
    /// The handle of the person who answered it.
    pub answered_by: Option<String>,
}

impl Message {
    /// A message to which nothing has happened yet.
    pub const fn new(sent: NewMessage) -> Self {
        Self {
            sent,
            delivered_at: None,
            acknowledged_at: None,
            processed_at: None,
            given_up: None,
            needs_person: None,
            answered_by: None,
        }
    }
}

/// Which end of the list comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageOrder {
    /// The newest.
    #[default]
    NewestFirst,
    /// The oldest.
    OldestFirst,
}

/// Which messages a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// On tasks of this user; of everybody when absent.
    pub owner: Option<UserId>,
    /// On tasks of this project.
    pub project: Option<ProjectId>,
    /// On this task.
    pub task: Option<TaskId>,
    /// From or to this role.
    pub role: Option<String>,
    /// Of this kind.
    pub kind: Option<MessageKind>,
    /// Only what waits for the project manager.
    pub is_unprocessed: bool,
    /// Only what waits for a person, on open tasks.
    pub waits_for_person: bool,
    /// Which end comes first.
    pub order: MessageOrder,
    /// Beyond this one.
    pub beyond: Option<MessageId>,
    /// At most this many.
    pub limit: u32,
}

/// What agents and the project manager say to each other. A message never changes; each of its
/// marks is set once.
#[async_trait]
pub trait MessageStore {
    /// Adds a message; false if its sender used its key before.
    async fn message_insert(&mut self, message: &NewMessage) -> Result<bool, Error>;
    /// The message with this id.
    async fn message_get(&mut self, id: MessageId) -> Result<Option<Message>, Error>;
    /// The message that has this key.
    async fn message_by_key(
        &mut self,
        task: TaskId,
        sender: &str,
        key: &str,
    ) -> Result<Option<Message>, Error>;
    /// A page of messages.
    async fn message_list(&mut self, filter: &MessageFilter) -> Result<Vec<Message>, Error>;
    /// Instructions that a role has not acknowledged: those it never got first, then oldest first.
    async fn message_pending(
        &mut self,
        task: TaskId,
        role: &str,
        limit: u32,
    ) -> Result<Vec<Message>, Error>;
    /// How many messages a recipient was sent.
    async fn message_count_to(&mut self, task: TaskId, recipient: &str) -> Result<i64, Error>;
    /// The recipient has it; false if it had before.
    async fn message_deliver(&mut self, id: MessageId, at: DateTime<Utc>) -> Result<bool, Error>;
    /// The recipient says that it has it; false if there is no such instruction, or it said so before.
    async fn message_acknowledge(
        &mut self,
        task: TaskId,
        role: &str,
        id: MessageId,
        at: DateTime<Utc>,
    ) -> Result<bool, Error>;
    /// The project manager is done with it; false if it was before.
    async fn message_process(&mut self, id: MessageId, at: DateTime<Utc>) -> Result<bool, Error>;
    /// Leaves a message to a person, who is told why; false if it was processed or left before.
    async fn message_ask_person(&mut self, id: MessageId, why: &str) -> Result<bool, Error>;
    /// A person has answered it; false if it was processed before.
    async fn message_answer(
        &mut self,
        id: MessageId,
        by: &str,
        at: DateTime<Utc>,
    ) -> Result<bool, Error>;
}

#[async_trait]
impl MessageStore for Tx {
    async fn message_insert(&mut self, message: &NewMessage) -> Result<bool, Error> {
        let sql = "INSERT INTO agent_messages (id, task_id, agent_id, sender, recipient, kind,
                   subtype, component, work_unit_id, content, payload, idempotency_key, created_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
                   ON CONFLICT (task_id, sender, idempotency_key) DO NOTHING";
        let params = params![
            message.id,
            message.task,
            message.agent,
            &message.sender,
            &message.recipient,
            message.kind,
            &message.subtype,
            message.component.clone(),
            message.work_unit.clone(),
            &message.content,
            &message.payload,
            &message.idempotency_key,
            message.created_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn message_get(&mut self, id: MessageId) -> Result<Option<Message>, Error> {
        let sql = "SELECT * FROM agent_messages WHERE id = $1";
        self.one(&tables::AGENT_MESSAGES, sql, params![id], message).await
    }

    async fn message_by_key(
        &mut self,
        task: TaskId,
        sender: &str,
        key: &str,
    ) -> Result<Option<Message>, Error> {
        let sql = "SELECT * FROM agent_messages
                   WHERE task_id = $1 AND sender = $2 AND idempotency_key = $3";
        self.one(&tables::AGENT_MESSAGES, sql, params![task, sender, key], message).await
    }

    async fn message_list(&mut self, filter: &MessageFilter) -> Result<Vec<Message>, Error> {
        // The words that the partial index knows cannot be parameters.
        let waits = match (filter.waits_for_person, filter.is_unprocessed) {
            (true, _) => {
                "AND m.recipient = 'pm' AND m.processed_at IS NULL AND NOT t.closed
                 AND (m.needs_person IS NOT NULL OR m.given_up IS NOT NULL)"
            }
            (false, true) => "AND m.recipient = 'pm' AND m.processed_at IS NULL",
            (false, false) => "",
        };
        let (beyond, order) = match filter.order {
            MessageOrder::NewestFirst => ("<", "DESC"),
            MessageOrder::OldestFirst => (">", "ASC"),
        };
        let sql = format!(
            "SELECT m.* FROM agent_messages m JOIN tasks t ON t.id = m.task_id
             WHERE ($1 /*pg ::uuid */ IS NULL OR t.created_by = $1)
             AND ($2 /*pg ::uuid */ IS NULL OR t.project_id = $2)
             AND ($3 /*pg ::uuid */ IS NULL OR m.task_id = $3)
             AND ($4 /*pg ::text */ IS NULL OR m.sender = $4 OR m.recipient = $4)
             AND ($5 /*pg ::text */ IS NULL OR m.kind = $5)
             AND ($6 /*pg ::uuid */ IS NULL OR m.id {beyond} $6) {waits}
             ORDER BY m.id {order} LIMIT $7"
        );
        let params = params![
            filter.owner,
            filter.project,
            filter.task,
            filter.role.clone(),
            filter.kind,
            filter.beyond,
            filter.limit,
        ];
        self.page(&tables::AGENT_MESSAGES, &sql, params, message).await
    }

    async fn message_pending(
        &mut self,
        task: TaskId,
        role: &str,
        limit: u32,
    ) -> Result<Vec<Message>, Error> {
        let sql = "SELECT * FROM agent_messages WHERE task_id = $1 AND recipient = $2
                   AND acknowledged_at IS NULL AND kind = 'instruction'
                   ORDER BY CASE WHEN delivered_at IS NULL THEN 0 ELSE 1 END, id LIMIT $3";
        self.page(&tables::AGENT_MESSAGES, sql, params![task, role, limit], message).await
    }

    async fn message_count_to(&mut self, task: TaskId, recipient: &str) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS n FROM agent_messages WHERE task_id = $1 AND recipient = $2";
        self.row(sql, params![task, recipient]).await?.map_or(Ok(0), |row| row.get("n"))
    }

    async fn message_deliver(&mut self, id: MessageId, at: DateTime<Utc>) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET delivered_at = $2
                   WHERE id = $1 AND delivered_at IS NULL";
        Ok(self.execute(sql, params![id, at]).await? == 1)
    }

    async fn message_acknowledge(
        &mut self,
        task: TaskId,
        role: &str,
        id: MessageId,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET acknowledged_at = $4,
                   delivered_at = coalesce(delivered_at, $4)
                   WHERE id = $3 AND task_id = $1 AND recipient = $2
                   AND kind = 'instruction' AND acknowledged_at IS NULL";
        Ok(self.execute(sql, params![task, role, id, at]).await? == 1)
    }

    async fn message_process(&mut self, id: MessageId, at: DateTime<Utc>) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET processed_at = $2
                   WHERE id = $1 AND recipient = 'pm' AND processed_at IS NULL";
        Ok(self.execute(sql, params![id, at]).await? == 1)
    }

    async fn message_ask_person(&mut self, id: MessageId, why: &str) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET needs_person = $2 WHERE id = $1
                   AND recipient = 'pm' AND processed_at IS NULL AND needs_person IS NULL";
        Ok(self.execute(sql, params![id, why]).await? == 1)
    }

    async fn message_answer(
        &mut self,
        id: MessageId,
        by: &str,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET answered_by = $2, processed_at = $3
                   WHERE id = $1 AND recipient = 'pm' AND processed_at IS NULL";
        Ok(self.execute(sql, params![id, by, at]).await? == 1)
    }
}

pub(crate) fn message(row: &Row) -> Result<Message, Error> {
    Ok(Message {
        sent: NewMessage {
            id: row.id("id")?,
            task: row.id("task_id")?,
            agent: row.id_opt("agent_id")?,
            sender: row.get("sender")?,
            recipient: row.get("recipient")?,
            kind: row.word("kind")?,
            subtype: row.get("subtype")?,
            component: row.get("component")?,
            work_unit: row.get("work_unit_id")?,
            content: row.get("content")?,
            payload: row.get("payload")?,
            idempotency_key: row.get("idempotency_key")?,
            created_at: row.get("created_at")?,
        },
        delivered_at: row.get("delivered_at")?,
        acknowledged_at: row.get("acknowledged_at")?,
        processed_at: row.get("processed_at")?,
        given_up: row.get("given_up")?,
        needs_person: row.get("needs_person")?,
        answered_by: row.get("answered_by")?,
    })
}
