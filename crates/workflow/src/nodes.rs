//! The seven nodes of the task workflow, one file each.
//!
//! Every node maps input to output; its `On<WorkflowState>` defines which part of the state it reads and writes.
//! The edges between them are in [`crate::graph`].

pub mod collect_result;
pub mod dispatch_step;
pub mod finalize_summary;
pub mod load_task_context;
pub mod mark_failed;
pub mod plan_steps;
pub mod verify_step_result;
