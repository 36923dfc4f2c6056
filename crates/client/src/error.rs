//! Why a call did not succeed.

use std::io;

use cynode_wire::problem::Problem;

/// Why there was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreachableReason {
    /// The machine refused the connection: no program listens there.
    NotListening,
    /// The name in the address is that of no machine.
    NoSuchHost,
    /// Something else, such as a connection that broke or a machine that is away.
    Other,
}

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered, and said no.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    /// No answer: wrong address, server down, or connection lost.
    #[error("no answer from {url}")]
    Unreachable {
        /// Where the request went.
        url: String,
        /// What the connection said.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something else than an orchestrator answers at the address.
    #[error("no orchestrator answers at {url}: {reason}")]
    NotOurs {
        /// Where the request went.
        url: String,
        /// What answered instead.
        reason: String,
    },
    /// An answer that is not what this client understands.
    #[error("the answer from {url} is not what this version understands: {reason}")]
    Unreadable {
        /// Where the request went.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The address itself cannot be used.
    #[error("\"{url}\" is not a usable address: {reason}")]
    BadAddress {
        /// The address given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// The HTTP status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(problem) => Some(problem.status),
            Self::Unreachable { .. }
            | Self::NotOurs { .. }
            | Self::Unreadable { .. }
            | Self::BadAddress { .. } => None,
        }
    }

    /// Whether the same call may succeed later: the server is away, overloaded or restarting.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused(problem) => problem.status == 429 || problem.status >= 500,
            Self::NotOurs { .. } | Self::Unreadable { .. } | Self::BadAddress { .. } => false,
        }
    }

    /// Why there was no answer, where that can be told from the connection.
    pub fn unreachable_reason(&self) -> Option<UnreachableReason> {
        let Self::Unreachable { cause, .. } = self else { return None };
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&**cause);
        while let Some(error) = next {
            if let Some(io) = error.downcast_ref::<io::Error>() {
                if io.kind() == io::ErrorKind::ConnectionRefused {
                    return Some(UnreachableReason::NotListening);
                }
                // The resolver's errors have no kind of their own.
                if io.to_string().contains("failed to lookup address") {
                    return Some(UnreachableReason::NoSuchHost);
                }
            }
            next = error.source();
        }
        Some(UnreachableReason::Other)
    }
}
