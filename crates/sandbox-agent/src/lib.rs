//! The agent inside a sandbox: its loop, tools and action formats.
//!
//! Start at [`run_job`], which turns a specification into a result and never fails: every fault becomes a stop
//! condition. `agent_loop` asks the model for actions and executes them with `tools`; `answer` reads an action
//! from any of the three [`ActionFormat`](cynode_wire::agent_jobs::ActionFormat)s; `recovery` enforces the rules that
//! a model ignores when a prompt states them; `transcript` keeps the context below its limit.
//!
//! Invariants: no path leaves the workspace; every wait, read and output is bounded; text of files, commands and
//! tools reaches the model only between markers of data; the model's word decides nothing outside this process.

mod action;
mod action_schema;
mod agent_loop;
mod answer;
mod direct;
mod finish;
mod granted_tools;
mod job;
mod json_repair;
mod limits;
mod model;
mod observation;
mod prompt;
mod recovery;
mod repetition;
mod tools;
mod transcript;

pub use job::{AgentOptions, run_job, run_open_job};
pub use model::RetryPolicy;
pub use transcript::{CONTEXT_TOKENS, estimate_tokens};
