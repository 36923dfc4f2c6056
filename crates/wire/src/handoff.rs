//! The handoff API: how the orchestrator gives work to the project manager, `POST /v1/handoff/<kind>`.
//!
//! Every handoff is a [`Handoff`]: its own body, and the [`HandoffContext`] that the orchestrator
//! resolved for it. Chat is answered by a stream of [`ChatEvent`]s, a line of JSON each; everything
//! else by one JSON body. Each answer carries the decisions that led to it, for the record.

mod bodies;
mod place;

use chrono::{DateTime, Utc};
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{GroupId, ProjectId, RunId, TaskId, ThreadId, UserId};
use cynode_domain::policy::AgentType;
use cynode_domain::status::ShownTaskStatus;
use serde::{Deserialize, Serialize};

pub use self::bodies::{
    ActedAnswer, AgentReportHandoff, AnalystAnswer, ChatHandoff, Choice, ContinueAnswer,
    ContinueRunHandoff, ContinueWith, DecideAnswer, DecideHandoff, EarlierStep, FindingNote,
    PlanAnswer, PlanHandoff, PlanOutcome, ReplanAnswer, ReplanHandoff, ReplanOutcome,
    ScheduledRunHandoff, Turn, TurnRole, VerifyAnswer, VerifyHandoff, VerifyOutcome,
};
pub use self::place::{NodeCandidate, PlaceAnswer, PlaceHandoff};
use crate::preferences::EffectiveView;

/// The first part of the path of every handoff; its [`HandoffKind`] follows.
pub const PATH: &str = "/v1/handoff/";
/// The header with the milliseconds that the orchestrator waits for an answer.
pub const DEADLINE_HEADER: &str = "x-cynode-deadline-ms";
/// The content type of a stream of [`ChatEvent`]s.
pub const EVENT_STREAM: &str = "application/x-ndjson";

/// What kind of work is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffKind {
    /// A turn of a conversation.
    Chat,
    /// A request in prose becomes steps.
    Plan,
    /// A step whose result was not accepted gets another command.
    Replan,
    /// Criteria in prose are to be judged.
    Verify,
    /// A schedule came due whose payload must be interpreted.
    ScheduledRun,
    /// A run stands where rules do not say how to go on.
    ContinueRun,
    /// An agent reported.
    AgentReport,
    /// A choice that depends on preferences.
    Decide,
    /// Several nodes could take the work of a task.
    Place,
    /// One task is to be verified; for analysts only.
    Analyse,
}

impl HandoffKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Chat,
        Self::Plan,
        Self::Replan,
        Self::Verify,
        Self::ScheduledRun,
        Self::ContinueRun,
        Self::AgentReport,
        Self::Decide,
        Self::Place,
        Self::Analyse,
    ];

    /// The word for it in paths and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Plan => "plan",
            Self::Replan => "replan",
            Self::Verify => "verify",
            Self::ScheduledRun => "scheduled_run",
            Self::ContinueRun => "continue_run",
            Self::AgentReport => "agent_report",
            Self::Decide => "decide",
            Self::Place => "place",
            Self::Analyse => "analyse",
        }
    }
}

/// The two roles of `cynode-pma`; a process has one for its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRole {
    /// Drives tasks to their end.
    ProjectManager,
    /// Verifies one task.
    ProjectAnalyst,
}

impl AgentRole {
    /// Both.
    pub const ALL: [Self; 2] = [Self::ProjectManager, Self::ProjectAnalyst];

    /// The word for it in flags, files and keys of preferences.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProjectManager => "project_manager",
            Self::ProjectAnalyst => "project_analyst",
        }
    }

    /// The kind of token that this role presents.
    pub const fn agent_type(self) -> AgentType {
        match self {
            Self::ProjectManager => AgentType::Pm,
            Self::ProjectAnalyst => AgentType::Pa,
        }
    }
}

/// Work that is handed over.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Handoff<B> {
    /// For whom, about what, and with which rights.
    pub context: HandoffContext,
    /// The work.
    pub body: B,
}

/// What the orchestrator knows of the work, so that nobody has to ask.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HandoffContext {
    /// For whom.
    pub user: HandoffUser,
    /// The user's groups.
    #[serde(default)]
    pub groups: Vec<GroupId>,
    /// About which project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectFacts>,
    /// About which task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskFacts>,
    /// In which conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// In which run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Follows the work through the logs of every process.
    pub trace_id: String,
    /// The right to call tools and models for this work; it ends with the handoff.
    pub agent_token: AgentSecret,
    /// The preferences in effect, with their sources.
    pub preferences: EffectiveView,
    /// The text of the skill that goes with every request to a model.
    pub skill: String,
}

/// For whom work is done.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HandoffUser {
    /// The user.
    pub id: UserId,
    /// The user's handle.
    pub handle: String,
}

