//! Problem kinds (RFC 9457) with their status codes and URNs.

use cynode_wire::problem::Problem;

/// The kind of an error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The request is malformed or invalid.
    Validation,
    /// The caller is not authenticated.
    Authentication,
    /// The caller may not do this.
    Forbidden,
    /// The resource does not exist, or the caller may not see it.
    NotFound,
    /// The route does not support this method.
    MethodNotAllowed,
    /// The current state does not allow this, or a concurrent change won.
    Conflict,
    /// The body or a field is larger than allowed.
    TooLarge,
    /// The body has an unsupported format.
    UnsupportedMedia,
    /// The files of a user or project would take more bytes than allowed.
    StorageLimit,
    /// Too many requests: retry later.
    RateLimited,
    /// An internal error; the log has the cause.
    Internal,
    /// Not implemented.
    NotImplemented,
    /// A dependency is unavailable: retry shortly.
    Unavailable,
    /// The request timed out.
    Timeout,
}

impl ProblemKind {
    pub const ALL: [Self; 14] = [
        Self::Validation,
        Self::Authentication,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Conflict,
        Self::TooLarge,
        Self::UnsupportedMedia,
        Self::StorageLimit,
        Self::RateLimited,
        Self::Internal,
        Self::NotImplemented,
        Self::Unavailable,
        Self::Timeout,
    ];

    /// The HTTP status code.
    pub const fn status(self) -> u16 {
        match self {
            Self::Validation => 400,
            Self::Authentication => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::UnsupportedMedia => 415,
            Self::StorageLimit => 422,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::NotImplemented => 501,
            Self::Unavailable => 503,
            Self::Timeout => 504,
        }
    }

    /// The stable identifier, for programs.
    pub const fn urn(self) -> &'static str {
        match self {
            Self::Validation => "urn:cynode:error:validation",
            Self::Authentication => "urn:cynode:error:authentication",
            Self::Forbidden => "urn:cynode:error:forbidden",
            Self::NotFound => "urn:cynode:error:not_found",
            Self::MethodNotAllowed => "urn:cynode:error:method_not_allowed",
            Self::Conflict => "urn:cynode:error:conflict",
            Self::TooLarge => "urn:cynode:error:too_large",
            Self::UnsupportedMedia => "urn:cynode:error:unsupported_media",
            Self::StorageLimit => "urn:cynode:error:storage_limit",
            Self::RateLimited => "urn:cynode:error:rate_limited",
            Self::Internal => "urn:cynode:error:internal",
            Self::NotImplemented => "urn:cynode:error:not_implemented",
            Self::Unavailable => "urn:cynode:error:unavailable",
            Self::Timeout => "urn:cynode:error:timeout",
        }
    }

    /// The title, for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Validation => "The request is not valid",
            Self::Authentication => "Sign in first",
            Self::Forbidden => "Not allowed",
            Self::NotFound => "Not found",
            Self::MethodNotAllowed => "Method not allowed",
            Self::Conflict => "Conflict with the current state",
            Self::TooLarge => "Too large",
            Self::UnsupportedMedia => "Unsupported media type",
            Self::StorageLimit => "Too many stored bytes",
            Self::RateLimited => "Too many requests",
            Self::Internal => "Internal error",
            Self::NotImplemented => "Not implemented",
            Self::Unavailable => "Temporarily unavailable",
            Self::Timeout => "Timed out",
        }
    }

    /// The response body, without trace id and list of errors.
    pub fn problem(self, detail: impl Into<String>) -> Problem {
        Problem {
            kind: self.urn().to_owned(),
            title: self.title().to_owned(),
            status: self.status(),
            detail: detail.into(),
            instance: None,
            errors: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_of_problem_has_its_own_name_and_status() {
        let urns: BTreeSet<_> = ProblemKind::ALL.iter().map(|kind| kind.urn()).collect();
        let statuses: BTreeSet<_> = ProblemKind::ALL.iter().map(|kind| kind.status()).collect();
        assert_eq!((urns.len(), statuses.len()), (ProblemKind::ALL.len(), ProblemKind::ALL.len()));
    }

    #[test]
    fn a_problem_body_carries_name_title_status_and_detail() {
        let body = ProblemKind::Conflict.problem("task is leased to another runner");
        assert_eq!(body.kind, "urn:cynode:error:conflict");
        assert_eq!((body.status, body.title.as_str()), (409, "Conflict with the current state"));
        assert_eq!(body.detail, "task is leased to another runner");
    }
}
