//! Users, their passwords, and the record of sign-ins.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use uuid::Uuid;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A person or service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The user's id.
    pub id: UserId,
    /// The name to sign in with.
    pub handle: String,
    /// Whether the user administers this installation.
    pub is_admin: bool,
    /// Whether the user may sign in.
    pub is_active: bool,
    /// When the account was made.
    pub created_at: DateTime<Utc>,
}

/// Something that happened around signing in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthEvent {
    /// What, such as `login_failure`.
    pub event_type: &'static str,
    /// Who, if known.
    pub user: Option<UserId>,
    /// The handle that was given.
    pub handle: Option<String>,
    /// Whether it was allowed.
    pub success: bool,
    /// Where the request came from.
    pub ip_address: Option<String>,
    /// Why it was refused.
    pub reason: Option<String>,
    /// When.
    pub at: DateTime<Utc>,
}

/// Users, their passwords, and the record of sign-ins.
#[async_trait]
pub trait UserStore {
    /// Adds a user. A handle that exists is a [`Error::Duplicate`].
    async fn user_insert(&mut self, user: &User) -> Result<(), Error>;
    /// The user with this id.
    async fn user_get(&mut self, id: UserId) -> Result<Option<User>, Error>;
    /// The user with this handle.
    async fn user_by_handle(&mut self, handle: &str) -> Result<Option<User>, Error>;
    /// Sets the user's password hash, replacing an earlier one.
    async fn password_set(
        &mut self,
        user: UserId,
        hash: &str,
        at: DateTime<Utc>,
    ) -> Result<(), Error>;
    /// Lets one process at a time write what a start writes, until the transaction ends.
    async fn startup_lock(&mut self) -> Result<(), Error>;
    /// The user's password hash.
    async fn password_get(&mut self, user: UserId) -> Result<Option<String>, Error>;
    /// Records something that happened around signing in.
    async fn auth_event_append(&mut self, event: &AuthEvent) -> Result<(), Error>;
    /// The newest records, newest first.
    async fn auth_event_list(&mut self, limit: i64) -> Result<Vec<(String, bool)>, Error>;
}

#[async_trait]
impl UserStore for Tx {
    async fn user_insert(&mut self, user: &User) -> Result<(), Error> {
        let sql = "INSERT INTO users (id, handle, is_admin, is_active, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $5)";
        let params = params![user.id, &user.handle, user.is_admin, user.is_active, user.created_at];
        self.execute(sql, params).await.map(drop)
    }

    async fn user_get(&mut self, id: UserId) -> Result<Option<User>, Error> {
        let sql = "SELECT * FROM users WHERE id = $1";
        self.one(&tables::USERS, sql, params![id], user).await
    }

    async fn user_by_handle(&mut self, handle: &str) -> Result<Option<User>, Error> {
        let sql = "SELECT * FROM users WHERE handle = $1";
        self.one(&tables::USERS, sql, params![handle], user).await
    }

    async fn startup_lock(&mut self) -> Result<(), Error> {
        // SQLite has one writer and reads the lock as a comment. The number is ours to choose.
        let sql = "SELECT 1 AS one /*pg , pg_advisory_xact_lock(6299003) */";
        self.rows(sql, &[]).await.map(drop)
    }

    async fn password_set(
        &mut self,
        user: UserId,
        hash: &str,
        at: DateTime<Utc>,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO password_credentials (user_id, password_hash, hash_alg, updated_at)
                   VALUES ($1, $2, 'argon2id', $3)
                   ON CONFLICT (user_id) DO UPDATE
                   SET password_hash = excluded.password_hash, updated_at = excluded.updated_at";
        self.execute(sql, params![user, hash, at]).await.map(drop)
    }

    async fn password_get(&mut self, user: UserId) -> Result<Option<String>, Error> {
        let sql = "SELECT password_hash FROM password_credentials WHERE user_id = $1";
        let row = self.row(sql, params![user]).await?;
        row.map(|row| row.get("password_hash")).transpose()
    }

    async fn auth_event_append(&mut self, event: &AuthEvent) -> Result<(), Error> {
        let sql = "INSERT INTO auth_audit_log
                   (id, event_type, user_id, subject_handle, success, ip_address, reason, created_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let params = params![
            Uuid::now_v7(),
            event.event_type,
            event.user,
            event.handle.clone(),
            event.success,
            event.ip_address.clone(),
            event.reason.clone(),
            event.at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn auth_event_list(&mut self, limit: i64) -> Result<Vec<(String, bool)>, Error> {
        let sql = "SELECT id, event_type, success FROM auth_audit_log ORDER BY id DESC LIMIT $1";
        self.page(&tables::AUTH_EVENTS, sql, params![limit], auth_event).await
    }
}

pub(crate) fn auth_event(row: &Row) -> Result<(String, bool), Error> {
    Ok((row.get("event_type")?, row.get("success")?))
}

pub(crate) fn user(row: &Row) -> Result<User, Error> {
    Ok(User {
        id: row.id("id")?,
        handle: row.get("handle")?,
        is_admin: row.get("is_admin")?,
        is_active: row.get("is_active")?,
        created_at: row.get("created_at")?,
    })
}
