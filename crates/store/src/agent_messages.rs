//! Messages between agents and the project manager.

use chrono::{DateTime, Utc};
use cynode_domain::agent::MessageKind;
use cynode_domain::ids::{AgentId, MessageId, ProjectId, TaskId, UserId};
use serde_json::Value;

use crate::quarantine::tables;
use crate::{Error, ListedProfiles, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A message as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgentMessage {
    pub id: MessageId,
    pub task: TaskId,
    /// The agent instance that sent it; `None` for the project manager.
    pub agent: Option<AgentId>,
    /// The sender: a role, or `pm`.
    pub sender: String,
    /// The recipient: a role, or `pm`.
    pub recipient: String,
    pub kind: MessageKind,
    /// The type within `kind`.
    pub subtype: String,
    pub component: Option<String>,
    pub work_unit: Option<String>,
    /// The text for people.
    pub content: String,
    /// The structured data for programs.
    pub payload: Value,
    /// Messages of one sender with the same key are stored once.
    pub idempotency_key: String,
    pub created_at: DateTime<Utc>,
}

/// A message with its delivery state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMessage {
    pub sent: NewAgentMessage,
    /// When the recipient first fetched it.
    pub delivered_at: Option<DateTime<Utc>>,
    /// When the recipient last fetched it again.
    pub redelivered_at: Option<DateTime<Utc>>,
    /// When the recipient acknowledged it.
    pub acknowledged_at: Option<DateTime<Utc>>,
    /// When the project manager finished processing it.
    pub processed_at: Option<DateTime<Utc>>,
    /// Why the project manager abandoned it.
    pub abandon_reason: Option<String>,
    /// Why a person must answer it.
    pub escalation_reason: Option<String>,
    /// The handle of the person who answered it.
    pub answered_by: Option<String>,
}

impl AgentMessage {
    /// A message that is not delivered, acknowledged or processed yet.
    pub const fn new(sent: NewAgentMessage) -> Self {
        Self {
            sent,
            delivered_at: None,
            redelivered_at: None,
            acknowledged_at: None,
            processed_at: None,
            abandon_reason: None,
            escalation_reason: None,
            answered_by: None,
        }
    }
}

/// Sort order of a message list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageOrder {
    #[default]
    NewestFirst,
    OldestFirst,
}

/// Selects messages of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// Only tasks of this user; all users if absent.
    pub owner: Option<UserId>,
    pub project: Option<ProjectId>,
    /// Only messages on tasks of these profiles.
    pub profiles: ListedProfiles,
    pub task: Option<TaskId>,
    /// Sender or recipient.
    pub role: Option<String>,
    pub kind: Option<MessageKind>,
    /// Only messages the project manager has not processed.
    pub is_unprocessed: bool,
    /// Only messages of open tasks that wait for a person.
    pub waits_for_person: bool,
    pub order: MessageOrder,
    /// The last message of the previous page.
    pub after: Option<MessageId>,
    pub limit: u32,
}

