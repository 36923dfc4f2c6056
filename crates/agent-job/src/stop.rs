//! Why a job ended, and the status that follows.

use cynode_domain::trace::TraceStop;
use cynode_wire::agent_jobs::{AgentFailureCode, AgentJobStatus, CriterionEvidence, StopCondition};

/// The message of a job that was stopped by a signal.
pub const STOPPED_ON_REQUEST: &str = "stopped on request";

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEnd {
    /// The goal is met.
    Met { summary: String, evidence: Vec<CriterionEvidence> },
    /// It is not; `stop` is never [`StopCondition::GoalMet`].
    Unmet { stop: StopCondition, message: String },
}

impl JobEnd {
    pub fn unmet(stop: StopCondition, message: impl Into<String>) -> Self {
        Self::Unmet { stop, message: message.into() }
    }

    pub fn stop(&self) -> StopCondition {
        match self {
            Self::Met { .. } => StopCondition::GoalMet,
            Self::Unmet { stop, .. } => *stop,
        }
    }

    /// Why it ended, as traces record it.
    pub fn trace_stop(&self) -> TraceStop {
        match self.stop() {
            StopCondition::GoalMet => TraceStop::GoalMet,
            StopCondition::GaveUp => TraceStop::GaveUp,
            StopCondition::Steps => TraceStop::MaxSteps,
            StopCondition::Time => TraceStop::Time,
            StopCondition::Budget => TraceStop::Budget,
            StopCondition::ToolFailure => TraceStop::ToolFailure,
            StopCondition::MalformedActions => TraceStop::MalformedActions,
            StopCondition::NoProgress => TraceStop::NoProgress,
            StopCondition::StepFailed => TraceStop::StepFailed,
            StopCondition::InvalidSpec => TraceStop::InvalidSpec,
        }
    }

    pub fn status(&self) -> AgentJobStatus {
        match self {
            Self::Met { .. } => AgentJobStatus::Success,
            Self::Unmet { stop: StopCondition::Time, .. } => AgentJobStatus::Timeout,
            Self::Unmet { .. } => AgentJobStatus::Failure,
        }
    }

    pub fn failure_code(&self) -> Option<AgentFailureCode> {
        match self.stop() {
            StopCondition::Time => Some(AgentFailureCode::Timeout),
            StopCondition::Steps | StopCondition::Budget => {
                Some(AgentFailureCode::ConstraintViolation)
            }
            StopCondition::StepFailed => Some(AgentFailureCode::StepFailed),
            StopCondition::InvalidSpec => Some(AgentFailureCode::SchemaValidation),
            StopCondition::GoalMet
            | StopCondition::GaveUp
            | StopCondition::ToolFailure
            | StopCondition::MalformedActions
            | StopCondition::NoProgress => None,
        }
    }
}
