//! Traces: one request from its start to its end, as a tree of spans that is read from rows.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProfileId, RunId, TaskId, TraceId};
use cynode_domain::status::RunStatus;
use serde::{Deserialize, Serialize};

/// The most spans of one kind that a trace returns by default.
pub const DEFAULT_TRACE_SPANS: u32 = 500;
/// The most spans of one kind that a trace returns.
pub const MAX_TRACE_SPANS: u32 = 2_000;

/// A trace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TraceView {
    pub trace_id: TraceId,
    /// The start of the first span; times of spans are relative to it.
    pub started_at: DateTime<Utc>,
    /// From the first start to the last known end.
    pub duration_ms: i64,
    /// Whether a span has not ended yet.
    pub is_open: bool,
    /// Cost and tokens of all model calls, also of those that are not among the spans.
    pub usage: TraceUsage,
    /// The spans in the order of their start. The parent of a span is before or after it.
    pub spans: Vec<TraceSpan>,
    /// What the trace has more of than it shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<OmittedSpans>,
    /// What is not known, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Cost and tokens of model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TraceUsage {
    pub model_calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// In millionths of a US dollar; the sum of the calls with a known price.
    pub cost_micro_usd: i64,
    /// Calls without a known price: if there are any, the cost is a lower bound.
    pub unpriced_calls: i64,
}

impl TraceUsage {
    /// Adds the usage of another span.
    pub fn add(&mut self, other: Self) {
        self.model_calls += other.model_calls;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cost_micro_usd += other.cost_micro_usd;
        self.unpriced_calls += other.unpriced_calls;
    }
}

/// One span of a trace. An event is a span without a duration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TraceSpan {
    /// Unique in the trace: the kind and the id of its row.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    pub kind: TraceSpanKind,
    pub name: String,
    pub status: TraceSpanStatus,
    /// Milliseconds from the start of the trace.
    pub start_ms: i64,
    /// Absent while it is open, and for events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// What its row says about it, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The profile that an event was recorded in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    /// Model calls of this span and of the spans below it, as far as they are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TraceUsage>,
}

/// What a span is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TraceSpanKind {
    ChatTurn,
    Request,
    Task,
    Run,
    Transition,
    Job,
    /// An event that an agent recorded.
    Event,
    Decision,
    ToolCall,
    ModelCall,
}

impl TraceSpanKind {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatTurn => "chat_turn",
            Self::Request => "request",
            Self::Task => "task",
            Self::Run => "run",
            Self::Transition => "transition",
            Self::Job => "job",
            Self::Event => "event",
            Self::Decision => "decision",
            Self::ToolCall => "tool_call",
            Self::ModelCall => "model_call",
        }
    }
}

/// How a span stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceSpanStatus {
    Ok,
    Error,
    Canceled,
    /// It has not ended.
    Open,
    /// It ended, and whether it succeeded was not recorded.
    Unknown,
}

/// Spans that a trace has and does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct OmittedSpans {
    pub kind: TraceSpanKind,
    pub shown: i64,
    pub total: i64,
}

/// Query of `GET /v1/traces/{trace}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TraceQuery {
    /// The most spans of one kind, at most 2000; 500 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Query of `GET /v1/traces`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TraceListQuery {
    /// Only traces whose newest run has this status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A trace in a list: its newest run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TraceSummary {
    pub trace_id: TraceId,
    pub run_id: RunId,
    pub task_id: TaskId,
    /// Name of the request, else of the task.
    pub name: String,
    pub status: RunStatus,
    pub created_at: DateTime<Utc>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<DateTime<Utc>>,
}