/// Messages between agents and the project manager. A message is immutable; each of its timestamps is set once.
impl Tx {
    /// Adds a message; returns false if the sender already used the idempotency key.
    pub async fn message_insert(&mut self, message: &NewAgentMessage) -> Result<bool, Error> {
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

    pub async fn message_get(&mut self, id: MessageId) -> Result<Option<AgentMessage>, Error> {
        let sql = "SELECT * FROM agent_messages WHERE id = $1";
        self.one(&tables::AGENT_MESSAGES, sql, params![id], message).await
    }

    /// Returns the message with this idempotency key.
    pub async fn message_by_key(
        &mut self,
        task: TaskId,
        sender: &str,
        key: &str,
    ) -> Result<Option<AgentMessage>, Error> {
        let sql = "SELECT * FROM agent_messages
                   WHERE task_id = $1 AND sender = $2 AND idempotency_key = $3";
        self.one(&tables::AGENT_MESSAGES, sql, params![task, sender, key], message).await
    }

    /// Lists a page of messages.
    pub async fn message_list(
        &mut self,
        filter: &MessageFilter,
    ) -> Result<Vec<AgentMessage>, Error> {
        // Literals, not parameters: the planner must match the predicate of the partial index.
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
        let profiles = filter.profiles.and_condition("t");
        let sql = format!(
            "SELECT m.* FROM agent_messages m JOIN tasks t ON t.id = m.task_id
             WHERE ($1 /*pg ::uuid */ IS NULL OR t.created_by = $1)
             AND ($2 /*pg ::uuid */ IS NULL OR t.project_id = $2)
             AND ($3 /*pg ::uuid */ IS NULL OR m.task_id = $3)
             AND ($4 /*pg ::text */ IS NULL OR m.sender = $4 OR m.recipient = $4)
             AND ($5 /*pg ::text */ IS NULL OR m.kind = $5)
             AND ($6 /*pg ::uuid */ IS NULL OR m.id {beyond} $6) {waits}{profiles}
             ORDER BY m.id {order} LIMIT $7"
        );
        let params = params![
            filter.owner,
            filter.project,
            filter.task,
            filter.role.clone(),
            filter.kind,
            filter.after,
            filter.limit,
        ];
        self.page(&tables::AGENT_MESSAGES, &sql, params, message).await
    }

    /// Lists instructions that a role has not acknowledged: undelivered ones first, then oldest first.
    pub async fn message_pending(
        &mut self,
        task: TaskId,
        role: &str,
        limit: u32,
    ) -> Result<Vec<AgentMessage>, Error> {
        let sql = "SELECT * FROM agent_messages WHERE task_id = $1 AND recipient = $2
                   AND acknowledged_at IS NULL AND kind = 'instruction'
                   ORDER BY CASE WHEN delivered_at IS NULL THEN 0 ELSE 1 END, id LIMIT $3";
        self.page(&tables::AGENT_MESSAGES, sql, params![task, role, limit], message).await
    }

    /// Whether an instruction waits for the open agent of a holder: one that was not delivered, or one that was delivered
    /// before `overdue` and not acknowledged.
    pub async fn message_is_due(
        &mut self,
        task: TaskId,
        holder: &str,
        overdue: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "SELECT 1 AS due FROM task_agents a JOIN agent_messages m
                   ON m.task_id = a.task_id AND m.recipient = a.role
                   WHERE a.task_id = $1 AND a.holder = $2 AND NOT a.closed
                   AND m.acknowledged_at IS NULL AND m.kind = 'instruction'
                   AND (m.delivered_at IS NULL
                        OR coalesce(m.redelivered_at, m.delivered_at) < $3) LIMIT 1";
        Ok(self.row(sql, params![task, holder, overdue]).await?.is_some())
    }

    /// Counts the messages sent to a recipient.
    pub async fn message_count_to(&mut self, task: TaskId, recipient: &str) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS n FROM agent_messages WHERE task_id = $1 AND recipient = $2";
        self.row(sql, params![task, recipient]).await?.map_or(Ok(0), |row| row.get("n"))
    }

    /// Marks a message as delivered, or as delivered again.
    pub async fn message_deliver(&mut self, id: MessageId, at: DateTime<Utc>) -> Result<(), Error> {
        let sql = "UPDATE agent_messages SET delivered_at = coalesce(delivered_at, $2),
                   redelivered_at = CASE WHEN delivered_at IS NULL THEN NULL ELSE $2 END
                   WHERE id = $1";
        self.execute(sql, params![id, at]).await.map(drop)
    }

    /// Marks an instruction as acknowledged; returns false if it does not exist or already was.
    pub async fn message_acknowledge(
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

    /// Marks a message as processed; returns false if it already was.
    pub async fn message_mark_processed(
        &mut self,
        id: MessageId,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET processed_at = $2
                   WHERE id = $1 AND recipient = 'pm' AND processed_at IS NULL";
        Ok(self.execute(sql, params![id, at]).await? == 1)
    }

    /// Escalates a message to a person with a reason; returns false if it is processed or escalated already.
    pub async fn message_escalate(&mut self, id: MessageId, why: &str) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET needs_person = $2 WHERE id = $1
                   AND recipient = 'pm' AND processed_at IS NULL AND needs_person IS NULL";
        Ok(self.execute(sql, params![id, why]).await? == 1)
    }

    /// Records the answer of a person; returns false if the message is already processed.
    pub async fn message_answer(
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

pub(crate) fn message(row: &Row) -> Result<AgentMessage, Error> {
    Ok(AgentMessage {
        sent: NewAgentMessage {
            id: row.id("id")?,
            task: row.id("task_id")?,
            agent: row.id_opt("agent_id")?,
            sender: row.get("sender")?,
            recipient: row.get("recipient")?,
            kind: row.keyword("kind")?,
            subtype: row.get("subtype")?,
            component: row.get("component")?,
            work_unit: row.get("work_unit_id")?,
            content: row.get("content")?,
            payload: row.get("payload")?,
            idempotency_key: row.get("idempotency_key")?,
            created_at: row.get("created_at")?,
        },
        delivered_at: row.get("delivered_at")?,
        redelivered_at: row.get("redelivered_at")?,
        acknowledged_at: row.get("acknowledged_at")?,
        processed_at: row.get("processed_at")?,
        abandon_reason: row.get("given_up")?,
        escalation_reason: row.get("needs_person")?,
        answered_by: row.get("answered_by")?,
    })
}
