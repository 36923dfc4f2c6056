//! Chat threads of users in projects, and their messages.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChatMessageId, ChatTurnId, ProjectId, ThreadId, UserId};
use serde_json::Value;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::InsertStatements;
use cynode_sql::Row;
use cynode_sql::{Param, params};

/// A chat thread of a user in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub id: ThreadId,
    pub user: UserId,
    pub project: ProjectId,
    /// Its number among the user's threads in the project, from 1; the highest is the current thread.
    pub number: i64,
    pub title: Option<String>,
    pub created_at: DateTime<Utc>,
    /// When the newest message was added, or the thread was created. An insert ignores it.
    pub updated_at: DateTime<Utc>,
}

/// A chat message, with secrets redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadMessage {
    /// Later messages have greater ids.
    pub id: ChatMessageId,
    pub thread: ThreadId,
    /// `user`, `assistant` or `tool`.
    pub role: String,
    pub content: String,
    /// Whether the message was truncated.
    pub is_partial: bool,
    /// Further data, such as the model.
    pub metadata: Value,
    /// The turn it belongs to, if later turns may reference that turn.
    pub turn: Option<ChatTurnId>,
    pub created_at: DateTime<Utc>,
}

/// The default project of a user, with the data that a chat turn in it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultProjectContext {
    pub project: ProjectId,
    /// The user's current thread in it.
    pub current_thread: Option<Thread>,
    /// Whether there are system, user or project preferences.
    pub has_preferences: bool,
    /// The revision of the access policy.
    pub revision: i64,
}

/// Selects threads with the time of their newest message.
pub(crate) const THREAD: &str = "SELECT t.*, coalesce((SELECT m.created_at FROM chat_messages m
                      WHERE m.thread_id = t.id ORDER BY m.id DESC LIMIT 1), t.created_at)
                      AS updated_at FROM chat_threads t";

/// The columns of a message, in the order of [`message_params`].
const MESSAGE: &str = "id, thread_id, role, content, is_partial, metadata, turn_id, created_at";

pub(crate) static MESSAGE_INSERTS: LazyLock<InsertStatements> =
    LazyLock::new(|| InsertStatements::for_table("chat_messages", MESSAGE));

/// The values of a message's row.
pub(crate) fn message_params(message: &ThreadMessage) -> [Param; 8] {
    [
        message.id.into(),
        message.thread.into(),
        (&message.role).into(),
        (&message.content).into(),
        message.is_partial.into(),
        (&message.metadata).into(),
        message.turn.into(),
        message.created_at.into(),
    ]
}

/// Chat threads. A message is immutable; thread numbers are unique per user and project.
impl Tx {
    /// Adds a thread; returns false if its number is taken.
    pub async fn thread_insert(&mut self, thread: &Thread) -> Result<bool, Error> {
        let sql = "INSERT INTO chat_threads (id, user_id, project_id, number, title, created_at)
                   VALUES ($1, $2, $3, $4, $5, $6)
                   ON CONFLICT (user_id, project_id, number) DO NOTHING";
        let params = params![
            thread.id,
            thread.user,
            thread.project,
            thread.number,
            thread.title.clone(),
            thread.created_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn thread_get(&mut self, id: ThreadId) -> Result<Option<Thread>, Error> {
        let sql = format!("{THREAD} WHERE t.id = $1");
        self.one(&tables::THREADS, &sql, params![id], thread).await
    }

    /// Returns the user's current thread in the project.
    pub async fn thread_latest(
        &mut self,
        user: UserId,
        project: ProjectId,
    ) -> Result<Option<Thread>, Error> {
        let sql = format!(
            "{THREAD} WHERE t.user_id = $1 AND t.project_id = $2 ORDER BY t.number DESC LIMIT 1"
        );
        self.one(&tables::THREADS, &sql, params![user, project], thread).await
    }

    /// Loads the data that a turn in the user's default project needs, in one statement; `None` without such a
    /// project.
    pub async fn default_project_context_get(
        &mut self,
        user: UserId,
    ) -> Result<Option<DefaultProjectContext>, Error> {
        let sql = "SELECT p.id AS home, t.*, coalesce((SELECT m.created_at FROM chat_messages m
                   WHERE m.thread_id = t.id ORDER BY m.id DESC LIMIT 1), t.created_at)
                   AS updated_at, (SELECT revision FROM policy_revision) AS revision,
                   (EXISTS (SELECT 1 FROM preference_entries WHERE scope_id IS NULL)
                    OR EXISTS (SELECT 1 FROM preference_entries
                               WHERE scope_type = 'user' AND scope_id = $1)
                    OR EXISTS (SELECT 1 FROM user_group_members m
                               JOIN preference_entries e ON e.scope_type = 'group'
                               AND e.scope_id = m.group_id WHERE m.user_id = $1)
                    OR EXISTS (SELECT 1 FROM preference_entries
                               WHERE scope_type = 'project' AND scope_id = p.id))
                   AS has_preferences
                   FROM projects p LEFT JOIN chat_threads t ON t.id = (
                       SELECT l.id FROM chat_threads l WHERE l.user_id = $1
                       AND l.project_id = p.id ORDER BY l.number DESC LIMIT 1)
                   WHERE p.owner_id = $1 AND p.is_default";
        let Some(row) = self.row(sql, params![user]).await? else { return Ok(None) };
        Ok(Some(DefaultProjectContext {
            project: row.id("home")?,
            current_thread: row.id_opt::<ThreadId>("id")?.map(|_| thread(&row)).transpose()?,
            has_preferences: row.get("has_preferences")?,
            revision: row.get("revision")?,
        }))
    }

