//! The resources that people and agents manage: users, groups, projects, tokens, tools, rules, skills, settings.
//!
//! Each resource is a small struct of its collaborators; the edges (REST, MCP) call its methods. [`Caller`] is the
//! authenticated caller, [`Signals`] wakes waiting readers, [`secrets`] redacts stored text.
//!
//! Invariants: every operation that changes state is one transaction, including its events; a
//! signal sent afterwards only saves a waiting reader one poll. Nothing here depends on HTTP.

pub mod accounts;
pub mod agents;
pub mod allowed_images;
pub mod audit;
pub mod caller;
pub mod changes;
pub mod groups;
pub mod paging;
pub mod preferences;
pub mod profile_access;
pub mod profiles;
pub mod project_excerpts;
pub mod project_memory;
pub mod projects;
pub mod repository_access;
pub mod request_limits;
pub mod rules;
pub mod sealed_values;
pub mod secrets;
pub mod servers;
pub mod settings;
pub mod signals;
pub mod skills;
pub mod tokens;
pub mod tools;

pub use accounts::{AccountError, Accounts, BootstrapOutcome, ClientAddress, InitialAdminSecrets};
pub use caller::{Actor, ActorKind, Caller, NodeCaller};
pub use paging::PageError;
pub use profiles::ProfileError;
pub use projects::{ProjectError, Projects};
pub use repository_access::{RepositoryCheck, RepositoryDenied};
pub use signals::Signals;
pub use tokens::{OpaqueToken, TokenKind};

/// For edges, which translate it.
pub use cynode_store::Error as StoreError;
/// For edges, which list unreadable rows.
pub use cynode_store::QuarantinedRow;
/// For the process that opens the database.
pub use cynode_store::{DatabaseEngine, Store};
