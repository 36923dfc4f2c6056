//! Signed-in sessions and API tokens. Only SHA-256 hashes of tokens are ever stored.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{SessionId, TokenId, UserId};

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx, User};

/// A signed-in session: one access token and one refresh token at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The session's id.
    pub id: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// The hash of the refresh token.
    pub refresh_hash: Vec<u8>,
    /// The hash of the access token.
    pub access_hash: Vec<u8>,
    /// When the access token ends.
    pub access_expires_at: DateTime<Utc>,
    /// When the refresh token ends.
    pub expires_at: DateTime<Utc>,
    /// Whether it was neither signed out nor revoked.
    pub is_active: bool,
    /// When it began.
    pub created_at: DateTime<Utc>,
}

/// A long-lived token of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    /// The token's id.
    pub id: TokenId,
    /// Whose it is.
    pub user: UserId,
    /// What it is for.
    pub name: String,
    /// The hash of the token.
    pub hash: Vec<u8>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it ends; never, without one.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// Sessions and tokens, found by the hash of what was presented.
#[async_trait]
pub trait SessionStore {
    /// Adds a session.
    async fn session_insert(&mut self, session: &Session) -> Result<(), Error>;
    /// The session with this id.
    async fn session_get(&mut self, id: SessionId) -> Result<Option<Session>, Error>;
    /// The session whose access token has this hash.
    async fn session_by_access(&mut self, hash: &[u8]) -> Result<Option<Session>, Error>;
    /// As [`SessionStore::session_by_access`], together with whose it is.
    async fn session_with_user(&mut self, hash: &[u8]) -> Result<Option<(Session, User)>, Error>;
    /// The session whose refresh token has this hash; locked until the transaction ends.
    async fn session_by_refresh(&mut self, hash: &[u8]) -> Result<Option<Session>, Error>;
    /// The session in which a refresh token with this hash was already exchanged.
    async fn session_by_spent_refresh(&mut self, hash: &[u8]) -> Result<Option<SessionId>, Error>;
    /// Replaces both tokens of a session; the refresh token it had counts as spent from now on.
    async fn session_rotate(&mut self, old: &Session, new: &Session) -> Result<(), Error>;
    /// Ends a session. Ending an ended one changes nothing.
    async fn session_end(&mut self, id: SessionId) -> Result<(), Error>;
    /// Adds an API token.
    async fn token_insert(&mut self, token: &ApiToken) -> Result<(), Error>;
    /// The API token with this hash.
    async fn token_by_hash(&mut self, hash: &[u8]) -> Result<Option<ApiToken>, Error>;
    /// As [`SessionStore::token_by_hash`], together with whose it is.
    async fn token_with_user(&mut self, hash: &[u8]) -> Result<Option<(ApiToken, User)>, Error>;
    /// A page of a user's tokens, newest first, older than `before`.
    async fn token_list(
        &mut self,
        user: UserId,
        before: Option<TokenId>,
        limit: u32,
    ) -> Result<Vec<ApiToken>, Error>;
    /// Revokes a user's token; false if the user has no such token.
    async fn token_revoke(
        &mut self,
        user: UserId,
        id: TokenId,
        at: DateTime<Utc>,
    ) -> Result<bool, Error>;
}

/// The columns of a user beside those of what was presented.
macro_rules! owner {
    () => {
        "u.handle AS u_handle, u.is_admin AS u_is_admin, u.is_active AS u_is_active,
         u.created_at AS u_created_at"
    };
}

fn owner(row: &Row) -> Result<User, Error> {
    Ok(User {
        id: row.id("user_id")?,
        handle: row.get("u_handle")?,
        is_admin: row.get("u_is_admin")?,
        is_active: row.get("u_is_active")?,
        created_at: row.get("u_created_at")?,
    })
}

