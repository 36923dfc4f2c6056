//! The domain model: ids, state machines, names, criteria and verdicts.
//!
//! Start at [`ids`], then [`status`], which defines every status of a row and every transition
//! between them. [`criteria`] decides whether a step's result is accepted, [`policy`] who may call
//! which tool.
//!
//! Invariant: nothing here performs I/O, reads a clock, or is `async`. The only impurities are
//! [`ids`]`::generate()`, which upper layers call (the store for leases only), and the jitter of [`backoff`].

#[macro_use]
mod words;

pub mod agent;
pub mod agent_profile;
pub mod agent_program;
pub mod backoff;
pub mod config_keys;
pub mod criteria;
pub mod disposition;
pub mod error_class;
pub mod estimate;
pub mod event_cursor;
pub mod finding;
pub mod forge;
pub mod git;
pub mod ids;
pub mod image_name;
pub mod job;
pub mod job_cache;
pub mod knowledge;
pub mod lease;
pub mod model;
pub mod name;
pub mod name_or_id;
pub mod node_labels;
pub mod notice;
pub mod plan;
pub mod policy;
pub mod preference;
pub mod profile;
pub mod project_context;
pub mod project_excerpts;
pub mod project_memory;
pub mod question;
pub mod report;
pub mod request;
pub mod request_budget;
pub mod role_limits;
pub mod run;
pub mod run_policy;
pub mod schedule;
pub mod server_transport;
pub mod skill;
pub mod start;
pub mod status;
pub mod suspension;
pub mod task_options;
pub mod text;
pub mod trace;
pub mod verdict;
pub mod verification;
pub mod visible_text;
pub mod work;
pub mod work_kind;
pub mod workspace_script;
