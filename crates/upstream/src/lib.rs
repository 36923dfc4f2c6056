//! Connections to installed MCP servers (upstreams).
//!
//! Start at [`UpstreamPool`], which opens sessions with servers. A `UpstreamSession` is one MCP session, owned
//! by one client or shared by several clients that only send requests. It runs over a `link`: HTTP
//! or the standard streams of a process. The `message_router` of a session routes server messages to the right
//! client. The gateway prefers the protocol revision of the client; if the server does not support
//! it, `bridge` translates.
//!
//! Invariants: request ids and progress tokens of clients are never forwarded to a server, so they
//! cannot collide there. A server message for one session is never delivered to another. A slow,
//! dead or hostile server causes errors for its own clients only.

mod admission;
mod bridge;
mod conversation;
mod discovery;
mod handshake;
mod http;
pub mod interface;
mod link;
mod listing;
mod message;
mod message_router;
pub mod mirrored_headers;
mod pool;
pub mod protocol;
pub mod rpc;
mod server_connections;
mod shared_session;
mod stdio;

#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_wire::servers::Transport;
use serde_json::Value;

pub use cynode_network::NetworkReach;
pub use listing::ServerListing;
pub use pool::UpstreamPool;
pub use stdio::{
    NoProcesses, ProcessHandle, ProcessSpawner, ServerCommand, ServerProcess, SpawnError,
};

/// Timeouts and limits for upstream servers.
#[derive(Debug, Clone)]
pub struct UpstreamOptions {
    /// Limit for establishing a connection.
    pub connect_timeout: Duration,
    /// Longest silence from a server while a request is in flight.
    pub quiet_timeout: Duration,
    /// Limit for the `initialize` handshake.
    pub greeting_timeout: Duration,
    /// Limit for the `server/discover` probe of the stateless revision.
    pub probe_timeout: Duration,
    /// How long the first request of a session waits for the standing (GET) stream to open.
    pub standing_stream_timeout: Duration,
    pub max_response_bytes: usize,
    /// Concurrent requests per server.
    pub calls_per_server: u32,
    pub processes_per_server: usize,
    /// Interval between reads of a server's lists.
    pub refresh_every: Duration,
    /// Idle time after which an upstream session is closed.
    pub idle: Duration,
}

impl Default for UpstreamOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            quiet_timeout: Duration::from_mins(1),
            greeting_timeout: Duration::from_secs(15),
            probe_timeout: Duration::from_secs(3),
            standing_stream_timeout: Duration::from_millis(500),
            max_response_bytes: 4 * 1024 * 1024,
            calls_per_server: 256,
            processes_per_server: 8,
            refresh_every: Duration::from_mins(1),
            idle: Duration::from_mins(30),
        }
    }
}

/// An installed and enabled server.
#[derive(Clone)]
pub struct InstalledServer {
    pub id: ServerId,
    pub slug: String,
    /// Holds secrets.
    pub transport: Transport,
    /// Networks that an HTTP server, and the hosts that a process connects to, may be in.
    pub reach: NetworkReach,
}

/// A tool as listed by its server.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTool {
    pub name: String,
    /// The whole tool object, name included.
    pub definition: Value,
}

/// The registry of installed servers; receives their tool lists and health.
#[async_trait]
pub trait ServerDirectory: Send + Sync {
    /// Every enabled server. The error text is for the log.
    async fn servers(&self) -> Result<Vec<InstalledServer>, String>;

    /// One server, if it is enabled.
    async fn server(&self, id: ServerId) -> Result<Option<InstalledServer>, String>;

    /// Replaces the known tools of a server.
    async fn record_tools(&self, server: ServerId, tools: Vec<ListedTool>);

    /// Records the health of a server: `None`, or the fault, without secrets.
    async fn record_health(&self, server: ServerId, fault: Option<String>);
}
