//! The graph engine, the seven nodes of a task's workflow, and the service that drives them.
//!
//! Start reading at [`engine`]: a small library of typed nodes, edges, journalled effects and
//! checkpoints that knows nothing of tasks. [`graph`] wires the seven nodes of [`nodes`] over
//! [`state::RunState`]; [`runner`] claims tasks and keeps their leases while the graph runs.
//!
//! Invariant: nothing here opens a database or starts a command. Every effect is a call of the
//! orchestrator that carries the lease and its fencing epoch, so a stale run cannot write.

pub mod control;
pub mod engine;
pub mod graph;
pub mod held;
pub mod nodes;
pub mod orchestrator;
pub mod resume;
pub mod runner;
mod saved;
pub mod state;
mod summary;
pub mod workflow;
