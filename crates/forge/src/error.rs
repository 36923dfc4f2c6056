//! Why a request to a forge failed. No variant holds a secret; texts of the forge are bounded to one line.

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};

/// Why a request to a forge failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// Forges also answer so if the token may not know that it exists.
    #[error("the forge has no {what}, or the token may not read it")]
    NotFound { what: String },
    /// The token is missing, invalid, expired or has too few permissions.
    #[error("the forge rejected the token: {reason}{}", describe_permission(missing_permission.as_ref()))]
    Unauthorized { reason: String, missing_permission: Option<String> },
    #[error("the forge limits the rate of requests until {until}")]
    RateLimited { until: DateTime<Utc> },
    /// The forge cannot be reached, did not answer in time, or failed. Retry later.
    #[error("the forge is unavailable: {reason}")]
    Unavailable {
        reason: String,
        /// Whether a write may have taken effect nevertheless.
        may_have_applied: bool,
    },
    /// The request is well formed, but the forge refuses it, for example because the head branch does not exist.
    #[error("the forge refused the request: {reason}")]
    Rejected { reason: String },
    #[error("the answer of the forge is invalid: {reason}")]
    InvalidAnswer { reason: String },
    /// The lists of the forge are longer than the limits, so the result would be wrong.
    #[error("the forge has more {what} than can be read")]
    TooMany { what: &'static str },
    /// The options of this client are invalid, or its address is internal.
    #[error("the forge is not usable: {reason}")]
    Misconfigured { reason: String },
}

fn describe_permission(permission: Option<&String>) -> String {
    permission
        .map_or_else(String::new, |permission| format!("; it needs the permission {permission}"))
}

impl ForgeError {
    /// Whether the same request may succeed later without a change by a person.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Unavailable { .. })
    }

    /// The earliest time of another attempt, if the forge named one.
    pub fn retry_at(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::RateLimited { until } => Some(*until),
            Self::NotFound { .. }
            | Self::Unauthorized { .. }
            | Self::Unavailable { .. }
            | Self::Rejected { .. }
            | Self::InvalidAnswer { .. }
            | Self::TooMany { .. }
            | Self::Misconfigured { .. } => None,
        }
    }
}

impl Classified for ForgeError {
    fn classify(&self) -> Classification<'_> {
        let class = match self {
            Self::NotFound { .. } => ErrorClass::NotFound,
            Self::Unauthorized { .. } | Self::Misconfigured { .. } | Self::Unavailable { .. } => {
                ErrorClass::Unavailable
            }
            Self::RateLimited { .. } => ErrorClass::RateLimited,
            Self::Rejected { .. } => ErrorClass::Conflict,
            Self::InvalidAnswer { .. } | Self::TooMany { .. } => ErrorClass::UpstreamFailed,
        };
        Classification::new(class, self)
    }
}
