//! What a plan is expected to need, before its work starts.

use serde::{Deserialize, Serialize};

/// A lower and an upper bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EstimateRange {
    pub low: u64,
    pub high: u64,
}

impl EstimateRange {
    /// The bounds of both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { low: self.low.saturating_add(other.low), high: self.high.saturating_add(other.high) }
    }
}

/// The agents of a plan with their expected model calls. An estimate, and no limit: what is spent is limited by a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct WorkEstimate {
    /// In the order of the plan.
    pub units: Vec<UnitEstimate>,
    pub model_calls: EstimateRange,
    /// In millionths of a dollar; absent if the price of a model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<EstimateRange>,
    /// Why the cost is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The agent of a unit with its expected model calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct UnitEstimate {
    /// Such as `impl:auth`.
    pub unit: String,
    pub role: String,
    /// The agent profile, or `sba` for the built-in agent; absent where the project's commands run without an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The specialisation of the agent, such as `rust-fixer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_hint: Option<String>,
    /// The model that the hint stands for now, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub model_calls: EstimateRange,
    /// In millionths of a dollar; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<EstimateRange>,
}
