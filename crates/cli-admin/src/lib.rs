//! The commands of `cynork` that administer an installation: accounts, credentials, rules, tools, nodes, audit.
//!
//! Each command group is one module that owns its arguments and its output.
//!
//! Invariant: no token is ever printed, except by `token create` and `agent-token issue`.

pub mod agent_token;
pub mod audit;
pub mod auth;
pub mod creds;
pub mod groups;
pub mod known_keys;
pub mod leases;
pub mod nodes;
pub mod notify;
pub mod providers;
pub mod rules;
pub mod servers;
pub mod settings_command;
pub mod token;
pub mod tools;
pub mod users;
