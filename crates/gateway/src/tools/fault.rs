//! Converts operation errors into tool failures, by their class.

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::policy::ErrorKind;
use tracing::error;

use crate::audited::CallFailure;

/// Why a built-in tool failed.
pub(crate) type ToolFault = CallFailure;

impl ToolFault {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArguments, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub(super) fn internal(cause: &(dyn std::error::Error + 'static)) -> Self {
        error!(error = cause, "built-in tool failed");
        let text = "internal error; the gateway log has the cause";
        Self::new(ErrorKind::InternalError, text)
    }
}

impl<E: Classified> From<E> for ToolFault {
    fn from(error: E) -> Self {
        let Classification { class, detail, .. } = error.classify();
        let Some(detail) = detail.filter(|_| class != ErrorClass::Internal) else {
            return Self::internal(&error);
        };
        if class.is_logged() {
            error!(error = &error as &dyn std::error::Error, "built-in tool failed: {detail}");
        }
        Self::new(error_kind(class), detail)
    }
}

fn error_kind(class: ErrorClass) -> ErrorKind {
    use ErrorClass as C;
    match class {
        C::Invalid | C::TooLarge => ErrorKind::InvalidArguments,
        C::Unauthenticated | C::Forbidden => ErrorKind::Forbidden,
        C::PolicyViolation => ErrorKind::PolicyViolation,
        C::Disabled => ErrorKind::ToolDisabled,
        C::NotFound => ErrorKind::NotFound,
        C::Conflict | C::StorageLimit => ErrorKind::Conflict,
        C::RateLimited | C::Unavailable | C::Outage => ErrorKind::ServiceUnavailable,
        C::Canceled => ErrorKind::Canceled,
        C::Timeout => ErrorKind::Timeout,
        C::UpstreamFailed => ErrorKind::BadResponse,
        C::Internal => ErrorKind::InternalError,
    }
}

#[cfg(test)]
mod tests {
    use cynode_blobs::BlobError;
    use cynode_resources::StoreError;

    use super::*;

    #[test]
    fn internal_errors_keep_their_text_for_the_log() {
        let damaged = BlobError::Damaged { sha256: "ab".to_owned(), what: "secret".to_owned() };
        let hidden = BlobError::from(std::io::Error::other("/var/secret"));

        for fault in [ToolFault::from(damaged), ToolFault::from(hidden)] {
            assert_eq!(fault.kind, ErrorKind::InternalError);
            assert!(!fault.message.contains("secret"), "{}", fault.message);
        }
    }

    #[test]
    fn a_tool_can_be_retried_after_an_outage() {
        let fault = ToolFault::from(StoreError::Closed);

        assert!(fault.kind.is_retryable());
        assert_eq!(fault.message, "the database is unavailable: try again shortly");
    }
}
