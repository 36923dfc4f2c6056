//! What can go wrong with a provider, by what the caller can do about it.

use std::time::Duration;

/// Why there is no answer. Holds no address and no secret; words of the provider are shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The credential is missing, wrong, or not good for this; another one may be.
    #[error("the provider does not accept the credential: {message}")]
    Unauthorized {
        /// The provider's words.
        message: String,
    },
    /// Too many requests; later is fine.
    #[error("the provider asks for fewer requests{}", later(.retry_after.as_ref()))]
    RateLimited {
        /// When to come back, where the provider says so.
        retry_after: Option<Duration>,
    },
    /// The provider fails; later or another provider may do.
    #[error("the provider is unavailable (status {status})")]
    Unavailable {
        /// The status it answered with.
        status: u16,
        /// When to come back, where the provider says so.
        retry_after: Option<Duration>,
    },
    /// No connection; nothing was sent.
    #[error("the provider cannot be reached: {reason}")]
    Connect {
        /// Why not.
        reason: String,
    },
    /// The provider took too long.
    #[error("the provider took too long to {phase}")]
    Timeout {
        /// What was waited for.
        phase: Phase,
    },
    /// The request is at fault; the same one will fail again.
    #[error("the provider rejects the request (status {status}): {message}")]
    Rejected {
        /// The status it answered with; 400 where the request was not even sent.
        status: u16,
        /// What is wrong with it.
        message: String,
        /// What programs tell it by, where the provider says so.
        code: Option<String>,
    },
    /// The provider will not answer this, whoever asks.
    #[error("the provider refuses to answer: {message}")]
    Refused {
        /// The provider's words.
        message: String,
    },
    /// The answer is not what the API says.
    #[error("the provider's answer cannot be read: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The answer ended before its end.
    #[error("the provider's answer broke off")]
    Truncated,
    /// The answer is larger than what is read.
    #[error("the provider's answer is larger than {limit} bytes")]
    TooLarge {
        /// How much is read.
        limit: usize,
    },
    /// Too many requests of ours are under way; nothing was sent.
    #[error("too many requests to the provider are under way")]
    Busy,
    /// The provider failed again and again and is left alone; nothing was sent.
    #[error("the provider failed several times and is left alone{}", later(Some(retry_after)))]
    Resting {
        /// How long it is left alone.
        retry_after: Duration,
    },
}

impl ProviderError {
    /// Whether the same request may succeed if it is sent again soon.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Unavailable { .. }
                | Self::Connect { .. }
                | Self::Truncated
        )
    }

    /// Whether the provider is at fault rather than the request or its sender.
    pub fn is_failure_of_provider(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. }
                | Self::Connect { .. }
                | Self::Timeout { .. }
                | Self::Malformed { .. }
                | Self::Truncated
        )
    }

    /// Whether nobody charges for the request: nothing was sent, or it was turned away before any of it
    /// was worked on. What came of an answer before such an error is charged for.
    pub fn is_without_charge(&self) -> bool {
        match self {
            Self::Unauthorized { .. }
            | Self::RateLimited { .. }
            | Self::Unavailable { .. }
            | Self::Connect { .. }
            | Self::Timeout { phase: Phase::Connect }
            | Self::Rejected { .. }
            | Self::Busy
            | Self::Resting { .. } => true,
            Self::Timeout { phase: Phase::Begin | Phase::GoOn | Phase::Finish }
            | Self::Refused { .. }
            | Self::Malformed { .. }
            | Self::Truncated
            | Self::TooLarge { .. } => false,
        }
    }

    /// When to come back.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            Self::Resting { retry_after } => Some(*retry_after),
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

    /// A request that cannot be said in the provider's API.
    pub(crate) fn unsayable(message: impl Into<String>) -> Self {
        Self::Rejected { status: 400, message: message.into(), code: None }
    }
}

/// What a provider was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The connection.
    Connect,
    /// The first word of its answer.
    Begin,
    /// The next word of its answer.
    GoOn,
    /// The whole answer.
    Finish,
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connect => "accept a connection",
            Self::Begin => "begin its answer",
            Self::GoOn => "go on with its answer",
            Self::Finish => "finish its answer",
        })
    }
}

fn later(retry_after: Option<&Duration>) -> String {
    retry_after.map_or_else(String::new, |wait| format!(", for {} s", wait.as_secs_f32().ceil()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_when_to_come_back() {
        let wait = Some(Duration::from_millis(1500));

        let error = ProviderError::RateLimited { retry_after: wait };

        assert_eq!(error.to_string(), "the provider asks for fewer requests, for 2 s");
        assert_eq!(error.retry_after(), wait);
    }
}
