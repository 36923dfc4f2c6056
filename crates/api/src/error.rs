//! Maps operation errors to problem responses, by their class.
//!
//! Clients get a kind and a safe detail; the log gets the whole error chain, once.

use std::error::Error as StdError;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_runtime::problem::ProblemKind;
use http::StatusCode;

/// The detail of internal errors without a text for clients.
pub(crate) const INTERNAL_DETAIL: &str = "internal error; the server log has the cause";

type ApiErrorCause = Arc<dyn StdError + Send + Sync>;

/// An error response; [`crate::edge`] adds the body and the trace id.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) kind: ProblemKind,
    pub(crate) detail: String,
    pub(crate) errors: Vec<String>,
    pub(crate) cause: Option<ApiErrorCause>,
}

impl ApiError {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), errors: vec![], cause: None }
    }

    pub(crate) fn caused_by(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    fn invalid(faults: Vec<String>) -> Self {
        let detail = match faults.as_slice() {
            [only] => only.clone(),
            many => format!("the request has {} errors: {}", many.len(), many.join("; ")),
        };
        Self { errors: faults, ..Self::new(ProblemKind::Validation, detail) }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.kind.status());
        let mut response = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl<E: Classified> From<E> for ApiError {
    fn from(error: E) -> Self {
        let Classification { class, detail, faults } = error.classify();
        let refusal = if faults.is_empty() {
            Self::new(problem_kind(class), detail.unwrap_or_else(|| INTERNAL_DETAIL.to_owned()))
        } else {
            Self::invalid(faults.to_vec())
        };
        if class.is_logged() { refusal.caused_by(error) } else { refusal }
    }
}

fn problem_kind(class: ErrorClass) -> ProblemKind {
    use ErrorClass as C;
    match class {
        C::Invalid | C::PolicyViolation => ProblemKind::Validation,
        C::Unauthenticated => ProblemKind::Authentication,
        C::Forbidden | C::Disabled => ProblemKind::Forbidden,
        C::NotFound => ProblemKind::NotFound,
        C::Conflict => ProblemKind::Conflict,
        C::TooLarge => ProblemKind::TooLarge,
        C::StorageLimit => ProblemKind::StorageLimit,
        C::RateLimited => ProblemKind::RateLimited,
        C::Canceled | C::UpstreamFailed | C::Unavailable | C::Outage => ProblemKind::Unavailable,
        C::Timeout => ProblemKind::Timeout,
        C::Internal => ProblemKind::Internal,
    }
}

#[cfg(test)]
mod tests {
    use cynode_blobs::BlobError;
    use cynode_execution::TaskError;
    use cynode_resources::{ProjectError, StoreError};

    use super::*;

    #[test]
    fn an_internal_error_keeps_its_text_for_the_log() {
        let secret = std::io::Error::other("/var/secret");
        let refusal = ApiError::from(TaskError::from(BlobError::from(secret)));

        assert_eq!((refusal.kind, &*refusal.detail), (ProblemKind::Internal, INTERNAL_DETAIL));
        assert!(refusal.cause.is_some());
    }

    #[test]
    fn a_quarantined_row_is_named_without_its_content() {
        let refusal = ApiError::from(StoreError::Quarantined {
            table: "tasks".to_owned(),
            key: "7".to_owned(),
            column: "state".to_owned(),
            reason: "secret content".to_owned(),
        });

        assert_eq!(refusal.kind, ProblemKind::Internal);
        assert!(refusal.detail.starts_with("row 7 of table tasks is quarantined"));
        assert!(!refusal.detail.contains("secret"));
    }

    #[test]
    fn an_outage_is_logged_and_a_conflict_is_not() {
        let outage = ApiError::from(ProjectError::from(StoreError::Closed));
        let conflict = ApiError::from(TaskError::AlreadyStarted);

        assert_eq!((outage.kind, outage.cause.is_some()), (ProblemKind::Unavailable, true));
        assert_eq!((conflict.kind, conflict.cause.is_some()), (ProblemKind::Conflict, false));
    }

    #[test]
    fn all_violations_of_a_request_are_listed() {
        let faults = vec!["a is missing".to_owned(), "b is too long".to_owned()];
        let refusal = ApiError::from(TaskError::from(ProjectError::Invalid(faults.clone())));

        assert_eq!(refusal.kind, ProblemKind::Validation);
        assert_eq!(refusal.detail, "the request has 2 errors: a is missing; b is too long");
        assert_eq!(refusal.errors, faults);
    }
}
