//! The body of every refusal (RFC 9457).

use serde::{Deserialize, Serialize};

/// Why a request was refused, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// A stable name for the kind of problem, such as `urn:cynode:error:not_found`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: String,
    /// The HTTP status code.
    pub status: u16,
    /// What happened this time, and what to do.
    pub detail: String,
    /// The trace id, to find the request in the logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Every fault found in the request, when there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}
