//! Request and response bodies of every API.
//!
//! Requests reject unknown fields; responses may gain fields. The bodies of the APIs of models are in `llm-wire`.
//! Request types are verbs (`CreateTask`), responses end in `View`, stream items in `Event`.
//!
//! Invariant: types here have no behaviour beyond serialisation and the contract of each call.

pub mod agent_jobs;
pub mod agent_profiles;
pub mod agents;
pub mod apmas;
pub mod artifacts;
pub mod audit;
pub mod auth;
pub mod capability_leases;
pub mod changes;
pub mod checks;
pub mod continuing;
pub mod credentials;
pub mod decisions;
pub mod events;
pub mod findings;
pub mod forges;
pub mod git;
pub mod groups;
pub mod handoff;
pub mod health;
pub mod inbox;
pub mod inferences;
pub mod jobs;
pub mod knowledge;
pub mod memory;
pub mod nodes;
pub mod notifications;
pub mod page;
pub mod planning;
pub mod preferences;
pub mod problem;
pub mod profiles;
pub mod project_memory;
pub mod projects;
pub mod providers;
pub mod replanning;
pub mod requests;
pub mod rules;
pub mod run_suspension;
pub mod runner_calls;
pub mod runs;
pub mod schedules;
pub mod servers;
pub mod settings;
pub mod skills;
pub mod sse;
pub mod tasks;
pub mod threads;
pub mod tool_calls;
pub mod tools;
pub mod traces;
pub mod transcript;
pub mod work;
pub mod workflow;
