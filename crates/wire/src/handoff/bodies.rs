//! What each kind of handoff asks and answers.

use chrono::{DateTime, Utc};
use cynode_domain::criteria::Evidence;
use cynode_domain::finding::FindingStatus;
use cynode_domain::ids::{FindingId, JobId, MessageId, ScheduleId, TaskId};
use cynode_domain::job::Ending;
use cynode_domain::plan::Step;
use cynode_domain::question::Question;
use cynode_domain::report::Report;
use cynode_domain::standstill::Standstill;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DecisionRecord;

/// Who said something in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnRole {
    /// The client program, about the conversation.
    System,
    /// The user.
    User,
    /// The project manager.
    Assistant,
}

/// One turn of a conversation; secrets are taken out of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Who spoke.
    pub role: TurnRole,
    /// What was said.
    pub content: String,
}

/// `POST /v1/handoff/chat`: answered by a stream of events.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChatHandoff {
    /// The conversation, oldest first; the last turn is to be answered.
    pub messages: Vec<Turn>,
}

/// `POST /v1/handoff/plan`: a request in prose is to become steps.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlanHandoff {
    /// The request.
    pub prompt: String,
    /// Artifact paths that the last step must leave behind.
    #[serde(default)]
    pub expected_outputs: Vec<String>,
}

/// What came of planning.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PlanOutcome {
    /// There is a plan.
    Planned {
        /// The steps, in the order they run.
        steps: Vec<Step>,
        /// What was taken for granted.
        assumptions: Vec<String>,
    },
    /// A person must be asked first.
    Ask {
        /// What.
        question: Question,
    },
}

/// The answer to [`PlanHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlanAnswer {
    /// What came of it.
    pub outcome: PlanOutcome,
    /// What was decided on the way.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// What was found about a result and is not met.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FindingNote {
    /// What it says about the work.
    pub status: FindingStatus,
    /// What was found.
    pub message: String,
    /// Where: a criterion, a rule, a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// What would put it right.
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
    /// The commands that were run at this step, oldest first; the last one was not accepted.
    pub tried: Vec<String>,
    /// What was found about it.
    pub findings: Vec<FindingNote>,
    /// What is known of its result.
    pub evidence: Evidence,
    /// Artifact paths that the step must leave behind.
    #[serde(default)]
    pub expected_outputs: Vec<String>,
}

/// What becomes of the command of a step that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReplanOutcome {
    /// The next attempt runs another command.
    Replanned {
        /// The line for `/bin/sh -c`.
        command: String,
    },
    /// The command stays as it is.
    Kept {},
}

/// The answer to [`ReplanHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReplanAnswer {
    /// What becomes of the command.
    pub outcome: ReplanOutcome,
    /// Why, for people.
    pub reason: String,
    /// What was decided on the way.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// The accepted attempt at an earlier step of the same run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierStep {
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// What it ran.
    pub command: String,
    /// How it ended.
    pub ending: Ending,
    /// The end of its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
}

/// `POST /v1/handoff/verify` and `analyse`: rules have judged what they can; prose is left.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyHandoff {
    /// The job that ended.
    pub job_id: JobId,
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    /// What no rule can check. Findings about a criterion are located by its place in this list:
    /// see [`cynode_domain::finding::at_criterion`].
    pub criteria: Vec<String>,
    /// What is known of the result.
    pub evidence: Evidence,
    /// What ran, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// For the last step, the accepted attempts at the steps before it, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierStep>,
}

/// What the project manager did about a verification.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum VerifyOutcome {
    /// An analyst looks; its findings come through its tools.
    AnalystRequested {
        /// Whether it did so before it was asked for.
        #[serde(default)]
        is_looking: bool,
    },
    /// Nobody could be asked for now: ask again.
    Later {
        /// Why, for people.
        reason: String,
    },
    /// Nobody can judge it: the criteria stay unchecked.
    Unchecked {
        /// Why, for people.
        reason: String,
    },
}

/// The answer to `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyAnswer {
    /// What was done.
    pub outcome: VerifyOutcome,
    /// What was decided on the way.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// The answer to `analyse`; the findings themselves were written through tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AnalystAnswer {
    /// What the findings say together.
    pub status: FindingStatus,
    /// The findings that were written.
    pub findings: Vec<FindingId>,
    /// What was decided on the way.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// `POST /v1/handoff/scheduled_run`: a schedule came due whose payload is prose.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledRunHandoff {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The schedule's name.
    pub schedule: String,
    /// When it came due.
    pub due_at: DateTime<Utc>,
    /// What it says is to be done.
    pub payload: String,
}

/// `POST /v1/handoff/agent_report`: an agent reported to the project manager.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentReportHandoff {
    /// The report: what is done about it is done once, however often it is handed over.
    pub report_id: MessageId,
    /// The role of the agent.
    pub from: String,
    /// The component that it is about.
    pub component: Option<String>,
    /// What it reported.
    pub report: Report,
    /// The work unit that the message names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit: Option<String>,
}

/// The answer to a handoff that is acted upon through tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ActedAnswer {
    /// What was done, for people.
    pub summary: String,
    /// The tasks that were made.
    #[serde(default)]
    pub tasks: Vec<TaskId>,
    /// What only a person can decide about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_person: Option<String>,
    /// What was decided on the way.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// `POST /v1/handoff/continue_run`: a run stands where rules do not say how to go on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ContinueRunHandoff {
    /// The node at which it stands.
    pub node: String,
    /// Why it does not go on by itself.
    pub situation: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why, where the result of a step is what it stands still for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standstill: Option<Standstill>,
    /// How often the run went on after it stood still.
    #[serde(default)]
    pub continued: u32,
    /// Whether the task says that what was interrupted may run again.
    #[serde(default)]
    pub may_repeat: bool,
}

/// How a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContinueWith {
    /// From where it stands.
    Continue,
    /// The same again.
    Retry,
    /// After a person has answered.
    AskPerson,
    /// Not at all.
    GiveUp,
}

/// The answer to [`ContinueRunHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ContinueAnswer {
    /// How it goes on.
    pub with: ContinueWith,
    /// Why, for people.
    pub reason: String,
    /// What was decided on the way.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// One thing that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What names it in the answer.
    pub key: String,
    /// What it means.
    pub text: String,
}

/// `POST /v1/handoff/decide`: a choice that depends on preferences. The first choice is taken when
/// nothing speaks for another.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DecideHandoff {
    /// What is to be decided.
    pub question: String,
    /// What can be chosen; at least one.
    pub choices: Vec<Choice>,
    /// What is known.
    #[serde(default)]
    pub facts: Value,
    /// The preference that settles it, if it names one of the choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<String>,
}

/// The answer to [`DecideHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DecideAnswer {
    /// The key of what was chosen.
    pub choice: String,
    /// Why, for people.
    pub reason: String,
    /// What was decided on the way.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}
