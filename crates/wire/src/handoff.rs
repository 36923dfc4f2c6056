//! The handoff API, `POST /v1/handoff/<kind>`: the orchestrator hands work to the project manager.
//!
//! Every handoff is a [`Handoff`]: its own body, and the [`HandoffContext`] that the orchestrator
//! resolved for it. Chat is answered by a stream of [`ChatEvent`]s, a line of JSON each; everything
//! else by one JSON body. Each answer carries the decisions that led to it, for the record.

mod bodies;
mod changes;
mod context;
mod place;
mod requests;
mod traced;

use cynode_domain::policy::AgentType;
pub use cynode_domain::trace::TraceEvents;
use serde::{Deserialize, Serialize};

pub use self::bodies::{
    ActedAnswer, AgentReportHandoff, AnalystAnswer, ChatHandoff, ContinueAnswer,
    ContinueRunHandoff, ContinueWith, EarlierStep, FindingNote, PlanAnswer, PlanHandoff,
    PlanOutcome, ReplanAnswer, ReplanHandoff, ReplanOutcome, ScheduledRunHandoff, Turn, TurnRole,
    VerifyAnswer, VerifyHandoff, VerifyOutcome,
};
pub use self::changes::EvidenceChanges;
pub use self::context::{
    AgentSecret, FileFacts, HandoffContext, HandoffUser, ProjectFacts, TaskFacts, WorkspaceFacts,
};
pub use self::place::{NodeCandidate, PlaceAnswer, PlaceHandoff};
pub use self::requests::{ClassifyAnswer, ClassifyHandoff, PlanWorkAnswer, PlanWorkHandoff};
pub use self::traced::TracedAnswer;

/// The first part of the path of every handoff; its [`HandoffKind`] follows.
pub const PATH: &str = "/v1/handoff/";
/// The header with the milliseconds that the orchestrator waits for an answer.
pub const DEADLINE_HEADER: &str = "x-cynode-deadline-ms";
/// The content type of a stream of [`ChatEvent`]s.
pub const EVENT_STREAM: &str = "application/x-ndjson";

/// Kind of a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffKind {
    /// A chat turn.
    Chat,
    /// Plan a request in prose.
    Plan,
    /// Plan another command for a step whose result was not accepted.
    Replan,
    /// Judge criteria in prose.
    Verify,
    /// Interpret the prose payload of a due schedule.
    ScheduledRun,
    /// Decide how a blocked run continues.
    ContinueRun,
    /// Process a report of an agent.
    AgentReport,
    /// Choose one of several worker nodes.
    Place,
    /// Decide the kind of submitted work.
    Classify,
    /// Decide the scope and the components of submitted work.
    PlanWork,
    /// Verify one task; for analysts only.
    Analyse,
}

impl HandoffKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Chat,
        Self::Plan,
        Self::Replan,
        Self::Verify,
        Self::ScheduledRun,
        Self::ContinueRun,
        Self::AgentReport,
        Self::Place,
        Self::Classify,
        Self::PlanWork,
        Self::Analyse,
    ];

    /// Name in paths and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Plan => "plan",
            Self::Replan => "replan",
            Self::Verify => "verify",
            Self::ScheduledRun => "scheduled_run",
            Self::ContinueRun => "continue_run",
            Self::AgentReport => "agent_report",
            Self::Place => "place",
            Self::Classify => "classify",
            Self::PlanWork => "plan_work",
            Self::Analyse => "analyse",
        }
    }
}

/// The two roles of `cynode-pma`; a process has one for its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRole {
    /// Manages tasks.
    ProjectManager,
    /// Verifies one task.
    ProjectAnalyst,
}

impl AgentRole {
    /// All roles.
    pub const ALL: [Self; 2] = [Self::ProjectManager, Self::ProjectAnalyst];

    /// Name in flags, files and preference keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProjectManager => "project_manager",
            Self::ProjectAnalyst => "project_analyst",
        }
    }

    /// Agent type of the role's tokens.
    pub const fn agent_type(self) -> AgentType {
        match self {
            Self::ProjectManager => AgentType::Pm,
            Self::ProjectAnalyst => AgentType::Pa,
        }
    }
}

/// A handoff with its context.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Handoff<B> {
    /// User, scope and rights of the handoff.
    pub context: HandoffContext,
    /// The work.
    pub body: B,
}

/// Author of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A rule, without a model call.
    Rule,
    /// A model with a valid answer.
    Model,
    /// The fallback rule for a model without a valid answer.
    Fallback,
}

impl DecidedBy {
    /// Name in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Model => "model",
            Self::Fallback => "fallback",
        }
    }
}

/// Record of one decision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRecord {
    /// Purpose, such as `plan` or `handle_failure`.
    pub purpose: String,
    /// Author.
    pub by: DecidedBy,
    /// Choice and reason, in words.
    pub reason: String,
    /// SHA-256 of the input, in hex.
    pub input_hash: String,
    /// Model that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Event of a streamed chat answer, one per line. `done` or `failed` is the last one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum ChatEvent {
    /// A text chunk.
    Delta {
        /// Text to append.
        text: String,
    },
    /// A tool was called.
    Tool {
        /// Its name.
        name: String,
        /// Whether it succeeded; absent when the call starts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        succeeded: Option<bool>,
        /// Summary for people.
        summary: String,
    },
    /// The answer is complete.
    Done {
        /// Token usage.
        #[serde(default)]
        usage: HandoffUsage,
        /// Decisions made.
        #[serde(default)]
        decisions: Vec<DecisionRecord>,
        /// What was recorded of the work.
        #[serde(default, skip_serializing_if = "TraceEvents::is_empty")]
        trace: TraceEvents,
    },
    /// The answer failed.
    Failed {
        /// Reason for people, without secrets.
        message: String,
        /// Whether a retry may succeed.
        may_retry: bool,
        /// Failure kind.
        #[serde(default, skip_serializing_if = "FailureKind::is_other")]
        kind: FailureKind,
        /// Decisions made.
        #[serde(default)]
        decisions: Vec<DecisionRecord>,
        /// What was recorded of the work.
        #[serde(default, skip_serializing_if = "TraceEvents::is_empty")]
        trace: TraceEvents,
    },
}

impl ChatEvent {
    /// Adds what was recorded of the work to the last event; the others carry none.
    #[must_use]
    pub fn with_trace(mut self, recorded: impl FnOnce() -> TraceEvents) -> Self {
        if let Self::Done { trace, .. } | Self::Failed { trace, .. } = &mut self {
            *trace = recorded();
        }
        self
    }
}

/// Kind of a failed answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Deadline exceeded.
    Timeout,
    /// Any other failure.
    #[default]
    Other,
}

impl FailureKind {
    /// Whether it is [`FailureKind::Other`].
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it may leave out so")]
    fn is_other(&self) -> bool {
        *self == Self::Other
    }
}

/// Token usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct HandoffUsage {
    /// Input tokens.
    pub prompt_tokens: u64,
    /// Output tokens.
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
