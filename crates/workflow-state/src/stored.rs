//! Reads stored states, which may be of another version or incomplete.

use serde::{Deserialize, Serialize};
use serde_json::{Error, Value};

use crate::WorkflowState;
use cynode_domain::ids::TaskId;
use cynode_domain::plan::Plan;

/// Stored name of [`WorkflowState::bounds`].
const BOUNDS: &str = "bounds";
/// Stored name of [`WorkflowState::current_step_index`].
const CURRENT_STEP_INDEX: &str = "current_step_index";
/// Stored name of [`WorkflowState::task_id`].
const TASK_ID: &str = "task_id";

/// A state as it was stored. Distinguishes values that were stored from defaults of absent fields.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredState {
    pub state: WorkflowState,
    has_bounds: bool,
    has_step_index: bool,
}

impl StoredState {
    /// Reads a stored state. Absent fields have their defaults and unknown fields are ignored, but a field
    /// that cannot be read is an error: a state is never taken for an empty one.
    pub fn read(stored: &Value) -> Result<Self, Error> {
        let state = WorkflowState::deserialize(stored)?;
        let is_stored = |field: &str| stored.get(field).is_some();
        Ok(Self {
            state,
            has_bounds: is_stored(BOUNDS),
            has_step_index: is_stored(CURRENT_STEP_INDEX),
        })
    }

    /// Replaces the task of a stored state. Every other field stays as it is, including unknown ones.
    #[must_use]
    pub fn replace_task(mut stored: Value, task: TaskId) -> Value {
        if let Some(fields) = stored.as_object_mut() {
            fields.insert(TASK_ID.to_owned(), Value::String(task.to_string()));
        }
        stored
    }

    /// The maximum number of attempts of a step, if it was stored.
    pub fn max_attempts(&self) -> Option<u32> {
        self.has_bounds.then_some(self.state.bounds.max_attempts)
    }

    /// The current step, if it was stored.
    pub fn current_step_index(&self) -> Option<u32> {
        self.has_step_index.then_some(self.state.current_step_index)
    }
}

/// The position in the plan of a stored state, for readers that need no other part of it. A state from
/// before planning has an empty plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredPosition {
    pub plan: Plan,
    pub current_step_index: u32,
}

impl StoredPosition {
    /// Reads the position from a stored state.
    pub fn read(stored: &Value) -> Result<Self, Error> {
        Self::deserialize(stored)
    }

    /// Whether no step follows the current one.
    pub fn is_at_last_step(&self) -> bool {
        let index = usize::try_from(self.current_step_index).unwrap_or(usize::MAX);
        index.saturating_add(1) >= self.plan.steps.len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use cynode_domain::job::Action;
    use cynode_domain::plan::Step;

    fn planned_state() -> WorkflowState {
        let mut state = WorkflowState::new(TaskId::generate());
        let step = Step::new(Action::Command { line: "make".to_owned() });
        state.plan =
            Plan { steps: vec![step; 2], assumptions: vec!["none".to_owned()], made_by: None }
                .into();
        state.current_step_index = 1;
        state.bounds.max_attempts = 4;
        state
    }

    #[test]
    fn a_serialised_state_is_read_with_every_value_stored() {
        let state = planned_state();
        let stored = serde_json::to_value(&state).unwrap();

        let read = StoredState::read(&stored).unwrap();
        let position = StoredPosition::read(&stored).unwrap();

        assert_eq!((read.max_attempts(), read.current_step_index()), (Some(4), Some(1)));
        assert_eq!(read.state, state);
        assert_eq!((&position.plan, position.current_step_index), (&*state.plan, 1));
        assert!(position.is_at_last_step());
    }

    #[test]
    fn a_state_is_moved_to_another_task_with_all_its_other_fields() {
        let (state, task_id) = (planned_state(), TaskId::generate());
        let mut stored = serde_json::to_value(&state).unwrap();
        stored["of_a_newer_version"] = json!(1);

        let moved = StoredState::replace_task(stored, task_id);

        assert_eq!(moved["of_a_newer_version"], 1);
        assert_eq!(StoredState::read(&moved).unwrap().state, WorkflowState { task_id, ..state });
    }

    #[test]
    fn every_field_of_a_position_is_a_field_of_the_state() {
        let state = serde_json::to_value(planned_state()).unwrap();
        let position = serde_json::to_value(StoredPosition::default()).unwrap();

        for field in position.as_object().unwrap().keys() {
            assert!(state.get(field).is_some(), "the state has no field {field}");
        }
    }

    #[test]
    fn values_that_were_not_stored_are_unknown_and_not_their_defaults() {
        let stored = json!({ "graph_version": 1, "task_id": TaskId::generate() });

        let read = StoredState::read(&stored).unwrap();

        assert_eq!((read.max_attempts(), read.current_step_index()), (None, None));
    }

    #[test]
    fn a_state_with_an_unreadable_part_is_an_error() {
        let mut stored = serde_json::to_value(planned_state()).unwrap();
        stored["plan"]["steps"] = json!("two");

        assert!(StoredState::read(&stored).is_err());
        assert!(StoredPosition::read(&stored).is_err());
        assert!(StoredState::read(&json!({})).is_err());
    }
}
