//! What agents record about their work, in the order in which it happened.
//!
//! Start at [`TraceEvent`]. An agent collects events in [`TraceEvents`] and returns them with its answer; the orchestrator
//! stores them beside the rows that it writes anyway, and a trace is read from all of these rows.
//!
//! Invariants: an event holds names, numbers and words of closed lists, never prompts, arguments, results or text of
//! people; a list of events is bounded, and what did not fit is counted. A list with invalid events is valid: these are
//! counted too, because a trace may never fail the work that it describes.

mod events;
mod fields;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

pub use self::events::TraceEvents;
pub use self::fields::{TraceField, TraceFields, TraceValue};
use crate::ids::{ProfileId, TraceId};

/// The most events of one answer or one job.
pub const MAX_TRACE_EVENTS: usize = 200;

/// One event in the work of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceEvent {
    /// The trace of the request that the agent works for.
    #[serde(rename = "trace_id")]
    pub trace: TraceId,
    /// The profile that the agent acts in; absent for events of earlier versions.
    #[serde(rename = "profile_id", default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileId>,
    /// Who records it.
    pub actor: TraceActor,
    pub at: DateTime<Utc>,
    /// What happened.
    #[serde(flatten)]
    pub entry: TraceEntry,
}

/// The trace that a piece of work belongs to, and the profile that it is done in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceContext {
    #[serde(rename = "trace_id")]
    pub trace: TraceId,
    #[serde(rename = "profile_id", default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileId>,
}

/// What happened, without who and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceEntry {
    pub kind: TraceEventKind,
    /// The step that it is about, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u32>,
    /// Why it ended; present for the kinds that end something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<TraceStop>,
    #[serde(default, skip_serializing_if = "TraceFields::is_empty")]
    pub fields: TraceFields,
}

impl TraceEntry {
    /// An entry of a kind that ends nothing.
    pub fn new(kind: TraceEventKind) -> Self {
        Self { kind, step_index: None, stop: None, fields: TraceFields::default() }
    }

    /// The end of a plan, with the reason.
    pub fn plan_finished(stop: TraceStop) -> Self {
        Self { stop: Some(stop), ..Self::new(TraceEventKind::PlanFinished) }
    }

    /// The end of an execution, with the reason.
    pub fn execution_stopped(stop: TraceStop) -> Self {
        Self { stop: Some(stop), ..Self::new(TraceEventKind::ExecutionStopped) }
    }

    /// The step that it is about, from 0.
    #[must_use]
    pub fn at_step(self, index: u32) -> Self {
        Self { step_index: Some(index), ..self }
    }

    /// Adds a field. Text that is no word is replaced, see [`TraceFields`].
    #[must_use]
    pub fn with(mut self, field: TraceField, value: impl Into<TraceValue>) -> Self {
        self.fields.insert(field, value);
        self
    }

    /// Whether it has a reason for ending if, and only if, its kind ends something.
    pub fn is_consistent(&self) -> bool {
        self.kind.is_end() == self.stop.is_some()
    }
}

words! {
    /// Kind of an event.
    TraceEventKind("kind of a trace event") {
        PlanStarted = "plan_started",
        /// The tools that are relevant for the goal were chosen.
        ToolsSelected = "tools_selected",
        StepStarted = "step_started",
        StepFinished = "step_finished",
        PlanFinished = "plan_finished",
        ExecutionStarted = "execution_started",
        ExecutionStopped = "execution_stopped",
        /// A backend of knowledge, memory, models or tools was connected.
        BackendConnected = "backend_connected",
        Error = "error",
    }
}

impl TraceEventKind {
    /// Whether it ends something, and so has a [`TraceStop`].
    pub const fn is_end(self) -> bool {
        matches!(self, Self::PlanFinished | Self::ExecutionStopped)
    }
}

words! {
    /// Who records an event.
    TraceActor("actor of a trace") {
        Planner = "planner",
        Worker = "worker",
        Coordinator = "coordinator",
        ProjectManager = "project_manager",
        ProjectAnalyst = "project_analyst",
        SandboxAgent = "sandbox_agent",
        /// A program of another vendor that works as an agent.
        AgentProgram = "agent_program",
        Orchestrator = "orchestrator",
    }
}

words! {
    /// Why a plan or an execution ended.
    TraceStop("reason to stop") {
        GoalMet = "goal_met",
        MaxSteps = "max_steps",
        ToolFailure = "tool_failure",
        /// No tool is relevant for the goal.
        NoRelevantTool = "no_relevant_tool",
        ModelFailure = "model_failure",
        GaveUp = "gave_up",
        /// A person must answer a question first.
        PersonNeeded = "person_needed",
        Time = "time",
        Budget = "budget",
        MalformedActions = "malformed_actions",
        NoProgress = "no_progress",
        StepFailed = "step_failed",
        InvalidSpec = "invalid_spec",
        Denied = "denied",
        Canceled = "canceled",
        Failed = "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_flat_object_on_the_wire() {
        let event = TraceEvent {
            trace: TraceId::from(uuid::Uuid::nil()),
            profile: Some(ProfileId::from(uuid::Uuid::nil())),
            actor: TraceActor::Planner,
            at: "2026-01-01T12:00:00Z".parse().unwrap(),
            entry: TraceEntry::plan_finished(TraceStop::NoRelevantTool)
                .at_step(2)
                .with(TraceField::Tools, vec!["db.task.get".to_owned()]),
        };
        let wire = serde_json::json!({
            "trace_id": "00000000-0000-0000-0000-000000000000",
            "profile_id": "00000000-0000-0000-0000-000000000000",
            "actor": "planner",
            "at": "2026-01-01T12:00:00Z",
            "kind": "plan_finished",
            "step_index": 2,
            "stop": "no_relevant_tool",
            "fields": {"tools": ["db.task.get"]},
        });

        assert_eq!(serde_json::to_value(&event).unwrap(), wire);
        assert_eq!(serde_json::from_value::<TraceEvent>(wire).unwrap(), event);
    }

    #[test]
    fn the_word_of_a_kind_is_read_as_that_kind_and_no_other_word_is() {
        for kind in TraceEventKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(*kind));
        }
        for stop in TraceStop::ALL {
            assert_eq!(stop.as_str().parse(), Ok(*stop));
        }
        for actor in TraceActor::ALL {
            assert_eq!(actor.as_str().parse(), Ok(*actor));
        }
        "Plan_Started".parse::<TraceEventKind>().unwrap_err();
    }

    #[test]
    fn only_kinds_that_end_something_say_why() {
        assert!(TraceEntry::execution_stopped(TraceStop::Time).is_consistent());
        assert!(!TraceEntry::new(TraceEventKind::PlanFinished).is_consistent());
        let odd = TraceEntry {
            stop: Some(TraceStop::GoalMet),
            ..TraceEntry::new(TraceEventKind::StepStarted)
        };
        assert!(!odd.is_consistent());
    }
}
