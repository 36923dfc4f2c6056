//! Classes of operation errors.
//!
//! Every error that reaches an edge implements [`Classified`] beside its definition; HTTP, MCP and the
//! OpenAI-compatible API each map [`ErrorClass`] to their own codes, once.

use std::error::Error;

/// The kind of a failure, independent of the protocol that reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request is malformed or invalid.
    Invalid,
    /// The credential is missing, wrong or expired.
    Unauthenticated,
    /// The caller may not do this.
    Forbidden,
    /// A content rule rejects the request.
    PolicyViolation,
    /// The configuration disables the operation.
    Disabled,
    /// The resource does not exist, or the caller may not see it.
    NotFound,
    /// The current state does not allow this, or a concurrent change won.
    Conflict,
    /// The content is larger than allowed.
    TooLarge,
    /// The files of a user or project would take more bytes than allowed.
    StorageLimit,
    /// Too many requests: retry later.
    RateLimited,
    /// The caller ended the request.
    Canceled,
    Timeout,
    /// A server or provider failed, or its answer is invalid.
    UpstreamFailed,
    /// A dependency is not configured, busy or unreachable.
    Unavailable,
    /// The installation is not operational and an operator may have to repair it.
    Outage,
    /// An internal error.
    Internal,
}

impl ErrorClass {
    /// Whether the edge logs the error with its causes.
    pub const fn is_logged(self) -> bool {
        matches!(self, Self::Outage | Self::Internal)
    }
}

/// The class of an error and what a client may read about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classification<'e> {
    pub class: ErrorClass,
    /// `None` if no text of the error is safe for clients.
    pub detail: Option<String>,
    /// Every violation of the request, if the error lists them.
    pub faults: &'e [String],
}

impl<'e> Classification<'e> {
    /// `detail` is shown to clients.
    pub fn new(class: ErrorClass, detail: &(impl ToString + ?Sized)) -> Self {
        Self { class, detail: Some(detail.to_string()), faults: &[] }
    }

    /// An invalid request with a list of violations.
    pub fn invalid(detail: &(impl ToString + ?Sized), faults: &'e [String]) -> Self {
        Self { faults, ..Self::new(ErrorClass::Invalid, detail) }
    }

    /// An internal error, whose text is for the log only.
    pub const fn internal() -> Self {
        Self { class: ErrorClass::Internal, detail: None, faults: &[] }
    }
}

/// An error that edges report to clients.
pub trait Classified: Error + Send + Sync + 'static {
    /// Wrapped errors classify themselves.
    fn classify(&self) -> Classification<'_>;
}
