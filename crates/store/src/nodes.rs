//! Worker nodes.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::NodeId;
use cynode_domain::status::NodeStatus;
use serde_json::Value;

use crate::column::Row;
use crate::param::params;
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
    /// When it last polled.
    pub last_seen_at: Option<DateTime<Utc>>,
    /// When it first joined.
    pub created_at: DateTime<Utc>,
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
    /// The node polled just now.
    async fn node_touch(&mut self, id: NodeId) -> Result<(), Error>;
    /// Moves a node.
    async fn node_set_status(&mut self, id: NodeId, status: NodeStatus) -> Result<(), Error>;
    /// Active nodes that have not polled for `silent_ms`, or never, become inactive. Gives how many.
    async fn node_retire_silent(&mut self, silent_ms: i64) -> Result<u64, Error>;
}

const NODE: &str = "SELECT n.*, (SELECT count(*) FROM jobs j
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
        self.row(&sql, params![id]).await?.as_ref().map(node).transpose()
    }

    async fn node_by_slug(&mut self, slug: &str) -> Result<Option<Node>, Error> {
        let sql = format!("{NODE} WHERE n.node_slug = $1");
        self.row(&sql, params![slug]).await?.as_ref().map(node).transpose()
    }

    async fn node_by_token(&mut self, hash: &[u8]) -> Result<Option<Node>, Error> {
        let sql = format!("{NODE} WHERE n.token_hash = $1");
        self.row(&sql, params![hash]).await?.as_ref().map(node).transpose()
    }

    async fn node_list(&mut self) -> Result<Vec<Node>, Error> {
        let sql = format!("{NODE} ORDER BY n.node_slug");
        self.rows(&sql, &[]).await?.iter().map(node).collect()
    }

    async fn node_touch(&mut self, id: NodeId) -> Result<(), Error> {
        let sql = "UPDATE nodes SET last_seen_at = cynode_now(),
                   status = CASE WHEN status = 'drained' THEN status ELSE 'active' END
                   WHERE id = $1";
        self.execute(sql, params![id]).await.map(drop)
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

fn node(row: &Row) -> Result<Node, Error> {
    Ok(Node {
        id: row.id("id")?,
        slug: row.get("node_slug")?,
        status: row.word("status")?,
        token_hash: row.get("token_hash")?,
        capabilities: row.get("capabilities")?,
        sandbox_supported: row.get("sandbox_supported")?,
        max_concurrency: row.count("max_concurrency")?,
        open_jobs: row.get("open_jobs")?,
        last_seen_at: row.get("last_seen_at")?,
        created_at: row.get("created_at")?,
    })
}