    /// Lists a page of the user's threads, newest first, older than `before`; of one project, or of all.
    pub async fn thread_list(
        &mut self,
        user: UserId,
        project: Option<ProjectId>,
        before: Option<ThreadId>,
        limit: u32,
    ) -> Result<Vec<Thread>, Error> {
        let sql = format!(
            "{THREAD} WHERE t.user_id = $1
             AND ($2 /*pg ::uuid */ IS NULL OR t.project_id = $2)
             AND ($3 /*pg ::uuid */ IS NULL OR t.id < $3)
             ORDER BY t.id DESC LIMIT $4"
        );
        let params = params![user, project, before, limit];
        self.page(&tables::THREADS, &sql, params, thread).await
    }

    pub async fn thread_message_insert(&mut self, message: &ThreadMessage) -> Result<(), Error> {
        self.execute(MESSAGE_INSERTS.one(), &message_params(message)).await.map(drop)
    }

    /// Lists the newest messages, oldest first.
    pub async fn thread_message_tail(
        &mut self,
        thread: ThreadId,
        limit: u32,
    ) -> Result<Vec<ThreadMessage>, Error> {
        let sql = "SELECT * FROM chat_messages WHERE thread_id = $1 ORDER BY id DESC LIMIT $2";
        let params = params![thread, limit];
        let mut tail = self.page(&tables::CHAT_MESSAGES, sql, params, message).await?;
        tail.reverse();
        Ok(tail)
    }

    /// Lists the messages of a turn that can be referenced, oldest first.
    pub async fn thread_turn_messages(
        &mut self,
        thread: ThreadId,
        turn: ChatTurnId,
        limit: u32,
    ) -> Result<Vec<ThreadMessage>, Error> {
        let sql = "SELECT * FROM chat_messages WHERE thread_id = $1 AND turn_id = $2
                   ORDER BY id LIMIT $3";
        self.page(&tables::CHAT_MESSAGES, sql, params![thread, turn, limit], message).await
    }

    /// Lists a page of messages, oldest first, after `after`.
    pub async fn thread_messages(
        &mut self,
        thread: ThreadId,
        after: Option<ChatMessageId>,
        limit: u32,
    ) -> Result<Vec<ThreadMessage>, Error> {
        let sql = "SELECT * FROM chat_messages WHERE thread_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id > $2) ORDER BY id LIMIT $3";
        self.page(&tables::CHAT_MESSAGES, sql, params![thread, after, limit], message).await
    }
}

pub(crate) fn thread(row: &Row) -> Result<Thread, Error> {
    Ok(Thread {
        id: row.id("id")?,
        user: row.id("user_id")?,
        project: row.id("project_id")?,
        number: row.get("number")?,
        title: row.get("title")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

pub(crate) fn message(row: &Row) -> Result<ThreadMessage, Error> {
    Ok(ThreadMessage {
        id: row.id("id")?,
        thread: row.id("thread_id")?,
        role: row.get("role")?,
        content: row.get("content")?,
        is_partial: row.get("is_partial")?,
        metadata: row.get("metadata")?,
        turn: row.id_opt("turn_id")?,
        created_at: row.get("created_at")?,
    })
}
