//! The body of every error response (RFC 9457).

use serde::{Deserialize, Serialize};

/// Why a request was rejected, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// Stable problem type, such as `urn:cynode:error:not_found`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title of the problem type.
    pub title: String,
    /// The HTTP status code.
    pub status: u16,
    /// What happened, and what to do.
    pub detail: String,
    /// The trace id, to find the request in the logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// All errors of the request, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}
