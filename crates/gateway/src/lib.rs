//! The MCP gateway: decides who may call which tool, and records every call.
//!
//! Start at [`pipeline`], the pure decision, stage by stage. `invoke` executes a call: decide,
//! record, execute, record, respond. [`snapshot`] is the policy snapshot that decisions read;
//! `edge` is the HTTP endpoint for every protocol revision; [`tools`] are the built-in tools, one
//! file each; the `seams` of the upstream crate connect installed servers.
//!
//! Invariants: default deny; no call is executed and no response sent unless it is on the audit
//! record; arguments and results appear in no audit record, and in logs only at debug level,
//! redacted.

mod audited;
mod backend;
mod directory;
mod edge;
mod explain;
mod gateway;
mod identity;
mod instructions;
mod invoke;
mod lease_policy;
mod options;
pub mod pipeline;
mod rate_limits;
mod rejections;
mod relay;
pub mod resolution;
mod sessions;
pub mod snapshot;
mod tool_list;
pub mod tools;

pub use backend::{BackendError, GatewayBackend, GatewayOperations, OpenCallRecord};
pub use directory::RegistryDirectory;
pub use edge::router;
pub use gateway::{GatewayParts, McpGateway};
pub use identity::Identity;
pub use options::GatewayOptions;
