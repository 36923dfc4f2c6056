//! How a runner requests a plan for a prompt.

use cynode_domain::plan::Step;
use cynode_domain::question::Question;
use serde::{Deserialize, Serialize};

use crate::workflow::LeaseToken;

/// Reason in an installation without a project manager.
pub const NO_PLANNER: &str = "No planner is configured that reads prose";

/// `POST /v1/workflow/plan`: requests a plan for the task's prompt. Idempotent: a repeated call waits for the same
/// plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRun {
    /// Lease that authorises the write.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// Answers of people to questions about the request, oldest first.
    #[serde(default)]
    #[serde(rename = "said")]
    pub answers: Vec<String>,
    /// Maximum wait for the plan, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
}

/// State of planning.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PlanningView {
    /// The plan.
    Planned {
        /// Steps in execution order.
        steps: Vec<Step>,
        /// Assumptions.
        assumptions: Vec<String>,
        /// Author of the plan, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_by: Option<String>,
    },
    /// A person must answer a question first.
    Ask {
        /// The question.
        question: Question,
    },
    /// No planner is available: a person must give the commands.
    NoPlanner {
        /// Reason, as a sentence without its full stop.
        reason: String,
    },
    /// Planning is in progress: call again.
    Waiting {
        /// What is waited for, in words.
        waiting_for: String,
    },
}
