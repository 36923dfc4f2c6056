//! The graph engine, the seven nodes of the task workflow, and the runner service that drives them.
//!
//! Start reading at [`engine`]: a small library of typed nodes, edges, journalled effects and
//! checkpoints, independent of tasks. [`graph`] wires the seven nodes of [`nodes`] over
//! [`WorkflowState`](cynode_workflow_state::WorkflowState); [`runner`] claims runs and
//! renews their leases while the graph runs.
//!
//! Invariant: nothing here opens a database or starts a command. Every effect is a call to the
//! orchestrator that carries the lease and its fencing epoch, so a stale runner cannot write.

mod checkpoint_encoder;
pub mod engine;
pub mod graph;
pub mod nodes;
pub mod orchestrator_api;
pub mod resume;
pub mod run_handle;
pub mod runner;
mod state;
mod summary;
pub mod workflow;
