//! Errors of API calls.

use std::io;

use cynode_wire::problem::Problem;

/// Why there was no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreachableReason {
    /// Connection refused: no process listens on the port.
    NotListening,
    /// The host name does not resolve.
    NoSuchHost,
    /// Another reason, such as a lost connection or an unreachable host.
    Other,
}

/// Why an API call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server rejected the request.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    /// No response: wrong address, server down, or connection lost.
    #[error("no response from {url}")]
    Unreachable {
        url: String,
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server at the address is not an orchestrator.
    #[error("{url} is not an orchestrator: {reason}")]
    NotAnOrchestrator { url: String, reason: String },
    /// The response cannot be parsed.
    #[error("unexpected response from {url}: {reason}")]
    InvalidResponse { url: String, reason: String },
    /// The address is invalid.
    #[error("\"{url}\" is not a valid address: {reason}")]
    InvalidAddress { url: String, reason: String },
}

impl ClientError {
    /// The HTTP status of a rejection.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(problem) => Some(problem.status),
            Self::Unreachable { .. }
            | Self::NotAnOrchestrator { .. }
            | Self::InvalidResponse { .. }
            | Self::InvalidAddress { .. } => None,
        }
    }

    /// Whether a retry may succeed: the server is unreachable, overloaded or restarting.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused(problem) => problem.status == 429 || problem.status >= 500,
            Self::NotAnOrchestrator { .. }
            | Self::InvalidResponse { .. }
            | Self::InvalidAddress { .. } => false,
        }
    }

    /// Why there was no response, if the error tells.
    pub fn unreachable_reason(&self) -> Option<UnreachableReason> {
        let Self::Unreachable { cause, .. } = self else { return None };
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&**cause);
        while let Some(error) = next {
            if let Some(io) = error.downcast_ref::<io::Error>() {
                if io.kind() == io::ErrorKind::ConnectionRefused {
                    return Some(UnreachableReason::NotListening);
                }
                // Resolver errors have no error kind of their own.
                if io.to_string().contains("failed to lookup address") {
                    return Some(UnreachableReason::NoSuchHost);
                }
            }
            next = error.source();
        }
        Some(UnreachableReason::Other)
    }
}
