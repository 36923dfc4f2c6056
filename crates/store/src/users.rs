//! Users, their passwords, and the log of sign-ins.

use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A person or service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    /// The sign-in name.
    pub handle: String,
    /// Whether the user is an administrator of this installation.
    pub is_admin: bool,
    /// Whether the user may sign in.
    pub is_active: bool,
    pub created_at: DateTime<Utc>,
}

/// An authentication event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthEvent {
    /// The event, such as `login_failure`.
    pub event_type: &'static str,
    /// `None` if unknown.
    pub user: Option<UserId>,
    /// The handle that was presented.
    pub handle: Option<String>,
    pub success: bool,
    /// The address of the client.
    pub ip_address: Option<String>,
    /// Why it was rejected.
    pub reason: Option<String>,
    pub at: DateTime<Utc>,
}

impl Tx {
    /// Adds a user. A handle that exists is an [`Error::Duplicate`].
    pub async fn user_insert(&mut self, user: &User) -> Result<(), Error> {
        let sql = "INSERT INTO users (id, handle, is_admin, is_active, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $5)";
        let params = params![user.id, &user.handle, user.is_admin, user.is_active, user.created_at];
        self.execute(sql, params).await.map(drop)
    }

    pub async fn user_get(&mut self, id: UserId) -> Result<Option<User>, Error> {
        let sql = "SELECT * FROM users WHERE id = $1";
        self.one(&tables::USERS, sql, params![id], user).await
    }

    /// Returns a user, locked until the transaction ends.
    pub async fn user_lock(&mut self, id: UserId) -> Result<Option<User>, Error> {
        let sql = "SELECT * FROM users WHERE id = $1 /*pg FOR UPDATE */";
        self.one(&tables::USERS, sql, params![id], user).await
    }

    pub async fn user_by_handle(&mut self, handle: &str) -> Result<Option<User>, Error> {
        let sql = "SELECT * FROM users WHERE handle = $1";
        self.one(&tables::USERS, sql, params![handle], user).await
    }

    /// Lists a page of users by handle, after `after`.
    pub async fn user_list(&mut self, after: Option<&str>, limit: u32) -> Result<Vec<User>, Error> {
        let sql = "SELECT * FROM users WHERE ($1 /*pg ::text */ IS NULL OR handle > $1)
                   ORDER BY handle LIMIT $2";
        self.page(&tables::USERS, sql, params![after.map(ToOwned::to_owned), limit], user).await
    }

    /// Returns the active administrators, locked until the transaction ends: of two that remove each
    /// other's rights at the same time, the second sees what the first did.
    pub async fn user_lock_admins(&mut self) -> Result<Vec<UserId>, Error> {
        let sql =
            "SELECT id FROM users WHERE is_admin AND is_active ORDER BY id /*pg FOR UPDATE */";
        self.rows(sql, &[]).await?.iter().map(|row| row.id("id")).collect()
    }

    /// Sets whether a user may sign in and is an administrator.
    pub async fn user_update(&mut self, user: &User, at: DateTime<Utc>) -> Result<(), Error> {
        let sql = "UPDATE users SET is_active = $2, is_admin = $3, updated_at = $4 WHERE id = $1";
        self.execute(sql, params![user.id, user.is_active, user.is_admin, at]).await.map(drop)
    }

    /// Serialises the writes of starting processes until the transaction ends.
    pub async fn startup_lock(&mut self) -> Result<(), Error> {
        // SQLite has one writer and reads the lock as a comment. The number is arbitrary.
        let sql = "SELECT 1 AS one /*pg , pg_advisory_xact_lock(6299003) */";
        self.rows(sql, &[]).await.map(drop)
    }

    /// Sets the user's password hash, replacing an earlier one.
    pub async fn password_set(
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

    /// Returns the user's password hash.
    pub async fn password_get(&mut self, user: UserId) -> Result<Option<String>, Error> {
        let sql = "SELECT password_hash FROM password_credentials WHERE user_id = $1";
        let row = self.row(sql, params![user]).await?;
        row.map(|row| row.get("password_hash")).transpose()
    }

    /// Records an authentication event.
    pub async fn auth_event_append(&mut self, event: &AuthEvent) -> Result<(), Error> {
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

    /// Lists the newest events, newest first.
    pub async fn auth_event_list(&mut self, limit: i64) -> Result<Vec<(String, bool)>, Error> {
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
