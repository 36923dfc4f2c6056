//! Capability leases, and the keys that sign them. The text of a lease is not stored.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CapabilityLeaseId, ChainId, NodeId, TokenId, UserId};
use serde_json::Value;
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_audit::LOG_CHAIN;
use cynode_sql::Row;
use cynode_sql::params;

/// The most chains of one node.
const MAX_CHAINS: i64 = 100;

/// A permission that a worker node verifies without the orchestrator.
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityLease {
    pub id: CapabilityLeaseId,
    pub node: NodeId,
    /// The public key of the node, in base64.
    pub node_key: String,
    /// The token that asked for it.
    pub token: TokenId,
    pub user: UserId,
    /// What was signed.
    pub claims: Value,
    pub issued_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub revoked_reason: Option<String>,
}

/// A public key whose leases worker nodes accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedLeaseKey {
    pub id: String,
    pub public_key: String,
    /// Identifies the data directory that has the private key.
    pub owner: Uuid,
    pub created_at: DateTime<Utc>,
}

impl Tx {
    pub async fn capability_lease_insert(&mut self, lease: &CapabilityLease) -> Result<(), Error> {
        let sql = "INSERT INTO capability_leases
                   (id, node_id, token_id, user_id, claims, issued_at, expires_at, node_key)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let params = params![
            lease.id,
            lease.node,
            lease.token,
            lease.user,
            &lease.claims,
            lease.issued_at,
            lease.expires_at,
            &lease.node_key,
        ];
        self.execute(sql, params).await.map(drop)
    }

    pub async fn capability_lease_get(
        &mut self,
        id: CapabilityLeaseId,
    ) -> Result<Option<CapabilityLease>, Error> {
        let sql = "SELECT * FROM capability_leases WHERE id = $1";
        self.one(&tables::CAPABILITY_LEASES, sql, params![id], capability_lease).await
    }

    /// Lists a page of leases, newest first: of one user, or of all.
    pub async fn capability_lease_list(
        &mut self,
        user: Option<UserId>,
        before: Option<CapabilityLeaseId>,
        limit: u32,
    ) -> Result<Vec<CapabilityLease>, Error> {
        let sql =
            "SELECT * FROM capability_leases WHERE ($1 /*pg ::uuid */ IS NULL OR user_id = $1)
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        let params = params![user, before, limit];
        self.page(&tables::CAPABILITY_LEASES, sql, params, capability_lease).await
    }

