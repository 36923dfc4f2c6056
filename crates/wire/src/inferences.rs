//! Records of model calls and their cost.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CredentialId, InferenceId, ProjectId, RunId, TaskId, ThreadId, UserId};
use cynode_domain::model::InferenceOutcome;
use cynode_domain::policy::{Effect, Principal};
use serde::{Deserialize, Serialize};

use crate::page::Page;

/// Metadata of one model call, without prompt and answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InferenceView {
    /// Its id.
    pub id: InferenceId,
    /// Start time.
    pub created_at: DateTime<Utc>,
    /// Purpose, such as `chat` or `plan`.
    pub purpose: String,
    /// Calling agent; null for a person.
    pub agent: Option<Principal>,
    /// User.
    pub user: UserId,
    /// Project.
    pub project: Option<ProjectId>,
    /// Task.
    pub task: Option<TaskId>,
    /// Run.
    pub run: Option<RunId>,
    /// Thread.
    pub thread: Option<ThreadId>,
    /// Trace id, to find the request in the logs.
    pub trace_id: String,
    /// Provider; empty if none matched.
    pub provider: String,
    /// The model, as the provider names it.
    pub model: String,
    /// Hash of the prompt, to find equal calls.
    pub prompt_hash: Option<String>,
    /// Input tokens, as counted by the provider.
    pub input_tokens: Option<i64>,
    /// Output tokens, as counted by the provider.
    pub output_tokens: Option<i64>,
    /// Cost in micro-USD; null if unknown.
    pub cost_micro_usd: Option<i64>,
    /// Whether the cost is an estimate: the provider reported no usage, or the call is in progress.
    #[serde(default)]
    pub is_estimate: bool,
    /// Duration in milliseconds.
    pub latency_ms: i64,
    /// Time to the first token of a streamed answer, in milliseconds.
    pub first_ms: Option<i64>,
    /// Outcome.
    pub outcome: InferenceOutcome,
    /// Error, in a few words.
    pub error: Option<String>,
}

/// Filters on model calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InferenceQuery {
    /// Only calls of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Only calls for this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Only calls for this purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Totals over all matching calls, not only those of the page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InferenceTotals {
    /// Number of calls.
    pub calls: i64,
    /// Input tokens.
    pub input_tokens: i64,
    /// Output tokens.
    pub output_tokens: i64,
    /// Known cost, in micro-USD.
    pub cost_micro_usd: i64,
    /// Number of sent calls without a known cost.
    pub unpriced: i64,
}

/// `GET /v1/brain/calls`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InferencesView {
    /// The calls, newest first.
    pub calls: Page<InferenceView>,
    /// Totals.
    pub totals: InferenceTotals,
}

/// One egress decision: whether a provider may be called, and why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct EgressDecisionView {
    /// Time of the decision.
    pub decided_at: DateTime<Utc>,
    /// Requested resource: `provider/operation`.
    pub resource: String,
    /// Whether it was allowed.
    pub decision: Effect,
    /// Reason: a rule with its id, the provider's entry, or a preference.
    pub reason: String,
    /// Credential that was sent; null if none.
    pub credential_id: Option<CredentialId>,
}

/// `GET /v1/brain/calls/{call}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InferenceDetailView {
    /// The call.
    pub call: InferenceView,
    /// Egress decisions in order, one for each candidate provider.
    pub decisions: Vec<EgressDecisionView>,
}
