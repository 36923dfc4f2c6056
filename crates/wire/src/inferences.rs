//! The record of calls to models, and what they cost.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CredentialId, InferenceId, ProjectId, RunId, TaskId, ThreadId, UserId};
use cynode_domain::model::InferenceOutcome;
use cynode_domain::policy::{Effect, Principal};
use serde::{Deserialize, Serialize};

use crate::page::Page;

/// One call to a model: metadata only, neither question nor answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InferenceView {
    /// Its id.
    pub id: InferenceId,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// What it was for, such as `chat` or `plan`.
    pub purpose: String,
    /// Which agent asked; nothing for a person.
    pub agent: Option<Principal>,
    /// For whom.
    pub user: UserId,
    /// In which project.
    pub project: Option<ProjectId>,
    /// For which task.
    pub task: Option<TaskId>,
    /// In which run.
    pub run: Option<RunId>,
    /// In which conversation.
    pub thread: Option<ThreadId>,
    /// Finds the request in the logs.
    pub trace_id: String,
    /// The provider; empty if none was found.
    pub provider: String,
    /// The model, as the provider names it.
    pub model: String,
    /// A hash of the question, to find the same one again.
    pub prompt_hash: Option<String>,
    /// Tokens sent, as the provider counted them.
    pub input_tokens: Option<i64>,
    /// Tokens that came back, as the provider counted them.
    pub output_tokens: Option<i64>,
    /// The cost in millionths of a US dollar; nothing if it is not known.
    pub cost_micro_usd: Option<i64>,
    /// Whether the cost is an estimate, because nobody counted or the call is still open.
    #[serde(default)]
    pub is_estimate: bool,
    /// How long it took.
    pub latency_ms: i64,
    /// How long it took until the first piece of a streamed answer.
    pub first_ms: Option<i64>,
    /// What came of it.
    pub outcome: InferenceOutcome,
    /// What went wrong, in one word or a few.
    pub error: Option<String>,
}

/// Which calls a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InferenceQuery {
    /// Those in this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Those for this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Those for this purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Sums over all calls that a list selects, not only those of its page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InferenceTotals {
    /// How many calls.
    pub calls: i64,
    /// Tokens sent.
    pub input_tokens: i64,
    /// Tokens that came back.
    pub output_tokens: i64,
    /// The known cost, in millionths of a US dollar.
    pub cost_micro_usd: i64,
    /// How many of the calls that reached a model have no known cost.
    pub unpriced: i64,
}

/// `GET /v1/brain/calls`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InferencesView {
    /// The calls, newest first.
    pub calls: Page<InferenceView>,
    /// Sums over all of them.
    pub totals: InferenceTotals,
}

/// One decision about a call to a model: whether a provider may be asked, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct EgressDecisionView {
    /// When it was decided.
    pub decided_at: DateTime<Utc>,
    /// What was asked for: `provider/operation`.
    pub resource: String,
    /// Whether it was let through.
    pub decision: Effect,
    /// By what: a rule with its id, what the provider's entry says, or a preference.
    pub reason: String,
    /// With which credential; nothing if none was sent.
    pub credential_id: Option<CredentialId>,
}

/// `GET /v1/brain/calls/{call}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InferenceDetailView {
    /// The call.
    pub call: InferenceView,
    /// What was decided about it, in order: one entry for each provider that was thought of.
    pub decisions: Vec<EgressDecisionView>,
}
