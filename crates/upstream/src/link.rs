//! The transport of one upstream session.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::value::RawValue;

use super::handshake::RevisionKind;
use super::message::OutgoingRequest;
use super::message_router::MessageRouter;
use crate::interface::UpstreamError;

/// Carries the messages of one upstream session.
#[async_trait]
pub(super) trait UpstreamLink: Send + Sync {
    /// Sends a request and waits for its whole response. Other messages that arrive meanwhile are
    /// given to `message_router`.
    async fn exchange(
        &self,
        request: &OutgoingRequest,
        router: &Arc<MessageRouter>,
    ) -> Result<Box<RawValue>, UpstreamLinkError>;

    /// Sends a message that has no response.
    async fn send(&self, message: &str) -> Result<(), UpstreamLinkError>;

    /// Applies the negotiated revision after the handshake.
    fn apply_revision(&self, revision_kind: &RevisionKind);

    /// Receives messages outside of requests until the stream ends.
    async fn listen(&self, router: &Arc<MessageRouter>);

    /// How long the first request waits for the standing stream. Zero where one stream carries
    /// everything.
    fn standing_stream_timeout(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether an unwanted request must be canceled with a notification. In the stateless revision
    /// over HTTP, closing the request's stream cancels it.
    fn needs_cancel_notification(&self) -> bool;

    /// Called when a handshake was not answered in time. Returns whether the next handshake needs a
    /// new link, because the server may still process the first one.
    fn abandon_handshake(&self) -> bool {
        false
    }

    fn is_open(&self) -> bool;

    async fn close(&self);
}

/// Why a message was not sent, or not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UpstreamLinkError {
    /// The server lost the session; the request was not processed.
    SessionLost,
    /// The server rejected the request.
    Rejected { status: u16 },
    /// The server or the connection failed.
    Failed(UpstreamError),
}

impl UpstreamLinkError {
    pub(super) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Failed(UpstreamError::Unavailable(reason.into()))
    }

    pub(super) fn protocol(reason: impl Into<String>) -> Self {
        Self::Failed(UpstreamError::Protocol(reason.into()))
    }

    /// Whether this counts as a failure of the server.
    pub(super) fn is_failure(&self) -> bool {
        match self {
            Self::Failed(UpstreamError::Unavailable(_) | UpstreamError::Timeout) => true,
            Self::Rejected { status } => *status >= 500,
            Self::SessionLost | Self::Failed(_) => false,
        }
    }
}

impl From<UpstreamLinkError> for UpstreamError {
    fn from(error: UpstreamLinkError) -> Self {
        match error {
            UpstreamLinkError::SessionLost => {
                Self::Unavailable("it lost the session again".to_owned())
            }
            UpstreamLinkError::Rejected { status: 401 | 403 } => {
                Self::Unavailable("it rejected the configured credentials".to_owned())
            }
            UpstreamLinkError::Rejected { status: 429 } => Self::Busy,
            UpstreamLinkError::Rejected { status } => {
                Self::Unavailable(format!("it answered HTTP {status}"))
            }
            UpstreamLinkError::Failed(error) => error,
        }
    }
}
