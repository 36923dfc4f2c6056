//! The laws, one file per aggregate.

pub(crate) mod agent_tokens;
pub(crate) mod artifacts;
pub(crate) mod audit;
pub(crate) mod events;
pub(crate) mod findings;
pub(crate) mod jobs;
pub(crate) mod leases;
pub(crate) mod logs;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod nodes;
pub(crate) mod preferences;
pub(crate) mod projects;
pub(crate) mod rules;
pub(crate) mod runs;
pub(crate) mod servers;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod skills;
pub(crate) mod tasks;
pub(crate) mod users;
pub(crate) mod workflow;
pub(crate) mod writes;
