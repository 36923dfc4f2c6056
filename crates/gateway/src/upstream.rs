//! Connections to the MCP servers that people install.
//!
//! Start at [`Pool`], which opens conversations; a `conversation` speaks for one client (or for
//! several that need nothing but answers) over a `link`: HTTP or the streams of a process. The
//! `hub` of a conversation brings what the server says to the client it is meant for. A server is
//! spoken to in the revision that the client speaks, if it can; else the difference is bridged.
//!
//! Invariants: ids and progress tokens of clients never reach a server, so that they cannot clash
//! there. What a server says to one session is never heard by another. A server that is slow, dead
//! or hostile costs its own clients an error, and nobody else anything.

mod breaker;
mod bridge;
mod conversation;
mod discovery;
mod era;
mod gate;
mod http;
mod hub;
mod link;
mod listing;
mod message;
mod pool;
mod seat;
mod site;
mod stdio;

#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_wire::servers::Transport;
use serde_json::Value;

pub use crate::outbound::Reach;
pub use listing::Listing;
pub use pool::Pool;
pub use stdio::{Launch, NoProcesses, Process, ProcessHandle, SpawnError, SpawnSandboxed};

/// How servers are treated.
#[derive(Debug, Clone)]
pub struct UpstreamOptions {
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a server may say nothing at all about a request.
    pub quiet_timeout: Duration,
    /// How long a server may take to introduce itself.
    pub greeting_timeout: Duration,
    /// How long a server may take to say whether it speaks the revision without sessions.
    pub probe_timeout: Duration,
    /// How long the first request of a session waits for the stream that the server may ask on.
    pub standing_timeout: Duration,
    /// The largest answer.
    pub max_response_bytes: usize,
    /// How many requests may be under way with one server.
    pub calls_per_server: u32,
    /// How many processes one server may have.
    pub processes_per_server: usize,
    /// How often the lists of a server are read again.
    pub refresh_every: Duration,
    /// How long an unused conversation is kept.
    pub idle: Duration,
}

impl Default for UpstreamOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            quiet_timeout: Duration::from_mins(1),
            greeting_timeout: Duration::from_secs(15),
            probe_timeout: Duration::from_secs(3),
            standing_timeout: Duration::from_millis(500),
            max_response_bytes: 4 * 1024 * 1024,
            calls_per_server: 256,
            processes_per_server: 8,
            refresh_every: Duration::from_mins(1),
            idle: Duration::from_mins(30),
        }
    }
}

/// A server that somebody installed, and that is switched on.
#[derive(Clone)]
pub struct InstalledServer {
    /// Its id.
    pub id: ServerId,
    /// Its name.
    pub slug: String,
    /// How it is reached; holds secrets.
    pub transport: Transport,
    /// How far into the network it may be, if it is reached over that.
    pub reach: Reach,
}

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenTool {
    /// Its name at the server.
    pub name: String,
    /// The whole description, name included.
    pub definition: Value,
}

/// Where installed servers are written down, and where is told what they offer.
#[async_trait]
pub trait Directory: Send + Sync {
    /// Every server that is switched on. Fails with words for the log.
    async fn servers(&self) -> Result<Vec<InstalledServer>, String>;

    /// One server, if it is switched on.
    async fn server(&self, id: ServerId) -> Result<Option<InstalledServer>, String>;

    /// These are all the tools of a server now.
    async fn observe(&self, server: ServerId, tools: Vec<SeenTool>);

    /// How speaking with a server went: nothing, or what is wrong with it, without secrets.
    async fn report(&self, server: ServerId, fault: Option<String>);
}
