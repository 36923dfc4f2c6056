//! What the control plane can do: one folder per feature, one file per verb.
//!
//! Each feature is a small struct of its collaborators ([`Accounts`], [`Projects`], [`Tasks`],
//! [`Workflow`], [`Nodes`], [`Events`], and what the MCP gateway decides and records by: [`agents`],
//! [`tools`], [`servers`], [`rules`], [`settings`], [`access`], [`audit`]); the edges (REST, MCP) call its methods and nothing else, so
//! people, agents and processes cannot drift apart. [`Sweeper`] is the reconciler behind them.
//!
//! Invariants: every operation that changes state is one transaction, with its events in it; a
//! signal sent afterwards only saves a waiting reader one poll. Nothing here knows HTTP.

pub mod access;
mod accounts;
pub mod agents;
pub mod analysts;
mod artifacts;
pub mod audit;
mod blobs;
mod caller;
mod changes;
pub mod chat;
pub mod credentials;
pub mod decisions;
pub mod egress;
mod events;
pub mod findings;
pub mod groups;
pub mod handoff;
mod health;
pub mod inbox;
pub mod memory;
mod messages;
mod nodes;
mod outlet;
mod paging;
pub mod preferences;
mod projects;
pub mod rules;
pub mod runs;
pub mod sandboxes;
pub mod schedules;
pub mod secrets;
pub mod servers;
pub mod settings;
mod signals;
pub mod skills;
mod sweeper;
mod tasks;
mod tokens;
pub mod tools;
mod work;
mod workflow;

pub use accounts::{AccountError, Accounts, Bootstrap, Origin};
pub use artifacts::{ArtifactError, Artifacts};
pub use blobs::{BlobContent, BlobError, Blobs};
pub use caller::{Caller, NodeCaller};
pub use events::{EventError, Events, Subscription};
pub use health::{Health, Quarantined};
pub use messages::{MessageError, Messages};
pub use nodes::{NodeError, Nodes, Placer};
pub use paging::BadCursor;
pub use projects::{ProjectError, Projects};
pub use signals::Signals;
pub use sweeper::Sweeper;
pub use tasks::{TaskError, Tasks};
pub use tokens::{Token, TokenKind};
pub use work::{Work, WorkError};
pub use workflow::{Workflow, WorkflowError, analyst};

/// Why the database did not do as asked, for edges to explain.
pub use cynode_store::Error as StoreError;
/// A row that cannot be read, for edges to show.
pub use cynode_store::QuarantinedRow;
/// The database, for the process that opens it.
pub use cynode_store::Store;
