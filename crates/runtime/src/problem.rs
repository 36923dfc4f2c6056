//! The kinds of refusal, and the one place that knows their status codes and names.

use cynode_wire::problem::Problem;

/// Why a request was refused, as far as a program can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request cannot be understood or breaks a rule: change it.
    Validation,
    /// Who is asking is not known: sign in.
    Authentication,
    /// Who is asking may not do this.
    Forbidden,
    /// There is no such thing, or not for who is asking.
    NotFound,
    /// The path exists, but not with this method.
    MethodNotAllowed,
    /// The thing is not in a state that allows this, or somebody else was first.
    Conflict,
    /// The body or a field is larger than allowed.
    TooLarge,
    /// The body is in a format that is not understood.
    UnsupportedMedia,
    /// Too many requests: wait and try again.
    RateLimited,
    /// A fault of the server; the log has the cause.
    Internal,
    /// Understood, but not built.
    NotImplemented,
    /// Something the server needs does not answer: try again shortly.
    Unavailable,
    /// The answer took too long.
    Timeout,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Validation,
        Self::Authentication,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Conflict,
        Self::TooLarge,
        Self::UnsupportedMedia,
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
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::NotImplemented => 501,
            Self::Unavailable => 503,
            Self::Timeout => 504,
        }
    }

    /// The stable name, for programs.
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
            Self::RateLimited => "urn:cynode:error:rate_limited",
            Self::Internal => "urn:cynode:error:internal",
            Self::NotImplemented => "urn:cynode:error:not_implemented",
            Self::Unavailable => "urn:cynode:error:unavailable",
            Self::Timeout => "urn:cynode:error:timeout",
        }
    }

    /// The kind in words, for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Validation => "The request is not valid",
            Self::Authentication => "Sign in first",
            Self::Forbidden => "Not allowed",
            Self::NotFound => "Not found",
            Self::MethodNotAllowed => "Method not allowed here",
            Self::Conflict => "Conflict with the present state",
            Self::TooLarge => "Too large",
            Self::UnsupportedMedia => "Format not understood",
            Self::RateLimited => "Too many requests",
            Self::Internal => "Internal error",
            Self::NotImplemented => "Not implemented",
            Self::Unavailable => "Temporarily unavailable",
            Self::Timeout => "Took too long",
        }
    }

    /// The body of a refusal of this kind, without trace id or list of faults.
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
        let urns: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.urn()).collect();
        let statuses: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.status()).collect();
        assert_eq!((urns.len(), statuses.len()), (Kind::ALL.len(), Kind::ALL.len()));
    }

    #[test]
    fn a_problem_body_carries_name_title_status_and_detail() {
        let body = Kind::Conflict.problem("task is leased to another runner");
        assert_eq!(body.kind, "urn:cynode:error:conflict");
        assert_eq!((body.status, body.title.as_str()), (409, "Conflict with the present state"));
        assert_eq!(body.detail, "task is leased to another runner");
    }
}