#[async_trait]
impl SessionStore for Tx {
    async fn session_insert(&mut self, session: &Session) -> Result<(), Error> {
        let sql = "INSERT INTO refresh_sessions
                   (id, user_id, refresh_token_hash, access_token_hash, access_expires_at,
                    is_active, expires_at, created_at, last_used_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)";
        let params = params![
            session.id,
            session.user,
            session.refresh_hash.clone(),
            session.access_hash.clone(),
            session.access_expires_at,
            session.is_active,
            session.expires_at,
            session.created_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn session_get(&mut self, id: SessionId) -> Result<Option<Session>, Error> {
        let sql = "SELECT * FROM refresh_sessions WHERE id = $1";
        self.one(&tables::SESSIONS, sql, params![id], session).await
    }

    async fn session_by_access(&mut self, hash: &[u8]) -> Result<Option<Session>, Error> {
        let sql = "SELECT * FROM refresh_sessions WHERE access_token_hash = $1";
        self.one(&tables::SESSIONS, sql, params![hash], session).await
    }

    async fn session_with_user(&mut self, hash: &[u8]) -> Result<Option<(Session, User)>, Error> {
        let sql = concat!(
            "SELECT s.*, ",
            owner!(),
            " FROM refresh_sessions s JOIN users u ON u.id = s.user_id
             WHERE s.access_token_hash = $1"
        );
        let found = self.row(sql, params![hash]).await?;
        found.map(|row| Ok((session(&row)?, owner(&row)?))).transpose()
    }

    async fn session_by_refresh(&mut self, hash: &[u8]) -> Result<Option<Session>, Error> {
        let sql = "SELECT * FROM refresh_sessions WHERE refresh_token_hash = $1 /*pg FOR UPDATE */";
        self.one(&tables::SESSIONS, sql, params![hash], session).await
    }

    async fn session_by_spent_refresh(&mut self, hash: &[u8]) -> Result<Option<SessionId>, Error> {
        let sql = "SELECT session_id FROM spent_refresh_tokens WHERE refresh_token_hash = $1";
        self.row(sql, params![hash]).await?.map(|row| row.id("session_id")).transpose()
    }

    async fn session_rotate(&mut self, old: &Session, new: &Session) -> Result<(), Error> {
        let spend = "INSERT INTO spent_refresh_tokens (refresh_token_hash, session_id, spent_at)
                     VALUES ($1, $2, cynode_now())";
        self.execute(spend, params![old.refresh_hash.clone(), old.id]).await?;
        let sql = "UPDATE refresh_sessions SET refresh_token_hash = $2, access_token_hash = $3,
                   access_expires_at = $4, expires_at = $5, last_used_at = cynode_now()
                   WHERE id = $1";
        let params = params![
            old.id,
            new.refresh_hash.clone(),
            new.access_hash.clone(),
            new.access_expires_at,
            new.expires_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn session_end(&mut self, id: SessionId) -> Result<(), Error> {
        let sql = "UPDATE refresh_sessions SET is_active = $2 WHERE id = $1";
        self.execute(sql, params![id, false]).await.map(drop)
    }

    async fn token_insert(&mut self, token: &ApiToken) -> Result<(), Error> {
        let sql = "INSERT INTO api_tokens (id, user_id, name, token_hash, created_at, expires_at)
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let params = params![
            token.id,
            token.user,
            &token.name,
            token.hash.clone(),
            token.created_at,
            token.expires_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn token_by_hash(&mut self, hash: &[u8]) -> Result<Option<ApiToken>, Error> {
        let sql = "SELECT * FROM api_tokens WHERE token_hash = $1";
        self.one(&tables::API_TOKENS, sql, params![hash], token).await
    }

    async fn token_with_user(&mut self, hash: &[u8]) -> Result<Option<(ApiToken, User)>, Error> {
        let sql = concat!(
            "SELECT t.*, ",
            owner!(),
            " FROM api_tokens t JOIN users u ON u.id = t.user_id WHERE t.token_hash = $1"
        );
        let found = self.row(sql, params![hash]).await?;
        found.map(|row| Ok((token(&row)?, owner(&row)?))).transpose()
    }

    async fn token_list(
        &mut self,
        user: UserId,
        before: Option<TokenId>,
        limit: u32,
    ) -> Result<Vec<ApiToken>, Error> {
        let sql = "SELECT * FROM api_tokens WHERE user_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2)
                   ORDER BY id DESC LIMIT $3";
        self.page(&tables::API_TOKENS, sql, params![user, before, limit], token).await
    }

    async fn token_revoke(
        &mut self,
        user: UserId,
        id: TokenId,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE api_tokens SET revoked_at = coalesce(revoked_at, $3)
                   WHERE id = $2 AND user_id = $1";
        Ok(self.execute(sql, params![user, id, at]).await? == 1)
    }
}

pub(crate) fn session(row: &Row) -> Result<Session, Error> {
    Ok(Session {
        id: row.id("id")?,
        user: row.id("user_id")?,
        refresh_hash: row.get("refresh_token_hash")?,
        access_hash: row.get("access_token_hash")?,
        access_expires_at: row.get("access_expires_at")?,
        expires_at: row.get("expires_at")?,
        is_active: row.get("is_active")?,
        created_at: row.get("created_at")?,
    })
}

pub(crate) fn token(row: &Row) -> Result<ApiToken, Error> {
    Ok(ApiToken {
        id: row.id("id")?,
        user: row.id("user_id")?,
        name: row.get("name")?,
        hash: row.get("token_hash")?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        revoked_at: row.get("revoked_at")?,
    })
}
