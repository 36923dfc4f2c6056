//! `db.trace.*`

use cynode_domain::ids::TraceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::traces::DEFAULT_TRACE_SPANS;

tool_calls! {
    DbTraceGet => "db.trace.get",
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbTraceGet {
    /// The id of the trace, as runs and requests state it.
    pub trace_id: TraceId,
    /// The most spans of one kind; 100 when absent.
    #[schemars(range(min = 1, max = DEFAULT_TRACE_SPANS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
