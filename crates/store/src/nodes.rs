//! Worker nodes.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{IncarnationId, NodeId};
use cynode_domain::status::NodeStatus;
use serde_json::Value;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A worker node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The node's id.
    pub id: NodeId,
    /// The node's name.
    pub slug: String,
    /// Where it stands.
    pub status: NodeStatus,
    /// The hash of its token.
    pub token_hash: Vec<u8>,
    /// What it says it can do.
    pub capabilities: Value,
    /// Whether it can isolate jobs.
    pub sandbox_supported: bool,
    /// Jobs it runs at once.
    pub max_concurrency: u32,
    /// Jobs it has now.
    pub open_jobs: i64,
    /// The process that works under its name; none once that was stopped.
    pub incarnation: Option<IncarnationId>,
    /// When it last polled, or began to.
    pub last_seen_at: Option<DateTime<Utc>>,
    /// When it first joined.
    pub created_at: DateTime<Utc>,
}

/// Which process works under a node's name, and how long ago it last polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeTenure {
    /// The process; none once that was stopped.
    pub incarnation: Option<IncarnationId>,
    /// Milliseconds since it last polled, on the database's clock; none if it never did.
    pub silent_ms: Option<i64>,
}

/// Worker nodes, one per slug.
#[async_trait]
pub trait NodeStore {
    /// Adds a node, or updates the one with the same slug: token, capabilities. Gives the id kept.
    async fn node_register(&mut self, node: &Node) -> Result<NodeId, Error>;
    /// The node with this id.
    async fn node_get(&mut self, id: NodeId) -> Result<Option<Node>, Error>;
    /// The node with this slug.
    async fn node_by_slug(&mut self, slug: &str) -> Result<Option<Node>, Error>;
    /// The node whose token has this hash.
    async fn node_by_token(&mut self, hash: &[u8]) -> Result<Option<Node>, Error>;
    /// Every node, by slug.
    async fn node_list(&mut self) -> Result<Vec<Node>, Error>;
    /// Which process works under the node's name; the row is locked until the transaction ends.
    async fn node_lock_tenure(&mut self, id: NodeId) -> Result<Option<NodeTenure>, Error>;
    /// From now on this process works under the node's name.
    async fn node_begin(&mut self, id: NodeId, process: IncarnationId) -> Result<(), Error>;
    /// The process was stopped: the node's name is free. False if another process has it.
    async fn node_end(&mut self, id: NodeId, process: IncarnationId) -> Result<bool, Error>;
    /// The node polled just now. False if another process works under its name.
    async fn node_touch(&mut self, id: NodeId, process: IncarnationId) -> Result<bool, Error>;
    /// Moves a node.
    async fn node_set_status(&mut self, id: NodeId, status: NodeStatus) -> Result<(), Error>;
    /// Active nodes that have not polled for `silent_ms`, or never, become inactive. Gives how many.
    async fn node_retire_silent(&mut self, silent_ms: i64) -> Result<u64, Error>;
}

pub(crate) const NODE: &str = "SELECT n.*, (SELECT count(*) FROM jobs j
    WHERE j.node_id = n.id AND NOT j.closed) AS open_jobs FROM nodes n";

#[async_trait]
impl NodeStore for Tx {
    async fn node_register(&mut self, node: &Node) -> Result<NodeId, Error> {
        let sql = "INSERT INTO nodes (id, node_slug, status, token_hash, capabilities,
                   sandbox_supported, max_concurrency, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
                   ON CONFLICT (node_slug) DO UPDATE SET token_hash = excluded.token_hash,
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
        ];
        self.row(sql, params).await?.map_or(Ok(node.id), |row| row.id("id"))
    }

    async fn node_get(&mut self, id: NodeId) -> Result<Option<Node>, Error> {
        let sql = format!("{NODE} WHERE n.id = $1");
        self.one(&tables::NODES, &sql, params![id], node).await
    }

    async fn node_by_slug(&mut self, slug: &str) -> Result<Option<Node>, Error> {
        let sql = format!("{NODE} WHERE n.node_slug = $1");
        self.one(&tables::NODES, &sql, params![slug], node).await
    }

    async fn node_by_token(&mut self, hash: &[u8]) -> Result<Option<Node>, Error> {
        let sql = format!("{NODE} WHERE n.token_hash = $1");
        self.one(&tables::NODES, &sql, params![hash], node).await
    }

    async fn node_list(&mut self) -> Result<Vec<Node>, Error> {
        let sql = format!("{NODE} ORDER BY n.node_slug");
        self.list(&tables::NODES, &sql, &[], node).await
    }

    async fn node_lock_tenure(&mut self, id: NodeId) -> Result<Option<NodeTenure>, Error> {
        let sql = "SELECT incarnation_id, last_seen_at, cynode_now() AS now FROM nodes
                   WHERE id = $1 /*pg FOR NO KEY UPDATE */";
        self.row(sql, params![id]).await?.as_ref().map(tenure).transpose()
    }

    async fn node_begin(&mut self, id: NodeId, process: IncarnationId) -> Result<(), Error> {
        let sql = "UPDATE nodes SET incarnation_id = $2, last_seen_at = cynode_now()
                   WHERE id = $1";
        self.execute(sql, params![id, process]).await.map(drop)
    }

    async fn node_end(&mut self, id: NodeId, process: IncarnationId) -> Result<bool, Error> {
        let sql = "UPDATE nodes SET incarnation_id = NULL WHERE id = $1 AND incarnation_id = $2";
        Ok(self.execute(sql, params![id, process]).await? == 1)
    }

    async fn node_touch(&mut self, id: NodeId, process: IncarnationId) -> Result<bool, Error> {
        let sql = "UPDATE nodes SET last_seen_at = cynode_now(),
                   status = CASE WHEN status = 'drained' THEN status ELSE 'active' END
                   WHERE id = $1 AND incarnation_id = $2";
        Ok(self.execute(sql, params![id, process]).await? == 1)
    }

    async fn node_set_status(&mut self, id: NodeId, status: NodeStatus) -> Result<(), Error> {
        let sql = "UPDATE nodes SET status = $2, updated_at = cynode_now() WHERE id = $1";
        self.execute(sql, params![id, status]).await.map(drop)
    }

    async fn node_retire_silent(&mut self, silent_ms: i64) -> Result<u64, Error> {
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
        status: row.word("status")?,
        token_hash: row.get("token_hash")?,
        capabilities: row.get("capabilities")?,
        sandbox_supported: row.get("sandbox_supported")?,
        max_concurrency: row.count("max_concurrency")?,
        open_jobs: row.get("open_jobs")?,
        incarnation: row.id_opt("incarnation_id")?,
        last_seen_at: row.get("last_seen_at")?,
        created_at: row.get("created_at")?,
    })
}

fn tenure(row: &Row) -> Result<NodeTenure, Error> {
    let now: DateTime<Utc> = row.get("now")?;
    let seen: Option<DateTime<Utc>> = row.get("last_seen_at")?;
    Ok(NodeTenure {
        incarnation: row.id_opt("incarnation_id")?,
        silent_ms: seen.map(|seen| (now - seen).num_milliseconds()),
    })
}
