//! Typed client of the CyNode APIs, used by `cynork`, the runner and the nodes.
//!
//! Start at [`Client`]; each API is one module that adds methods to it. An [`ClientError::Refused`] carries the server's
//! problem document.
//!
//! Invariant: no method retries, because only the caller knows whether a call is safe to repeat.

mod agent_profiles;
mod auth;
mod capability_leases;
mod chat;
mod egress;
mod error;
mod events;
mod forges;
mod gateway;
mod groups;
mod history;
mod inbox;
mod knowledge;
mod mcp;
mod node_key;
mod nodes;
mod notifications;
mod plain_http;
mod profiles;
mod project_memory;
mod request;
mod requests;
mod runs;
mod schedules;
mod sse;
mod tasks;
mod workflow;

pub use chat::ChatChunkStream;
pub use error::{ClientError, UnreachableReason};
pub use events::EventStream;
pub use mcp::{McpClientError, McpResult, McpTool};
pub use node_key::{InvalidNodeKey, NodeKey};
pub use plain_http::FullResponse;
pub use request::Client;
pub use workflow::{EncodedRequest, decode_response};
