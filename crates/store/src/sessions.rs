//! Sign-in sessions and API tokens. Only SHA-256 hashes of tokens are stored.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{SessionId, TokenId, UserId};

use crate::quarantine::tables;
use crate::{Error, Tx, User};
use cynode_sql::Row;
use cynode_sql::params;

/// A sign-in session: one access token and one refresh token at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub user: UserId,
    pub refresh_hash: Vec<u8>,
    pub access_hash: Vec<u8>,
    /// When the access token expires.
    pub access_expires_at: DateTime<Utc>,
    /// When the refresh token expires.
    pub expires_at: DateTime<Utc>,
    /// Whether it was neither signed out nor revoked.
    pub is_active: bool,
    pub created_at: DateTime<Utc>,
}

/// A long-lived token of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    pub id: TokenId,
    pub user: UserId,
    /// A label.
    pub name: String,
    pub hash: Vec<u8>,
    pub created_at: DateTime<Utc>,
    /// Never expires if absent.
    pub expires_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    /// Within a few minutes; `None` if it was never used.
    pub last_used_at: Option<DateTime<Utc>>,
}

impl ApiToken {
    /// Whether it is neither revoked nor expired.
    pub fn is_valid(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| end > now)
    }
}

/// The columns of the user, joined to those of the session or token.
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

/// Sessions and tokens, looked up by the hash of the presented token.
impl Tx {
    pub async fn session_insert(&mut self, session: &Session) -> Result<(), Error> {
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

    pub async fn session_get(&mut self, id: SessionId) -> Result<Option<Session>, Error> {
        let sql = "SELECT * FROM refresh_sessions WHERE id = $1";
        self.one(&tables::SESSIONS, sql, params![id], session).await
    }

    /// Returns the session whose access token has this hash, with the user.
    pub async fn session_with_user(
        &mut self,
        hash: &[u8],
    ) -> Result<Option<(Session, User)>, Error> {
        let sql = concat!(
            "SELECT s.*, ",
            owner!(),
            " FROM refresh_sessions s JOIN users u ON u.id = s.user_id
             WHERE s.access_token_hash = $1"
        );
        let found = self.row(sql, params![hash]).await?;
        found.map(|row| Ok((session(&row)?, owner(&row)?))).transpose()
    }

    /// Returns the session whose refresh token has this hash; locked until the transaction ends.
    pub async fn session_by_refresh(&mut self, hash: &[u8]) -> Result<Option<Session>, Error> {
        let sql = "SELECT * FROM refresh_sessions WHERE refresh_token_hash = $1 /*pg FOR UPDATE */";
        self.one(&tables::SESSIONS, sql, params![hash], session).await
    }

    /// Returns the session in which a refresh token with this hash was already exchanged.
    pub async fn session_by_spent_refresh(
        &mut self,
        hash: &[u8],
    ) -> Result<Option<SessionId>, Error> {
        let sql = "SELECT session_id FROM spent_refresh_tokens WHERE refresh_token_hash = $1";
        self.row(sql, params![hash]).await?.map(|row| row.id("session_id")).transpose()
    }

    /// Replaces both tokens of a session; the old refresh token counts as spent.
    pub async fn session_rotate(&mut self, old: &Session, new: &Session) -> Result<(), Error> {
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

    /// Ends a session; idempotent.
    pub async fn session_end(&mut self, id: SessionId) -> Result<(), Error> {
        let sql = "UPDATE refresh_sessions SET is_active = $2 WHERE id = $1";
        self.execute(sql, params![id, false]).await.map(drop)
    }

    /// Ends the sessions of a user, except the one whose access token has the hash `except`. Returns how
    /// many.
    pub async fn session_end_all(
        &mut self,
        user: UserId,
        except: Option<&[u8]>,
    ) -> Result<u64, Error> {
        let sql = "UPDATE refresh_sessions SET is_active = $2 WHERE user_id = $1 AND is_active
                   AND ($3 /*pg ::bytea */ IS NULL OR access_token_hash <> $3)";
        self.execute(sql, params![user, false, except.map(<[u8]>::to_vec)]).await
    }

    pub async fn token_insert(&mut self, token: &ApiToken) -> Result<(), Error> {
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

    /// Returns the token with this hash, with the user.
    pub async fn token_with_user(
        &mut self,
        hash: &[u8],
    ) -> Result<Option<(ApiToken, User)>, Error> {
        let sql = concat!(
            "SELECT t.*, ",
            owner!(),
            " FROM api_tokens t JOIN users u ON u.id = t.user_id WHERE t.token_hash = $1"
        );
        let found = self.row(sql, params![hash]).await?;
        found.map(|row| Ok((token(&row)?, owner(&row)?))).transpose()
    }

    /// Whether a token exists and was not revoked.
    pub async fn token_is_unrevoked(&mut self, id: TokenId) -> Result<bool, Error> {
        let sql = "SELECT id FROM api_tokens WHERE id = $1 AND revoked_at IS NULL";
        Ok(self.row(sql, params![id]).await?.is_some())
    }

    /// Lists a page of a user's tokens, newest first, older than `before`.
    pub async fn token_list(
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

    /// Revokes a user's token; returns false if the user has no such token.
    pub async fn token_revoke(
        &mut self,
        user: UserId,
        id: TokenId,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE api_tokens SET revoked_at = coalesce(revoked_at, $3)
                   WHERE id = $2 AND user_id = $1";
        Ok(self.execute(sql, params![user, id, at]).await? == 1)
    }

    /// Revokes all tokens of a user. Returns how many.
    pub async fn token_revoke_all(
        &mut self,
        user: UserId,
        at: DateTime<Utc>,
    ) -> Result<u64, Error> {
        let sql = "UPDATE api_tokens SET revoked_at = $2
                   WHERE user_id = $1 AND revoked_at IS NULL";
        self.execute(sql, params![user, at]).await
    }

    /// Records that a token was used, unless a use after `since` is recorded already.
    pub async fn token_mark_used(
        &mut self,
        id: TokenId,
        at: DateTime<Utc>,
        since: DateTime<Utc>,
    ) -> Result<(), Error> {
        let sql = "UPDATE api_tokens SET last_used_at = $2
                   WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $3)";
        self.execute(sql, params![id, at, since]).await.map(drop)
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
        last_used_at: row.get("last_used_at")?,
    })
}
