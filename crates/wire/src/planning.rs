//! How a runner has a request in prose planned.

use cynode_domain::plan::Step;
use cynode_domain::question::Question;
use serde::{Deserialize, Serialize};

use crate::workflow::Hold;

/// Why prose is not planned in an installation without a project manager.
pub const NO_PLANNER: &str = "No planner is configured that reads prose";

/// `POST /v1/workflow/plan`: has the task's prompt turned into steps. Asked again before it is
/// answered, it waits for the same plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRun {
    /// Proof of the right to write.
    pub hold: Hold,
    /// What people said when they were asked about the request, oldest first.
    #[serde(default)]
    pub said: Vec<String>,
    /// How long to wait for the plan, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
}

/// What came of planning so far.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PlanningView {
    /// There is a plan.
    Planned {
        /// The steps, in the order they run.
        steps: Vec<Step>,
        /// What was taken for granted.
        assumptions: Vec<String>,
        /// Who made the plan, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_by: Option<String>,
    },
    /// A person must be asked first.
    Ask {
        /// What.
        question: Question,
    },
    /// Nobody plans prose now: a person must say what is to be run.
    NoPlanner {
        /// Why, for people, as a sentence without its stop.
        reason: String,
    },
    /// Somebody still plans: ask again.
    Waiting {
        /// What is waited for, for people.
        waiting_for: String,
    },
}
