//! Why a handoff could not be answered.

use cynode_client::McpError;
use cynode_domain::policy::{ErrorKind, Stage};

use crate::brain::NoRecord;

/// Why a handoff could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The gateway refused a tool that the work needs: a hard failure, not a hint.
    #[error("{tool} was refused at stage {stage}: {message}")]
    Refused {
        /// The tool.
        tool: String,
        /// The decision that refused it.
        stage: Stage,
        /// Why, as a word.
        kind: ErrorKind,
        /// Why, in words.
        message: String,
    },
    /// A tool that the work needs ran and failed.
    #[error("{tool} failed: {message}")]
    Tool {
        /// The tool.
        tool: String,
        /// What went wrong, as a word.
        kind: ErrorKind,
        /// What went wrong, in words.
        message: String,
    },
    /// The orchestrator does not answer: the same work may succeed later.
    #[error("the orchestrator does not answer")]
    Away(#[source] cynode_client::Error),
    /// A replay has no record of an exchange.
    #[error(transparent)]
    NoRecord(#[from] NoRecord),
    /// The work belongs to the other role.
    #[error("this process is a {is}; {kind} is not its work")]
    WrongRole {
        /// The role that this process has.
        is: &'static str,
        /// The kind of handoff.
        kind: &'static str,
    },
}

impl AgentError {
    /// What went wrong when `tool` was called.
    pub(crate) fn of(tool: &str, error: McpError) -> Self {
        let tool = tool.to_owned();
        match error {
            McpError::Refused { stage, kind, message } => {
                Self::Refused { tool, stage, kind, message }
            }
            McpError::Tool { kind, message } => Self::Tool { tool, kind, message },
            McpError::Away(error) => Self::Away(error),
        }
    }

    /// Whether the same handoff may succeed later.
    pub fn may_retry(&self) -> bool {
        match self {
            // What a decision needs may be away for a moment too.
            Self::Refused { kind, .. } | Self::Tool { kind, .. } => kind.may_pass(),
            Self::Away(_) => true,
            Self::NoRecord(_) | Self::WrongRole { .. } => false,
        }
    }

    /// Whether what a tool was asked about is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        self.is_of(ErrorKind::NotFound)
    }

    /// Whether somebody else was faster.
    pub(crate) fn is_conflict(&self) -> bool {
        self.is_of(ErrorKind::Conflict)
    }

    fn is_of(&self, wanted: ErrorKind) -> bool {
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
            let error = McpError::Refused { stage: Stage::Context, kind, message };
            AgentError::of("db.task.get", error).may_retry()
        };

        assert!(refused(ErrorKind::ServiceUnavailable));
        for kind in [ErrorKind::ContextMismatch, ErrorKind::PolicyViolation, ErrorKind::NotFound] {
            assert!(!refused(kind), "{kind}");
        }
    }
}
