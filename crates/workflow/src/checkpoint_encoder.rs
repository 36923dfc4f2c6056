//! Decides whether a transition carries the full state or the changes, so that the cost of a step does
//! not grow with the length of its run.
//!
//! The full state is sent first, and again once the changes since then are longer than it was. So each
//! byte of changes costs at most one byte of full state, and resuming from a checkpoint reads at most
//! twice the state.

use std::any::Any;
use std::io::{self, Write};

use cynode_workflow_state::changes::Changes;
use serde::Serialize;
use serde_json::Value;

use crate::workflow::TaskState;

/// Below this many bytes of changes no new full state is sent.
const MIN_CHANGE_BYTES: usize = 4096;

/// The last saved transition, as the base for the next.
#[derive(Default)]
pub(crate) struct CheckpointEncoder {
    /// Snapshot of its state, as `TaskState::Snapshot` of the run's state type.
    snapshot: Option<Box<dyn Any + Send>>,
    full_bytes: usize,
    changed_bytes: usize,
}

/// The encoded state of a transition.
pub(crate) struct EncodedState {
    pub(crate) state: Option<Value>,
    pub(crate) changes: Option<Changes>,
    bytes: usize,
}

impl CheckpointEncoder {
    /// Encodes the state for the next transition.
    pub(crate) fn encode<S: TaskState>(
        &self,
        state: &S,
    ) -> Result<EncodedState, serde_json::Error> {
        if let Some(mark) =
            self.snapshot.as_ref().and_then(|mark| mark.downcast_ref::<S::Snapshot>())
        {
            let changes = state.changes_since(mark)?;
            let bytes = json_length(&changes)?;
            if self.changed_bytes + bytes <= self.full_bytes.max(MIN_CHANGE_BYTES) {
                return Ok(EncodedState { state: None, changes: Some(changes), bytes });
            }
        }
        let state = serde_json::to_value(state)?;
        let bytes = json_length(&state)?;
        Ok(EncodedState { state: Some(state), changes: None, bytes })
    }

    /// Records that `state` was saved with an encoding of this size.
    pub(crate) fn mark_saved<S: TaskState>(&mut self, state: &S, sent: EncodedSize) {
        self.snapshot = Some(Box::new(state.snapshot()));
        match sent {
            EncodedSize::Full(bytes) => (self.full_bytes, self.changed_bytes) = (bytes, 0),
            EncodedSize::Changes(bytes) => self.changed_bytes += bytes,
        }
    }
}

/// Kind and size in bytes of an encoding.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EncodedSize {
    Full(usize),
    Changes(usize),
}

impl EncodedState {
    pub(crate) fn size(&self) -> EncodedSize {
        if self.state.is_some() {
            EncodedSize::Full(self.bytes)
        } else {
            EncodedSize::Changes(self.bytes)
        }
    }
}

/// Length of a value as JSON.
fn json_length(value: &impl Serialize) -> Result<usize, serde_json::Error> {
    let mut counted = JsonByteCounter(0);
    serde_json::to_writer(&mut counted, value)?;
    Ok(counted.0)
}

struct JsonByteCounter(usize);

impl Write for JsonByteCounter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0 += text.len();
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::TaskId;
    use cynode_workflow_state::WorkflowState;

    use super::*;

    /// The bytes sent for each of `steps` steps of one run.
    fn sizes(steps: u32) -> Vec<usize> {
        let mut state = WorkflowState::new(TaskId::generate());
        let mut saved = CheckpointEncoder::default();
        let mut sizes = vec![];
        for step in 0..steps {
            state.current_step_index = step;
            state.attempts_by_step.record(step, 1);
            let record = saved.encode(&state).unwrap();
            sizes.push(record.bytes);
            saved.mark_saved(&state, record.size());
        }
        sizes
    }

    #[test]
    fn the_first_transition_is_whole_and_the_next_tells_changes() {
        let mut state = WorkflowState::new(TaskId::generate());
        let mut saved = CheckpointEncoder::default();
        let first = saved.encode(&state).unwrap();
        assert!(first.state.is_some() && first.changes.is_none());
        saved.mark_saved(&state, first.size());

        state.current_step_index = 1;

        let second = saved.encode(&state).unwrap();
        assert_eq!(second.state, None);
        assert_eq!(serde_json::to_value(second.changes).unwrap()["set"]["current_step_index"], 1);
    }

    #[test]
    fn a_step_of_a_long_run_costs_no_more_bytes_than_one_of_a_short_run() {
        let sizes = sizes(20_000);
        let mean = |part: &[usize]| part.iter().sum::<usize>() / part.len();

        let (early, late) = (mean(&sizes[..2_000]), mean(&sizes[10_000..]));

        assert!(late <= early * 2, "{early} bytes per step early, {late} late");
    }
}
