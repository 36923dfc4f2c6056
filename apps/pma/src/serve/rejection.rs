//! Errors of the handoff API and their responses.

use std::time::Duration;

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use cynode_agent::HandoffAgentError;
use cynode_runtime::problem::ProblemKind;

/// `Retry-After` while all handoff slots are taken, in seconds.
const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("1");

/// Why a handoff is rejected or failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandoffRejection {
    /// The caller did not present the orchestrator's secret.
    #[error("only the orchestrator may send handoffs")]
    Unauthenticated,
    #[error("unknown kind of handoff")]
    UnknownKind,
    #[error("invalid handoff: {0}")]
    InvalidBody(String),
    /// `pma.max_open` handoffs are open.
    #[error("too many handoffs are open")]
    Saturated,
    /// The deadline of the handoff passed.
    #[error("the handoff timed out after {} ms", .0.as_millis())]
    DeadlineExceeded(Duration),
    #[error(transparent)]
    AgentFailed(HandoffAgentError),
}

impl IntoResponse for HandoffRejection {
    fn into_response(self) -> Response {
        let kind = match &self {
            Self::Unauthenticated => ProblemKind::Authentication,
            Self::UnknownKind => ProblemKind::NotFound,
            Self::InvalidBody(_) => ProblemKind::Validation,
            Self::Saturated => ProblemKind::Unavailable,
            Self::DeadlineExceeded(_) => ProblemKind::Timeout,
            Self::AgentFailed(HandoffAgentError::WrongRole { .. }) => ProblemKind::Conflict,
            // 503 means that the work was not started, so work that was started never returns it.
            Self::AgentFailed(_) => ProblemKind::Internal,
        };
        let status =
            StatusCode::from_u16(kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(kind.problem(self.to_string()))).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(self, Self::Saturated) {
            headers.insert(RETRY_AFTER, RETRY_AFTER_S);
        }
        response
    }
}