/// A project, as far as it matters to whoever works on it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectFacts {
    /// The project.
    pub id: ProjectId,
    /// Its short name.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A task, as far as it matters to whoever works on it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFacts {
    /// The task.
    pub id: TaskId,
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub status: ShownTaskStatus,
    /// What was asked for.
    pub prompt: String,
    /// What must be true of the result.
    pub acceptance_criteria: Vec<Criterion>,
    /// When it last changed, for whoever changes it on from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<DateTime<Utc>>,
    /// What its workspace holds before the next job begins.
    #[serde(default)]
    pub workspace: WorkspaceFacts,
}

/// What the workspace of a task holds, as far as the orchestrator knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceFacts {
    /// The files that came with the task, below [`WorkspaceFacts::ATTACHMENTS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<FileFacts>,
    /// Whether jobs of the task have run in it: it then also holds what they left there.
    #[serde(default)]
    pub is_used: bool,
}

impl WorkspaceFacts {
    /// The directory of the workspace in which attachments are placed.
    pub const ATTACHMENTS: &'static str = "attachments";
}

/// A file, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FileFacts {
    /// Its path.
    pub path: String,
    /// Its size.
    pub size_bytes: i64,
}

/// A token's secret. It is written to the wire and shown nowhere else.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct AgentSecret(String);

impl AgentSecret {
    /// Keeps a secret.
    pub fn new(secret: String) -> Self {
        Self(secret)
    }

    /// The secret, for the request that presents it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for AgentSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AgentSecret([redacted])")
    }
}

/// What made a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A rule; no model was asked.
    Rule,
    /// A model, whose answer fitted.
    Model,
    /// The rule that takes the place of a model that did not answer, or not usefully.
    Fallback,
}

impl DecidedBy {
    /// The word for it in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Model => "model",
            Self::Fallback => "fallback",
        }
    }
}

/// One decision, for the record.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRecord {
    /// What was decided, such as `plan` or `handle_failure`.
    pub purpose: String,
    /// What made it.
    pub by: DecidedBy,
    /// What was chosen and why, in words.
    pub reason: String,
    /// SHA-256 of what it rests on, in hexadecimal.
    pub input_hash: String,
    /// The model that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What happens while the project manager answers in a conversation, a line each. `done` or
/// `failed` is the last one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum ChatEvent {
    /// More of the answer.
    Delta {
        /// What follows the text so far.
        text: String,
    },
    /// A tool was called.
    Tool {
        /// Its name.
        name: String,
        /// How it went; absent when it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        succeeded: Option<bool>,
        /// What it did, for people.
        summary: String,
    },
    /// The answer is whole.
    Done {
        /// What models were charged for it.
        #[serde(default)]
        usage: HandoffUsage,
        /// What was decided on the way.
        #[serde(default)]
        decisions: Vec<DecisionRecord>,
    },
    /// There will be no whole answer.
    Failed {
        /// Why, for people; without secrets.
        message: String,
        /// Whether asking again may help.
        may_retry: bool,
        /// What sort of failure it is.
        #[serde(default, skip_serializing_if = "FailureKind::is_other")]
        kind: FailureKind,
        /// What was decided on the way.
        #[serde(default)]
        decisions: Vec<DecisionRecord>,
    },
}

/// What sort of failure ended an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The answer took longer than it may.
    Timeout,
    /// Something else went wrong.
    #[default]
    Other,
}

impl FailureKind {
    /// Whether it is none of those with a name.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it may leave out so")]
    fn is_other(&self) -> bool {
        *self == Self::Other
    }
}

/// What models were charged for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct HandoffUsage {
    /// Tokens of the requests.
    pub prompt_tokens: u64,
    /// Tokens of the answers.
    pub completion_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_secret_is_not_shown_when_a_handoff_is() {
        let secret = AgentSecret::new("cyn_pm_0123".to_owned());

        assert_eq!(format!("{secret:?}"), "AgentSecret([redacted])");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"cyn_pm_0123\"");
    }

    #[test]
    fn the_word_of_a_kind_of_handoff_is_its_word_on_the_wire() {
        for kind in HandoffKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn an_event_of_a_chat_is_told_by_its_name() {
        let line = r#"{"event":"delta","text":"Hello"}"#;

        let event: ChatEvent = serde_json::from_str(line).unwrap();

        assert_eq!(event, ChatEvent::Delta { text: "Hello".to_owned() });
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }

    #[test]
    fn a_failure_without_a_kind_is_of_no_kind_in_particular() {
        let line = r#"{"event":"failed","message":"no","may_retry":true}"#;

        let event: ChatEvent = serde_json::from_str(line).unwrap();
        let late = line.replace('}', r#","kind":"timeout"}"#);
        let late: ChatEvent = serde_json::from_str(&late).unwrap();

        assert!(matches!(event, ChatEvent::Failed { kind: FailureKind::Other, .. }), "{event:?}");
        assert!(matches!(late, ChatEvent::Failed { kind: FailureKind::Timeout, .. }), "{late:?}");
    }
}