    /// Lists the leases for a node's key that have not ended, revoked ones too.
    pub async fn capability_lease_unexpired(
        &mut self,
        node_key: &str,
        now: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<CapabilityLease>, Error> {
        let sql = "SELECT * FROM capability_leases WHERE node_key = $1 AND expires_at > $2
                   ORDER BY expires_at DESC LIMIT $3";
        let params = params![node_key, now, limit];
        self.page(&tables::CAPABILITY_LEASES, sql, params, capability_lease).await
    }

    /// Counts the leases for a node's key that have not ended, and those of one user among them.
    pub async fn capability_lease_count(
        &mut self,
        node_key: &str,
        user: UserId,
        now: DateTime<Utc>,
    ) -> Result<(i64, i64), Error> {
        let sql = "SELECT count(*) AS n, count(CASE WHEN user_id = $3 THEN 1 END) AS own
                   FROM capability_leases WHERE node_key = $1 AND expires_at > $2";
        let row = self.row(sql, params![node_key, now, user]).await?;
        row.map_or(Ok((0, 0)), |row| Ok((row.get("n")?, row.get("own")?)))
    }

    /// Revokes a lease; returns false if there is none, or it is revoked.
    pub async fn capability_lease_revoke(
        &mut self,
        id: CapabilityLeaseId,
        reason: &str,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE capability_leases SET revoked_at = $2, revoked_reason = $3
                   WHERE id = $1 AND revoked_at IS NULL";
        Ok(self.execute(sql, params![id, at, reason]).await? == 1)
    }

    /// Deletes leases that expired before `before`.
    pub async fn capability_lease_delete_expired(
        &mut self,
        before: DateTime<Utc>,
    ) -> Result<u64, Error> {
        let sql = "DELETE FROM capability_leases WHERE expires_at < $1";
        self.execute(sql, params![before]).await
    }

    /// Adds a key; a key that exists stays as it is.
    pub async fn lease_key_insert(&mut self, key: &TrustedLeaseKey) -> Result<(), Error> {
        let sql =
            "INSERT INTO lease_keys (id, public_key, owner, created_at) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (id) DO NOTHING";
        let params = params![&key.id, &key.public_key, key.owner, key.created_at];
        self.execute(sql, params).await.map(drop)
    }

    /// Retires every key of an owner but one.
    pub async fn lease_key_retire_others(
        &mut self,
        owner: Uuid,
        kept: &str,
        at: DateTime<Utc>,
    ) -> Result<(), Error> {
        let sql = "UPDATE lease_keys SET retired_at = coalesce(retired_at, $3)
                   WHERE owner = $1 AND id <> $2";
        self.execute(sql, params![owner, kept, at]).await.map(drop)
    }

    /// Lists the keys that were not retired before `since`, newest first.
    pub async fn lease_key_list(
        &mut self,
        since: DateTime<Utc>,
    ) -> Result<Vec<TrustedLeaseKey>, Error> {
        let sql = "SELECT * FROM lease_keys WHERE retired_at IS NULL OR retired_at > $1
                   ORDER BY created_at DESC, id";
        self.page(&tables::LEASE_KEYS, sql, params![since], lease_key).await
    }

    /// Binds a new chain of audit records to a node's key; returns false if it belongs to another key, or to an orchestrator,
    /// and if the key has too many.
    pub async fn edge_chain_bind(
        &mut self,
        chain: ChainId,
        node_slug: &str,
        node_key: &str,
    ) -> Result<bool, Error> {
        let sql = "INSERT INTO edge_audit_chains (chain_id, node_slug, node_key, created_at)
                   SELECT $1 /*pg ::uuid */, $2 /*pg ::text */, $3 /*pg ::text */, cynode_now()
                   WHERE $1 <> $4 /*pg ::uuid */
                   AND (SELECT count(*) FROM edge_audit_chains WHERE node_key = $3) < $5 AND NOT EXISTS (SELECT 1 FROM mcp_audit_chains WHERE chain_id = $1)
                   ON CONFLICT (chain_id) DO NOTHING";
        self.execute(sql, params![chain, node_slug, node_key, LOG_CHAIN, MAX_CHAINS]).await?;
        self.edge_chain_is_bound(chain, node_key).await
    }

    /// Whether a chain is bound to a node's key.
    pub async fn edge_chain_is_bound(
        &mut self,
        chain: ChainId,
        node_key: &str,
    ) -> Result<bool, Error> {
        let sql = "SELECT node_key FROM edge_audit_chains WHERE chain_id = $1";
        let bound = self.row(sql, params![chain]).await?;
        let bound = bound.map(|row| row.get::<String>("node_key")).transpose()?;
        Ok(bound.as_deref() == Some(node_key))
    }
}

pub(crate) fn capability_lease(row: &Row) -> Result<CapabilityLease, Error> {
    Ok(CapabilityLease {
        id: row.id("id")?,
        node: row.id("node_id")?,
        node_key: row.get("node_key")?,
        token: row.id("token_id")?,
        user: row.id("user_id")?,
        claims: row.get("claims")?,
        issued_at: row.get("issued_at")?,
        expires_at: row.get("expires_at")?,
        revoked_at: row.get("revoked_at")?,
        revoked_reason: row.get("revoked_reason")?,
    })
}

pub(crate) fn lease_key(row: &Row) -> Result<TrustedLeaseKey, Error> {
    Ok(TrustedLeaseKey {
        id: row.get("id")?,
        public_key: row.get("public_key")?,
        owner: row.id("owner")?,
        created_at: row.get("created_at")?,
    })
}
