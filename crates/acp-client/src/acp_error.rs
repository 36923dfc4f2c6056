//! Why a session with an agent failed.

use cynode_agent_job::bounded_text::clip_end;
use cynode_agent_job::stop::JobEnd;
use cynode_wire::agent_jobs::StopCondition;

use crate::message::ErrorObject;

/// The most bytes of an agent's words in a message.
const QUOTE_BYTES: usize = 1_000;

/// Why a session failed; the text is the failure message of the job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AcpError {
    #[error("the agent {program} cannot be started: {cause}")]
    Start { program: String, cause: std::io::Error },
    #[error("the agent ended during {during}: {exit}{diagnostics}")]
    Ended { during: &'static str, exit: String, diagnostics: String },
    #[error("the agent sent a line of more than {limit} bytes")]
    LineTooLong { limit: usize },
    #[error("the agent does not read its input")]
    InputNotRead,
    #[error(
        "the agent does not speak the Agent Client Protocol: {count} lines are no messages, such as \"{line}\""
    )]
    NotMessages { count: usize, line: String },
    #[error("the agent did not answer {during} within {seconds} s{diagnostics}")]
    NoAnswer { during: &'static str, seconds: u64, diagnostics: String },
    #[error("the agent rejected {during}: {} (code {})", clip_end(&error.message, QUOTE_BYTES), error.code)]
    Rejected { during: &'static str, error: ErrorObject },
    #[error("the agent's answer to {during} is invalid: {reason}")]
    InvalidAnswer { during: &'static str, reason: String },
    #[error("the agent speaks version {0} of the Agent Client Protocol; version 1 is supported")]
    Version(u64),
    #[error(
        "the agent demands authentication ({0}); set what it needs in the environment of its program"
    )]
    Authentication(String),
    #[error("the agent offers no {0} to select")]
    NotOffered(&'static str),
    #[error("all {0} steps are used")]
    StepsUsed(u32),
    #[error("the agent has more than {0} tool calls in progress")]
    TooManyToolCalls(usize),
}

impl AcpError {
    pub(crate) fn to_end(&self) -> JobEnd {
        let stop = match self {
            Self::StepsUsed(_) => StopCondition::Steps,
            Self::NotMessages { .. } | Self::LineTooLong { .. } | Self::InvalidAnswer { .. } => {
                StopCondition::MalformedActions
            }
            Self::Start { .. }
            | Self::Ended { .. }
            | Self::InputNotRead
            | Self::NoAnswer { .. }
            | Self::Rejected { .. }
            | Self::Version(_)
            | Self::Authentication(_)
            | Self::NotOffered(_)
            | Self::TooManyToolCalls(_) => StopCondition::ToolFailure,
        };
        JobEnd::unmet(stop, self.to_string())
    }
}
