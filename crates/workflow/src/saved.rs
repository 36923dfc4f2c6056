//! Decides whether a transition carries the whole state or what changed, so that the cost of a step
//! does not grow with the length of its run.
//!
//! A whole state is sent first, and again once the changes since then are longer than it was. So each
//! byte of change is paid for with at most one byte of whole state, and going on from a checkpoint
//! reads at most twice the state.

use std::any::Any;
use std::io::{self, Write};

use cynode_domain::changes::Changes;
use serde::Serialize;
use serde_json::Value;

use crate::workflow::TaskState;

/// Changes are not worth a new whole state before this.
const LEAST_BYTES: usize = 4096;

/// What is known of the transition that was saved last.
#[derive(Default)]
pub(crate) struct Saved {
    /// The mark of its state; of which type is known to who made it.
    mark: Option<Box<dyn Any + Send>>,
    whole_bytes: usize,
    changed_bytes: usize,
}

/// The state of a transition as it is sent.
pub(crate) struct Record {
    pub(crate) state: Option<Value>,
    pub(crate) changes: Option<Changes>,
    bytes: usize,
}

impl Saved {
    /// The state as it is to be sent now.
    pub(crate) fn record<S: TaskState>(&self, state: &S) -> Result<Record, serde_json::Error> {
        if let Some(mark) = self.mark.as_ref().and_then(|mark| mark.downcast_ref::<S::Mark>()) {
            let changes = state.changes_since(mark)?;
            let bytes = length(&changes)?;
            if self.changed_bytes + bytes <= self.whole_bytes.max(LEAST_BYTES) {
                return Ok(Record { state: None, changes: Some(changes), bytes });
            }
        }
        let state = serde_json::to_value(state)?;
        let bytes = length(&state)?;
        Ok(Record { state: Some(state), changes: None, bytes })
    }

    /// Notes that the record of `state` was saved, which had this length.
    pub(crate) fn note<S: TaskState>(&mut self, state: &S, sent: Sent) {
        self.mark = Some(Box::new(state.mark()));
        match sent {
            Sent::Whole(bytes) => (self.whole_bytes, self.changed_bytes) = (bytes, 0),
            Sent::Changes(bytes) => self.changed_bytes += bytes,
        }
    }
}

/// What was sent, and how long it was.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sent {
    Whole(usize),
    Changes(usize),
}

impl Record {
    pub(crate) fn sent(&self) -> Sent {
        if self.state.is_some() { Sent::Whole(self.bytes) } else { Sent::Changes(self.bytes) }
    }
}

/// The length of a value in JSON.
fn length(value: &impl Serialize) -> Result<usize, serde_json::Error> {
    let mut counted = Counter(0);
    serde_json::to_writer(&mut counted, value)?;
    Ok(counted.0)
}

struct Counter(usize);

impl Write for Counter {
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

    use super::*;
    use crate::state::RunState;

    /// The bytes sent for each of `steps` steps of one run.
    fn sizes(steps: u32) -> Vec<usize> {
        let mut state = RunState::new(TaskId::generate());
        let mut saved = Saved::default();
        let mut sizes = vec![];
        for step in 0..steps {
            state.current_step_index = step;
            state.attempts_by_step.record(step, 1);
            let record = saved.record(&state).unwrap();
            sizes.push(record.bytes);
            saved.note(&state, record.sent());
        }
        sizes
    }

    #[test]
    fn the_first_transition_is_whole_and_the_next_tells_changes() {
        let mut state = RunState::new(TaskId::generate());
        let mut saved = Saved::default();
        let first = saved.record(&state).unwrap();
        assert!(first.state.is_some() && first.changes.is_none());
        saved.note(&state, first.sent());

        state.current_step_index = 1;

        let second = saved.record(&state).unwrap();
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
