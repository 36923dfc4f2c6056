//! Why a call did not succeed.

use cynode_wire::problem::Problem;

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
            Self::Unreachable { .. } | Self::Unreadable { .. } | Self::BadAddress { .. } => None,
        }
    }

    /// Whether the same call may succeed later: the server is away, overloaded or restarting.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused(problem) => problem.status == 429 || problem.status >= 500,
            Self::Unreadable { .. } | Self::BadAddress { .. } => false,
        }
    }
}
