//! Errors of handoffs.

use cynode_client::McpClientError;
use cynode_domain::policy::{ErrorKind, Stage};

use crate::brain::MissingRecording;

/// Why a handoff could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum HandoffAgentError {
    /// The gateway rejected a tool call: a hard failure.
    #[error("{tool} was refused at stage {stage}: {message}")]
    Refused {
        tool: String,
        /// The policy stage that rejected it.
        stage: Stage,
        kind: ErrorKind,
        message: String,
    },
    /// A tool call ran and failed.
    #[error("{tool} failed: {message}")]
    Tool { tool: String, kind: ErrorKind, message: String },
    /// The orchestrator is unreachable; a retry may succeed.
    #[error("cannot reach the orchestrator")]
    Unreachable(#[source] cynode_client::ClientError),
    /// A replay found no recording of an exchange.
    #[error(transparent)]
    MissingRecording(#[from] MissingRecording),
    /// The handoff is for the other role.
    #[error("this process is a {is}, which does not handle {kind} handoffs")]
    WrongRole { is: &'static str, kind: &'static str },
}

impl HandoffAgentError {
    /// Converts the error of a call to `tool`.
    pub(crate) fn from_mcp(tool: &str, error: McpClientError) -> Self {
        let tool = tool.to_owned();
        match error {
            McpClientError::Refused { stage, kind, message } => {
                Self::Refused { tool, stage, kind, message }
            }
            McpClientError::ToolFailed { kind, message } => Self::Tool { tool, kind, message },
            McpClientError::Unavailable(error) => Self::Unreachable(error),
        }
    }

    /// Whether a retry of the handoff may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            // A dependency of the policy decision may be unavailable for a moment too.
            Self::Refused { kind, .. } | Self::Tool { kind, .. } => kind.is_retryable(),
            Self::Unreachable(_) => true,
            Self::MissingRecording(_) | Self::WrongRole { .. } => false,
        }
    }

    /// The code of the error for a trace.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused { kind, .. } | Self::Tool { kind, .. } => kind.as_str(),
            Self::Unreachable(_) => "unreachable",
            Self::MissingRecording(_) => "missing_recording",
            Self::WrongRole { .. } => "wrong_role",
        }
    }

    /// Whether the object of a tool call does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.has_kind(ErrorKind::NotFound)
    }

    /// Whether a concurrent change or a duplicate caused the failure.
    pub(crate) fn is_conflict(&self) -> bool {
        self.has_kind(ErrorKind::Conflict)
    }

    fn has_kind(&self, wanted: ErrorKind) -> bool {
        matches!(self, Self::Tool { kind, .. } if *kind == wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_final_unless_what_decides_it_was_away() {
        let refused = |kind| {
            let message = "m".to_owned();
            let error = McpClientError::Refused { stage: Stage::Context, kind, message };
            HandoffAgentError::from_mcp("db.task.get", error).is_retryable()
        };

        assert!(refused(ErrorKind::ServiceUnavailable));
        for kind in [ErrorKind::ContextMismatch, ErrorKind::PolicyViolation, ErrorKind::NotFound] {
            assert!(!refused(kind), "{kind}");
        }
    }
}
