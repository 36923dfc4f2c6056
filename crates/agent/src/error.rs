//! Why a handoff could not be answered.

use cynode_client::McpError;

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
        stage: String,
        /// Why, in words.
        message: String,
    },
    /// A tool that the work needs ran and failed.
    #[error("{tool} failed: {message}")]
    Tool {
        /// The tool.
        tool: String,
        /// What went wrong, as a word.
        kind: String,
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
            McpError::Refused { stage, message, .. } => Self::Refused { tool, stage, message },
            McpError::Tool { kind, message } => Self::Tool { tool, kind, message },
            McpError::Away(error) => Self::Away(error),
        }
    }

    /// Whether the same handoff may succeed later.
    pub fn may_retry(&self) -> bool {
        matches!(self, Self::Away(_)) || self.is_of(&["service_unavailable", "timeout"])
    }

    /// Whether what a tool was asked about is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        self.is_of(&["not_found"])
    }

    /// Whether somebody else was faster.
    pub(crate) fn is_conflict(&self) -> bool {
        self.is_of(&["conflict"])
    }

    fn is_of(&self, kinds: &[&str]) -> bool {
        matches!(self, Self::Tool { kind, .. } if kinds.contains(&kind.as_str()))
    }
}
