//! Worker nodes.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{IncarnationId, NodeId};
use cynode_domain::status::NodeStatus;
use serde_json::Value;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A worker node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub id: NodeId,
    pub slug: String,
    pub status: NodeStatus,
    pub token_hash: Vec<u8>,
    /// The Ed25519 key that the node proves when it registers again; `None` if a node of an older version registered,
    /// or the key was revoked.
    pub public_key: Option<Vec<u8>>,
    /// Whether only a join token for this node may register its next key.
    pub is_key_revoked: bool,
    /// As reported by the node.
    pub capabilities: Value,
    /// Whether it can run jobs in a sandbox.
    pub sandbox_supported: bool,
    /// The most concurrent jobs.
    pub max_concurrency: u32,
    /// Load of the machine, as of the last poll.
    pub machine_load: Option<Value>,
    /// Open jobs assigned to it.
    pub open_jobs: i64,
    /// The process that runs as this node; `None` once it has stopped.
    pub incarnation: Option<IncarnationId>,
    /// When it last polled or started.
    pub last_seen_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// The process that runs as a node, and the time since its last poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeProcessRow {
    /// `None` once the process has stopped.
    pub incarnation: Option<IncarnationId>,
    /// Milliseconds since the last poll, by the database's clock; `None` if it never polled.
    pub silent_ms: Option<i64>,
}

pub(crate) const NODE: &str = "SELECT n.*, (SELECT count(*) FROM jobs j
    WHERE j.node_id = n.id AND NOT j.closed) AS open_jobs FROM nodes n";

