//! Task execution: the workflow of runs, jobs on worker nodes, artifacts, findings and verdicts.
//!
//! [`TaskService`] serves the public API; runners call [`WorkflowService`], worker nodes call [`NodeService`]. Work for the
//! project manager is a [`handoff`]; the crate `analysts` judges results.
//!
//! Invariants: a write for a run presents its lease; a result is accepted once, from the incarnation that holds the
//! job. Every operation that changes state is one transaction, with its events in it. This crate has no HTTP code.

pub mod artifacts;
pub mod findings;
pub mod handoff;
pub mod nodes;
pub mod tasks;
pub mod workflow;

pub use artifacts::{ArtifactError, ArtifactService};
pub use nodes::{JobPlacer, JoinCredential, NodeError, NodeService};
pub use tasks::{TaskError, TaskService};
pub use workflow::{WorkflowError, WorkflowService, analyst};
