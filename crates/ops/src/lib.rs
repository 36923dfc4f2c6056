//! Operations beyond tasks: chat, messages, work units, schedules, sandboxes, agent profiles.
//!
//! Each feature is a small struct of its collaborators; the edges (REST, MCP) only call its
//! methods, so people, agents and processes share one behaviour. [`inbox`] processes the reports of
//! agents.
//!
//! Invariants: every operation that changes state is one transaction, including its events; the
//! signal sent afterwards only saves a waiting reader one poll. Nothing here depends on HTTP.

pub mod access;
pub mod agent_profiles;
pub mod capability_leases;
pub mod chat;
pub mod health;
pub mod inbox;
pub mod memory;
pub mod messages;
pub mod sandboxes;
pub mod schedules;
pub mod work;

pub use agent_profiles::{AgentProfileError, AgentProfiles};
pub use health::{QuarantineSummary, StorageHealth};
pub use messages::{AgentMessages, MessageError};
pub use work::{WorkError, WorkService};
