//! Request and response bodies of each handoff kind.

use chrono::{DateTime, Utc};
use cynode_domain::criteria::Evidence;
use cynode_domain::finding::FindingStatus;
use cynode_domain::ids::{FindingId, JobId, MessageId, ScheduleId, TaskId};
use cynode_domain::job::JobEnding;
use cynode_domain::plan::Step;
use cynode_domain::question::Question;
use cynode_domain::report::AgentReport;
use cynode_domain::suspension::{IfInterrupted, SuspensionReason};
use serde::{Deserialize, Serialize};

use super::{DecisionRecord, EvidenceChanges};

/// Role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnRole {
    /// The client program.
    System,
    /// The user.
    User,
    /// The project manager.
    Assistant,
}

/// One message of a conversation, with secrets redacted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Role.
    pub role: TurnRole,
    /// Its messages.
    pub content: String,
}

/// `POST /v1/handoff/chat`: answered by a stream of events.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChatHandoff {
    /// Messages, oldest first; the last one needs an answer.
    pub messages: Vec<Turn>,
}

/// `POST /v1/handoff/plan`: plans a request in prose.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlanHandoff {
    /// The request.
    pub prompt: String,
    /// Artifact paths that the last step must produce.
    #[serde(default)]
    pub expected_outputs: Vec<String>,
}

/// Outcome of planning.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PlanOutcome {
    /// The plan.
    Planned {
        /// Steps in execution order.
        steps: Vec<Step>,
        /// Assumptions.
        assumptions: Vec<String>,
    },
    /// A person must answer a question first.
    Ask {
        /// The question.
        question: Question,
    },
}

/// The answer to [`PlanHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlanAnswer {
    /// Outcome.
    pub outcome: PlanOutcome,
    /// Decisions made.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// A finding about an unmet criterion.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FindingNote {
    /// Finding status.
    pub status: FindingStatus,
    /// Message.
    pub message: String,
    /// Location: a criterion, a rule or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Suggested fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// `POST /v1/handoff/replan`: the result of a step that the project manager planned was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReplanHandoff {
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    /// The request of the user.
    pub request: String,
    /// Commands tried at this step, oldest first; the result of the last one was not accepted.
    pub tried: Vec<String>,
    /// Findings about the result.
    pub findings: Vec<FindingNote>,
    /// Evidence of the result.
    pub evidence: Evidence,
    /// Artifact paths that the step must produce.
    #[serde(default)]
    pub expected_outputs: Vec<String>,
}

/// Decision on the command of a step whose result was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReplanOutcome {
    /// The next attempt runs another command.
    Replanned {
        /// Command line for `/bin/sh -c`.
        command: String,
    },
    /// The command is unchanged.
    Kept {},
}

/// The answer to [`ReplanHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReplanAnswer {
    /// Decision on the command.
    pub outcome: ReplanOutcome,
    /// Reason, in words.
    pub reason: String,
    /// Decisions made.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// An accepted earlier step of the same run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierStep {
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// Command.
    pub command: String,
    /// How it ended.
    pub ending: JobEnding,
    /// The end of its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
}

/// `POST /v1/handoff/verify` and `analyse`: judges the criteria that no rule can check.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyHandoff {
    /// The job that ended.
    pub job_id: JobId,
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    /// Criteria that no rule can check. Findings refer to a criterion by its index in this list, see
    /// [`cynode_domain::finding::criterion_location`].
    pub criteria: Vec<String>,
    /// Evidence of the result.
    pub evidence: Evidence,
    /// Command, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// For the last step: the accepted earlier steps, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierStep>,
    /// For a task with a repository: the changes that were collected after the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<EvidenceChanges>,
}

/// Outcome of a verification request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum VerifyOutcome {
    /// An analyst is working; it writes its findings through tools.
    AnalystRequested {
        /// Whether it was already working.
        #[serde(default)]
        is_looking: bool,
    },
    /// No analyst is available now: retry.
    Later {
        /// Reason, in words.
        reason: String,
    },
    /// No analyst can judge it: the criteria stay unjudged.
    Unchecked {
        /// Reason, in words.
        reason: String,
    },
}

/// The answer to `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyAnswer {
    /// Outcome.
    pub outcome: VerifyOutcome,
    /// Decisions made.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// The answer to `analyse`; the findings themselves were written through tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AnalystAnswer {
    /// Combined status of the findings.
    pub status: FindingStatus,
    /// The findings that were written.
    pub findings: Vec<FindingId>,
    /// Decisions made.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// `POST /v1/handoff/scheduled_run`: interprets the prose payload of a due schedule.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledRunHandoff {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The schedule's name.
    pub schedule: String,
    /// Due time.
    pub due_at: DateTime<Utc>,
    /// The prose payload.
    pub payload: String,
}

/// `POST /v1/handoff/agent_report`: processes a report of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentReportHandoff {
    /// Report id; processing is idempotent.
    pub report_id: MessageId,
    /// The role of the agent.
    pub from: String,
    /// The component that it is about.
    pub component: Option<String>,
    /// The report.
    pub report: AgentReport,
    /// The work unit that the message names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit: Option<String>,
}

/// Response to a handoff that is processed through tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ActedAnswer {
    /// Summary for people.
    pub summary: String,
    /// Created tasks.
    #[serde(default)]
    pub tasks: Vec<TaskId>,
    /// Question that only a person can decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_person: Option<String>,
    /// Decisions made.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// `POST /v1/handoff/continue_run`: decides how a blocked run continues.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ContinueRunHandoff {
    /// Current workflow node.
    pub node: String,
    /// Why it is blocked.
    pub situation: String,
    /// Number of attempts.
    pub attempts: u32,
    /// Why it is blocked, if by the result of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "standstill")]
    pub suspension: Option<SuspensionReason>,
    /// How often the run was continued before.
    #[serde(default)]
    pub continued: u32,
    /// Whether the task allows retries of interrupted steps.
    #[serde(default)]
    pub may_repeat: bool,
}

/// How a run continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContinueWith {
    /// Continue from the current node.
    Continue,
    /// Retry the step.
    Retry,
    /// Ask a person first.
    AskPerson,
    /// Fail the run.
    GiveUp,
}

impl From<IfInterrupted> for ContinueWith {
    fn from(policy: IfInterrupted) -> Self {
        match policy {
            IfInterrupted::Ask => Self::AskPerson,
            IfInterrupted::Retry => Self::Retry,
            IfInterrupted::GiveUp => Self::GiveUp,
        }
    }
}

/// The answer to [`ContinueRunHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ContinueAnswer {
    /// The decision.
    pub with: ContinueWith,
    /// Reason, in words.
    pub reason: String,
    /// Decisions made.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}
