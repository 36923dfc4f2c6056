//! What CyNode talks about: ids, state machines, names, criteria and verdicts.
//!
//! Start reading at [`ids`], then [`status`]: every status a row can have and every move between
//! two of them is in that one module. [`criteria`] decides whether a step's result is accepted,
//! [`policy`] who may call which tool.
//!
//! Invariant: nothing here performs I/O, reads a clock, or is `async`. The one impurity is
//! [`ids`]`::generate()`, which upper layers call; a store does for leases alone.

#[macro_use]
mod words;

pub mod agent;
pub mod changes;
pub mod criteria;
pub mod disposition;
pub mod finding;
pub mod ids;
pub mod job;
pub mod known;
pub mod model;
pub mod name;
pub mod plan;
pub mod policy;
pub mod preference;
pub mod question;
pub mod report;
pub mod run;
pub mod run_policy;
pub mod schedule;
pub mod skill;
pub mod standstill;
pub mod start;
pub mod status;
pub mod verdict;
pub mod verification;
pub mod work;