/// Worker nodes; slugs are unique.
impl Tx {
    /// Adds a node, or updates token and capabilities of the node with the same slug. Returns the stored id.
    pub async fn node_register(&mut self, node: &Node) -> Result<NodeId, Error> {
        let sql = "INSERT INTO nodes (id, node_slug, status, token_hash, capabilities,
                   sandbox_supported, max_concurrency, created_at, updated_at, public_key)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)
                   ON CONFLICT (node_slug) DO UPDATE SET token_hash = excluded.token_hash,
                       public_key = excluded.public_key,
                       is_key_revoked = excluded.is_key_revoked,
                       capabilities = excluded.capabilities,
                       sandbox_supported = excluded.sandbox_supported,
                       max_concurrency = excluded.max_concurrency,
                       updated_at = excluded.updated_at
                   RETURNING id";
        let params = params![
            node.id,
            &node.slug,
            node.status,
            node.token_hash.clone(),
            &node.capabilities,
            node.sandbox_supported,
            node.max_concurrency,
            node.created_at,
            node.public_key.clone(),
        ];
        self.row(sql, params).await?.map_or(Ok(node.id), |row| row.id("id"))
    }

    pub async fn node_get(&mut self, id: NodeId) -> Result<Option<Node>, Error> {
        let sql = format!("{NODE} WHERE n.id = $1 AND n.removed_at IS NULL");
        self.one(&tables::NODES, &sql, params![id], node).await
    }

    pub async fn node_by_slug(&mut self, slug: &str) -> Result<Option<Node>, Error> {
        let sql = format!("{NODE} WHERE n.node_slug = $1 AND n.removed_at IS NULL");
        self.one(&tables::NODES, &sql, params![slug], node).await
    }

    /// Returns the node whose token has this hash.
    pub async fn node_by_token(&mut self, hash: &[u8]) -> Result<Option<Node>, Error> {
        let sql = format!("{NODE} WHERE n.token_hash = $1 AND n.removed_at IS NULL");
        self.one(&tables::NODES, &sql, params![hash], node).await
    }

    /// Lists all nodes, by slug.
    pub async fn node_list(&mut self) -> Result<Vec<Node>, Error> {
        let sql = format!("{NODE} WHERE n.removed_at IS NULL ORDER BY n.node_slug");
        self.list(&tables::NODES, &sql, &[], node).await
    }

    /// Returns the process that runs as the node; the row is locked until the transaction ends.
    pub async fn node_lock_process(&mut self, id: NodeId) -> Result<Option<NodeProcessRow>, Error> {
        let sql = "SELECT incarnation_id, last_seen_at, cynode_now() AS now FROM nodes
                   WHERE id = $1 /*pg FOR NO KEY UPDATE */";
        self.row(sql, params![id]).await?.as_ref().map(node_process).transpose()
    }

    /// Sets the process that runs as the node.
    pub async fn node_set_process(
        &mut self,
        id: NodeId,
        process: IncarnationId,
    ) -> Result<(), Error> {
        let sql = "UPDATE nodes SET incarnation_id = $2, last_seen_at = cynode_now()
                   WHERE id = $1";
        self.execute(sql, params![id, process]).await.map(drop)
    }

    /// Clears the process of a node that was stopped. Returns false if another process runs as the node.
    pub async fn node_clear_process(
        &mut self,
        id: NodeId,
        process: IncarnationId,
    ) -> Result<bool, Error> {
        let sql = "UPDATE nodes SET incarnation_id = NULL WHERE id = $1 AND incarnation_id = $2";
        Ok(self.execute(sql, params![id, process]).await? == 1)
    }

    /// Replaces what a node reported about itself.
    pub async fn node_set_capabilities(
        &mut self,
        id: NodeId,
        capabilities: &Value,
        max_concurrency: u32,
    ) -> Result<(), Error> {
        let sql = "UPDATE nodes SET capabilities = $2, max_concurrency = $3,
                   updated_at = cynode_now() WHERE id = $1";
        self.execute(sql, params![id, capabilities, max_concurrency]).await.map(drop)
    }

    /// Records a poll of the node. Returns false if another process runs as the node.
    pub async fn node_record_poll(
        &mut self,
        id: NodeId,
        process: IncarnationId,
        load: Option<&Value>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE nodes SET last_seen_at = cynode_now(), machine_load = $3,
                   status = CASE WHEN status = 'drained' THEN status ELSE 'active' END
                   WHERE id = $1 AND incarnation_id = $2";
        Ok(self.execute(sql, params![id, process, load.cloned()]).await? == 1)
    }

    pub async fn node_set_status(&mut self, id: NodeId, status: NodeStatus) -> Result<(), Error> {
        let sql = "UPDATE nodes SET status = $2, updated_at = cynode_now() WHERE id = $1";
        self.execute(sql, params![id, status]).await.map(drop)
    }

    /// Serialises registrations until the transaction ends: the key of a name is checked and set by one at a time.
    pub async fn node_registration_lock(&mut self) -> Result<(), Error> {
        // SQLite has one writer and reads the lock as a comment. The number is arbitrary.
        let sql = "SELECT 1 AS one /*pg , pg_advisory_xact_lock(6299005) */";
        self.rows(sql, &[]).await.map(drop)
    }

    /// Revokes the token and the key of a node and every join token for it, and ends its process; only a new join token
    /// for it registers it again.
    pub async fn node_revoke_key(&mut self, node: &Node, unusable: &[u8]) -> Result<(), Error> {
        let sql = "UPDATE node_join_tokens SET revoked_at = cynode_now()
                   WHERE node_slug = $1 AND revoked_at IS NULL";
        self.execute(sql, params![&node.slug]).await?;
        // Another machine may get the name.
        self.execute("DELETE FROM agent_canaries WHERE node_id = $1", params![node.id]).await?;
        let sql = "UPDATE nodes SET token_hash = $2, public_key = NULL, is_key_revoked = $3,
                   incarnation_id = NULL, updated_at = cynode_now() WHERE id = $1";
        self.execute(sql, params![node.id, unusable.to_vec(), true]).await.map(drop)
    }

    /// Removes a node: its token and key are revoked and its name is free. Its row stays, for its jobs.
    pub async fn node_remove(&mut self, node: &Node, unusable: &[u8]) -> Result<(), Error> {
        self.node_revoke_key(node, unusable).await?;
        let sql = "UPDATE nodes SET removed_at = cynode_now(), status = 'inactive', node_slug = $2
                   WHERE id = $1";
        // No slug has a tilde.
        let name = format!("{}~{}", node.slug, node.id);
        self.execute(sql, params![node.id, name]).await.map(drop)
    }

    /// Deactivates active nodes that have not polled for `silent_ms`, or never. Returns how many.
    pub async fn node_deactivate_silent(&mut self, silent_ms: i64) -> Result<u64, Error> {
        let sql = "UPDATE nodes SET status = 'inactive', updated_at = cynode_now()
                   WHERE status = 'active'
                   AND (last_seen_at IS NULL OR last_seen_at < cynode_after($1))";
        self.execute(sql, params![-silent_ms]).await
    }
}

pub(crate) fn node(row: &Row) -> Result<Node, Error> {
    Ok(Node {
        id: row.id("id")?,
        slug: row.get("node_slug")?,
        status: row.keyword("status")?,
        token_hash: row.get("token_hash")?,
        public_key: row.get("public_key")?,
        is_key_revoked: row.get("is_key_revoked")?,
        capabilities: row.get("capabilities")?,
        sandbox_supported: row.get("sandbox_supported")?,
        max_concurrency: row.count("max_concurrency")?,
        machine_load: row.get("machine_load")?,
        open_jobs: row.get("open_jobs")?,
        incarnation: row.id_opt("incarnation_id")?,
        last_seen_at: row.get("last_seen_at")?,
        created_at: row.get("created_at")?,
    })
}

fn node_process(row: &Row) -> Result<NodeProcessRow, Error> {
    let now: DateTime<Utc> = row.get("now")?;
    let seen: Option<DateTime<Utc>> = row.get("last_seen_at")?;
    Ok(NodeProcessRow {
        incarnation: row.id_opt("incarnation_id")?,
        silent_ms: seen.map(|seen| (now - seen).num_milliseconds()),
    })
}
