//! Conversations: threads of a user in a project, and what was said in them.

use std::sync::LazyLock;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChatMessageId, ChatTurnId, ProjectId, ThreadId, UserId};
use serde_json::Value;

use crate::column::Row;
use crate::many::Inserts;
use crate::param::{Param, params};
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A conversation of a user in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The thread's id.
    pub id: ThreadId,
    /// Whose it is.
    pub user: UserId,
    /// What it is about.
    pub project: ProjectId,
    /// Its place among the user's threads in the project, from 1; the last one goes on.
    pub number: i64,
    /// What people call it.
    pub title: Option<String>,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When something was last said in it; when it began if nothing was. Not written by an insert.
    pub updated_at: DateTime<Utc>,
}

/// Something that was said; without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadMessage {
    /// The message's id; later messages have greater ones.
    pub id: ChatMessageId,
    /// Where it was said.
    pub thread: ThreadId,
    /// By whom: `user`, `assistant` or `tool`.
    pub role: String,
    /// What was said.
    pub content: String,
    /// Whether it was cut off.
    pub is_partial: bool,
    /// What else is known, such as the model.
    pub metadata: Value,
    /// The turn it belongs to, if later turns may name that one.
    pub turn: Option<ChatTurnId>,
    /// When it was said.
    pub created_at: DateTime<Utc>,
}

/// Where a user's chat takes place who names no project, and what holds there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The user's default project.
    pub project: ProjectId,
    /// The user's thread there that goes on.
    pub latest: Option<Thread>,
    /// Whether there are preferences for everybody, for the user or for the project.
    pub has_preferences: bool,
    /// The revision of what calls are decided by.
    pub revision: i64,
}

/// Conversations. A message never changes; a user has at most one thread of a number in a project.
#[async_trait]
pub trait ThreadStore {
    /// Adds a thread; false if there is one with its number.
    async fn thread_insert(&mut self, thread: &Thread) -> Result<bool, Error>;
    /// The thread with this id.
    async fn thread_get(&mut self, id: ThreadId) -> Result<Option<Thread>, Error>;
    /// The user's thread in the project that goes on.
    async fn thread_latest(
        &mut self,
        user: UserId,
        project: ProjectId,
    ) -> Result<Option<Thread>, Error>;
    /// What a turn in the user's default project begins with, in one statement; nothing without such
    /// a project.
    async fn thread_at_home(&mut self, user: UserId) -> Result<Option<Home>, Error>;
    /// A page of the user's threads, newest first, older than `before`; of one project, or of all.
    async fn thread_list(
        &mut self,
        user: UserId,
        project: Option<ProjectId>,
        before: Option<ThreadId>,
        limit: u32,
    ) -> Result<Vec<Thread>, Error>;
    /// Adds a message.
    async fn thread_say(&mut self, message: &ThreadMessage) -> Result<(), Error>;
    /// The newest messages, oldest of them first.
    async fn thread_tail(
        &mut self,
        thread: ThreadId,
        limit: u32,
    ) -> Result<Vec<ThreadMessage>, Error>;
    /// What was said in a turn that has a name, oldest first.
    async fn thread_turn(
        &mut self,
        thread: ThreadId,
        turn: ChatTurnId,
        limit: u32,
    ) -> Result<Vec<ThreadMessage>, Error>;
    /// A page of messages, oldest first, after `after`.
    async fn thread_messages(
        &mut self,
        thread: ThreadId,
        after: Option<ChatMessageId>,
        limit: u32,
    ) -> Result<Vec<ThreadMessage>, Error>;
}

/// The columns of a thread, with the time of its newest message.
pub(crate) const THREAD: &str = "SELECT t.*, coalesce((SELECT m.created_at FROM chat_messages m
                      WHERE m.thread_id = t.id ORDER BY m.id DESC LIMIT 1), t.created_at)
                      AS updated_at FROM chat_threads t";

/// The columns of a message, in the order of [`message_params`].
const MESSAGE: &[&str] =
    &["id", "thread_id", "role", "content", "is_partial", "metadata", "turn_id", "created_at"];

/// Adds messages.
pub(crate) static MESSAGE_INSERTS: LazyLock<Inserts> =
    LazyLock::new(|| Inserts::for_table("chat_messages", MESSAGE));

/// A message as the values of its row.
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

#[async_trait]
impl ThreadStore for Tx {
    async fn thread_insert(&mut self, thread: &Thread) -> Result<bool, Error> {
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

    async fn thread_get(&mut self, id: ThreadId) -> Result<Option<Thread>, Error> {
        let sql = format!("{THREAD} WHERE t.id = $1");
        self.one(&tables::THREADS, &sql, params![id], thread).await
    }

    async fn thread_latest(
        &mut self,
        user: UserId,
        project: ProjectId,
    ) -> Result<Option<Thread>, Error> {
        let sql = format!(
            "{THREAD} WHERE t.user_id = $1 AND t.project_id = $2 ORDER BY t.number DESC LIMIT 1"
        );
        self.one(&tables::THREADS, &sql, params![user, project], thread).await
    }

    async fn thread_at_home(&mut self, user: UserId) -> Result<Option<Home>, Error> {
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
        Ok(Some(Home {
            project: row.id("home")?,
            latest: row.id_opt::<ThreadId>("id")?.map(|_| thread(&row)).transpose()?,
            has_preferences: row.get("has_preferences")?,
            revision: row.get("revision")?,
        }))
    }

    async fn thread_list(
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

    async fn thread_say(&mut self, message: &ThreadMessage) -> Result<(), Error> {
        self.execute(MESSAGE_INSERTS.one(), &message_params(message)).await.map(drop)
    }

    async fn thread_tail(
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

    async fn thread_turn(
        &mut self,
        thread: ThreadId,
        turn: ChatTurnId,
        limit: u32,
    ) -> Result<Vec<ThreadMessage>, Error> {
        let sql = "SELECT * FROM chat_messages WHERE thread_id = $1 AND turn_id = $2
                   ORDER BY id LIMIT $3";
        self.page(&tables::CHAT_MESSAGES, sql, params![thread, turn, limit], message).await
    }

    async fn thread_messages(
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
