//! Reasons for which the gateway rejects a request before there is a call. Such requests are recorded in aggregate.

use cynode_domain::policy::Principal;

use crate::identity::Identity;

/// Why a request was rejected. Requests over the limits of a user or project have the reasons of
/// [`cynode_resources::request_limits::RequestLimit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RejectionReason {
    /// Host or Origin is not allowed.
    ForeignHost,
    /// The body is too long, or was truncated.
    PayloadTooLarge,
    /// The content type is not JSON.
    UnsupportedMediaType,
    /// The body is not a protocol message.
    MalformedMessage,
    /// No valid token, and not a tool call.
    Unauthenticated,
    TooManyRequests,
    TooManySessions,
    /// No session id, or one of another token or address.
    WrongSession,
    /// Headers are missing or contradict the body.
    HeaderMismatch,
    /// Opens a server that its caller may not use.
    ServerDenied,
}

impl RejectionReason {
    /// The reason in audit records.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ForeignHost => "foreign_host",
            Self::PayloadTooLarge => "payload_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::MalformedMessage => "malformed_message",
            Self::Unauthenticated => "unauthenticated",
            Self::TooManyRequests => "too_many_requests",
            Self::TooManySessions => "too_many_sessions",
            Self::WrongSession => "wrong_session",
            Self::HeaderMismatch => "header_mismatch",
            Self::ServerDenied => "server_denied",
        }
    }
}

/// The kind of peer in audit records.
pub(crate) fn peer_kind(identity: Option<&Identity>) -> &'static str {
    match identity.map(|identity| identity.agent) {
        None => "unknown",
        Some(Principal::User) => "user",
        Some(Principal::Agent(_)) => "agent",
    }
}
