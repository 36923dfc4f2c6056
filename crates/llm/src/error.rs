//! Errors of providers, grouped by what the caller can do about them.

use std::time::Duration;

/// Why a provider gave no answer. Holds no address and no secret; messages of the provider are shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The credential is missing, wrong or not sufficient; another one may work.
    #[error("the provider rejected the credential: {message}")]
    Unauthorized {
        /// The provider's message.
        message: String,
    },
    /// Too many requests; a retry may succeed.
    #[error("the provider's rate limit was reached{}", retry_suffix(.retry_after.as_ref()))]
    RateLimited {
        /// The provider's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The provider failed; a retry or another provider may succeed.
    #[error("the provider is unavailable (status {status})")]
    Unavailable {
        /// The HTTP status.
        status: u16,
        /// The provider's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The connection failed; nothing was sent.
    #[error("the provider cannot be reached: {reason}")]
    Connect { reason: String },
    #[error("the provider took too long to {phase}")]
    Timeout {
        /// The phase that timed out.
        phase: TimeoutPhase,
    },
    /// The request is invalid; sending it again fails again.
    #[error("the provider rejected the request (status {status}): {message}")]
    Rejected {
        /// The HTTP status; 400 if the request was rejected before it was sent.
        status: u16,
        message: String,
        /// The provider's machine-readable error code.
        code: Option<String>,
    },
    /// The provider refuses this content, independent of the credential.
    #[error("the provider refused to answer: {message}")]
    Refused {
        /// The provider's message.
        message: String,
    },
    /// The answer violates the provider's API.
    #[error("the provider's answer cannot be read: {reason}")]
    Malformed { reason: String },
    /// The connection ended before the answer was complete.
    #[error("the provider's answer was truncated")]
    Truncated,
    /// The answer exceeds the size limit.
    #[error("the provider's answer is larger than {limit} bytes")]
    TooLarge {
        /// In bytes.
        limit: usize,
    },
    /// The concurrency limit was reached; nothing was sent.
    #[error("too many requests to the provider are in flight")]
    Busy,
    /// The circuit breaker is open after repeated failures; nothing was sent.
    #[error("the provider failed repeatedly (circuit open){}", retry_suffix(Some(retry_after)))]
    CircuitOpen {
        /// When the breaker lets the next request through.
        retry_after: Duration,
    },
}

impl ProviderError {
    /// The class of the error, for traces; holds no text of the provider.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Unauthorized { .. } => "unauthorized",
            Self::RateLimited { .. } => "rate_limited",
            Self::Unavailable { .. } => "unavailable",
            Self::Connect { .. } => "connect",
            Self::Timeout { .. } => "timeout",
            Self::Rejected { .. } => "rejected",
            Self::Refused { .. } => "refused",
            Self::Malformed { .. } => "malformed",
            Self::Truncated => "truncated",
            Self::TooLarge { .. } => "too_large",
            Self::Busy => "busy",
            Self::CircuitOpen { .. } => "circuit_open",
        }
    }

    /// Whether a retry of the same request may succeed soon.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Unavailable { .. }
                | Self::Connect { .. }
                | Self::Truncated
        )
    }

    /// Whether the provider failed, rather than the request or its credential.
    pub fn is_provider_failure(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. }
                | Self::Connect { .. }
                | Self::Timeout { .. }
                | Self::Malformed { .. }
                | Self::Truncated
        )
    }

    /// Whether the provider charges nothing for the request: nothing was sent, or it was rejected before the model
    /// ran. Chunks of an answer that arrived before such an error are charged.
    pub fn is_free_of_charge(&self) -> bool {
        match self {
            Self::Unauthorized { .. }
            | Self::RateLimited { .. }
            | Self::Unavailable { .. }
            | Self::Connect { .. }
            | Self::Timeout { phase: TimeoutPhase::Connect }
            | Self::Rejected { .. }
            | Self::Busy
            | Self::CircuitOpen { .. } => true,
            Self::Timeout {
                phase: TimeoutPhase::FirstByte | TimeoutPhase::NextBytes | TimeoutPhase::WholeAnswer,
            }
            | Self::Refused { .. }
            | Self::Malformed { .. }
            | Self::Truncated
            | Self::TooLarge { .. } => false,
        }
    }

    /// How long to wait before a retry, if known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            Self::CircuitOpen { retry_after } => Some(*retry_after),
            Self::Unauthorized { .. }
            | Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Rejected { .. }
            | Self::Refused { .. }
            | Self::Malformed { .. }
            | Self::Truncated
            | Self::TooLarge { .. }
            | Self::Busy => None,
        }
    }

    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }

    /// A request that the provider's API cannot express.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::Rejected { status: 400, message: message.into(), code: None }
    }
}

/// The phase of a request that timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutPhase {
    /// Connecting.
    Connect,
    /// Waiting for the first byte of the answer.
    FirstByte,
    /// Waiting for the next bytes of the answer.
    NextBytes,
    /// Waiting for the complete answer.
    WholeAnswer,
}

impl std::fmt::Display for TimeoutPhase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connect => "accept a connection",
            Self::FirstByte => "begin its answer",
            Self::NextBytes => "continue its answer",
            Self::WholeAnswer => "finish its answer",
        })
    }
}

fn retry_suffix(retry_after: Option<&Duration>) -> String {
    retry_after
        .map_or_else(String::new, |wait| format!("; retry in {} s", wait.as_secs_f32().ceil()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_when_to_come_back() {
        let wait = Some(Duration::from_millis(1500));

        let error = ProviderError::RateLimited { retry_after: wait };

        assert_eq!(error.to_string(), "the provider's rate limit was reached; retry in 2 s");
        assert_eq!(error.retry_after(), wait);
    }
}
