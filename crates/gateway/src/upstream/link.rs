//! What carries messages to a server and back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::value::RawValue;

use super::era::Era;
use super::hub::Hub;
use super::message::Outgoing;
use crate::seams::UpstreamError;

/// Carries the messages of one conversation.
#[async_trait]
pub(super) trait Link: Send + Sync {
    /// Sends a request and waits for the whole response to it. What else the server says meanwhile
    /// is given to `hub`.
    async fn exchange(
        &self,
        request: &Outgoing,
        hub: &Arc<Hub>,
    ) -> Result<Box<RawValue>, LinkError>;

    /// Sends a message that nobody answers.
    async fn send(&self, message: &str) -> Result<(), LinkError>;

    /// The greeting is over: this is how the server is spoken to from now on.
    fn agree(&self, era: &Era);

    /// Hears what the server says outside of requests, for as long as it says something.
    async fn listen(&self, hub: &Arc<Hub>);

    /// How long the first request waits until the server can be heard outside of requests. Where one
    /// stream carries everything, there is nothing to wait for.
    fn standing_timeout(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether the server must be told that an answer is not wanted any longer. Where each request
    /// has a stream of its own in the stateless revision, closing that says it.
    fn tells_cancellation(&self) -> bool;

    /// A greeting was not answered in time. Says whether the next one needs another link, because
    /// it is unknown what the server makes of a second one after the first.
    fn abandon(&self) -> bool {
        false
    }

    /// Whether messages can still be carried.
    fn is_open(&self) -> bool;

    /// Ends the conversation.
    async fn close(&self);
}

/// Why a message was not carried, or not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkError {
    /// The server does not know the session any longer; nothing was done.
    Stale,
    /// The server refuses such a request.
    Refused {
        /// The HTTP status.
        status: u16,
    },
    /// The server, or the way to it, failed.
    Failed(UpstreamError),
}

impl LinkError {
    pub(super) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Failed(UpstreamError::Unavailable(reason.into()))
    }

    pub(super) fn protocol(reason: impl Into<String>) -> Self {
        Self::Failed(UpstreamError::Protocol(reason.into()))
    }

    /// Whether this counts against the server.
    pub(super) fn is_failure(&self) -> bool {
        match self {
            Self::Failed(UpstreamError::Unavailable(_) | UpstreamError::Timeout) => true,
            Self::Refused { status } => *status >= 500,
            Self::Stale | Self::Failed(_) => false,
        }
    }
}

impl From<LinkError> for UpstreamError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Stale => Self::Unavailable("it forgot the session again".to_owned()),
            LinkError::Refused { status: 401 | 403 } => {
                Self::Unavailable("it does not accept the configured credentials".to_owned())
            }
            LinkError::Refused { status: 429 } => Self::Busy,
            LinkError::Refused { status } => {
                Self::Unavailable(format!("it answered HTTP {status}"))
            }
            LinkError::Failed(error) => error,
        }
    }
}
