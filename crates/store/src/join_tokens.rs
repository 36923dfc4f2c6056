//! One-time join tokens of worker nodes. Only SHA-256 hashes of tokens are stored.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{NodeId, TokenId, UserId};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A token that registers one node once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinToken {
    pub id: TokenId,
    pub hash: Vec<u8>,
    /// The only node that may use it; any node without a key if absent.
    pub node_slug: Option<String>,
    pub created_by: UserId,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub used_at: Option<DateTime<Utc>>,
    /// The node that used it.
    pub used_by: Option<NodeId>,
    pub revoked_at: Option<DateTime<Utc>>,
}

impl Tx {
    pub async fn join_token_insert(&mut self, token: &JoinToken) -> Result<(), Error> {
        let sql = "INSERT INTO node_join_tokens
                   (id, token_hash, node_slug, created_by, created_at, expires_at)
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let params = params![
            token.id,
            token.hash.clone(),
            token.node_slug.clone(),
            token.created_by,
            token.created_at,
            token.expires_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Whether a token with this hash exists, valid or not.
    pub async fn join_token_is_known(&mut self, hash: &[u8]) -> Result<bool, Error> {
        let sql = "SELECT id FROM node_join_tokens WHERE token_hash = $1";
        Ok(self.row(sql, params![hash]).await?.is_some())
    }

    /// Returns the token with this hash; locked until the transaction ends.
    pub async fn join_token_lock(&mut self, hash: &[u8]) -> Result<Option<JoinToken>, Error> {
        let sql = "SELECT * FROM node_join_tokens WHERE token_hash = $1 /*pg FOR UPDATE */";
        self.one(&tables::JOIN_TOKENS, sql, params![hash], join_token).await
    }

    /// Marks a token as used by a node.
    pub async fn join_token_use(
        &mut self,
        id: TokenId,
        node: NodeId,
        at: DateTime<Utc>,
    ) -> Result<(), Error> {
        let sql = "UPDATE node_join_tokens SET used_at = $2, used_by = $3 WHERE id = $1";
        self.execute(sql, params![id, at, node]).await.map(drop)
    }

    /// Lists a page of tokens, newest first, older than `before`.
    pub async fn join_token_list(
        &mut self,
        before: Option<TokenId>,
        limit: u32,
    ) -> Result<Vec<JoinToken>, Error> {
        let sql = "SELECT * FROM node_join_tokens WHERE ($1 /*pg ::uuid */ IS NULL OR id < $1)
                   ORDER BY id DESC LIMIT $2";
        self.page(&tables::JOIN_TOKENS, sql, params![before, limit], join_token).await
    }

    /// Revokes a token; returns false if there is none with this id.
    pub async fn join_token_revoke(
        &mut self,
        id: TokenId,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE node_join_tokens SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1";
        Ok(self.execute(sql, params![id, at]).await? == 1)
    }

    /// Deletes tokens that expired before `before`.
    pub async fn join_token_delete_expired(&mut self, before: DateTime<Utc>) -> Result<u64, Error> {
        let sql = "DELETE FROM node_join_tokens WHERE expires_at < $1";
        self.execute(sql, params![before]).await
    }
}

pub(crate) fn join_token(row: &Row) -> Result<JoinToken, Error> {
    Ok(JoinToken {
        id: row.id("id")?,
        hash: row.get("token_hash")?,
        node_slug: row.get("node_slug")?,
        created_by: row.id("created_by")?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        used_at: row.get("used_at")?,
        used_by: row.id_opt("used_by")?,
        revoked_at: row.get("revoked_at")?,
    })
}
