//! Planner, worker and coordinator: the roles of every agent of the product.
//!
//! A [`Planner`] turns a goal into ordered steps; [`ToolPlanner`] is the one that chooses tools ([`tool_ranking`]), others
//! plan commands. A [`StepWorker`] observes, reasons and acts, in the one loop of chat turns and sandbox agents
//! ([`run_worker`]). A [`Coordinator`] assigns steps to the workers of a pool.
//!
//! Invariant: start, end and reason of every plan and every execution are recorded in the trace that the role was given;
//! steps are recorded in the order in which they are performed.

mod coordinator;
mod planner;
mod tool_planner;
pub mod tool_ranking;
mod worker;

pub use coordinator::{Assignment, Coordinator, NoWorkers, PooledWorker};
pub use planner::{AgentPlan, PlanDraft, PlanMetadata, Planner, StepLimit, run_planner};
pub use tool_planner::{SelectedTool, ToolPlanner};
pub use worker::{StepWorker, WorkerEnd, run_worker};
