//! Why a handoff is refused, as a response.

use std::time::Duration;

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use cynode_agent::AgentError;
use cynode_runtime::problem::Kind;

/// In how many seconds there may be room again.
const ROOM_AFTER_S: HeaderValue = HeaderValue::from_static("1");

/// Why a handoff is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The caller is not the orchestrator.
    #[error("only the orchestrator hands over work here")]
    Stranger,
    /// There is no such kind of work.
    #[error("there is no such kind of handoff")]
    UnknownKind,
    /// The handoff cannot be read.
    #[error("the handoff cannot be read: {0}")]
    Unreadable(String),
    /// As many as allowed are open.
    #[error("too many handoffs are open")]
    Full,
    /// The work took longer than the caller waits.
    #[error("the work took longer than {} ms", .0.as_millis())]
    Late(Duration),
    /// The work failed.
    #[error(transparent)]
    Work(AgentError),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let kind = match &self {
            Self::Stranger => Kind::Authentication,
            Self::UnknownKind => Kind::NotFound,
            Self::Unreadable(_) => Kind::Validation,
            Self::Full => Kind::Unavailable,
            Self::Late(_) => Kind::Timeout,
            Self::Work(AgentError::WrongRole { .. }) => Kind::Conflict,
            // Work that was begun is never answered with 503, which says that it was not.
            Self::Work(_) => Kind::Internal,
        };
        let status =
            StatusCode::from_u16(kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(kind.problem(self.to_string()))).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(self, Self::Full) {
            headers.insert(RETRY_AFTER, ROOM_AFTER_S);
        }
        response
    }
}
