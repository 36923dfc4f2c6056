//! An answer with the trace of the work that led to it.

use cynode_domain::trace::TraceEvents;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The name of the field.
const TRACE: &str = "trace";

/// The answer to any handoff except a chat turn: its own fields, and one more, `trace`.
///
/// Invariant: a trace that cannot be read never fails the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TracedAnswer<A> {
    #[serde(flatten)]
    pub answer: A,
    #[serde(skip_serializing_if = "TraceEvents::is_empty")]
    pub trace: TraceEvents,
}

impl<A> std::ops::Deref for TracedAnswer<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.answer
    }
}

/// Answers reject unknown fields, which they would not do if they were flattened.
impl<'de, A: DeserializeOwned> Deserialize<'de> for TracedAnswer<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let trace = fields.remove(TRACE).map(serde_json::from_value).transpose();
        let trace = trace.map_err(D::Error::custom)?.unwrap_or_default();
        let answer = serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)?;
        Ok(Self { answer, trace })
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::TraceId;
    use cynode_domain::trace::{TraceActor, TraceEntry, TraceEvent, TraceStop};

    use super::super::{ContinueAnswer, ContinueWith};
    use super::*;

    fn answer() -> ContinueAnswer {
        let reason = "it failed".to_owned();
        ContinueAnswer { with: ContinueWith::Retry, reason, decisions: vec![] }
    }

    #[test]
    fn an_answer_carries_its_trace_and_is_read_without_one() {
        let mut trace = TraceEvents::default();
        trace.push(TraceEvent {
            trace: TraceId::generate(),
            profile: None,
            actor: TraceActor::ProjectManager,
            at: "2026-01-01T12:00:00Z".parse().unwrap(),
            entry: TraceEntry::plan_finished(TraceStop::GoalMet),
        });
        let traced = TracedAnswer { answer: answer(), trace };

        let wire = serde_json::to_value(&traced).unwrap();

        assert_eq!(serde_json::from_value::<TracedAnswer<ContinueAnswer>>(wire).unwrap(), traced);
        let bare = serde_json::to_value(answer()).unwrap();
        let read: TracedAnswer<ContinueAnswer> = serde_json::from_value(bare).unwrap();
        assert_eq!(read, TracedAnswer { answer: answer(), trace: TraceEvents::default() });
    }

    #[test]
    fn an_unreadable_trace_does_not_fail_the_answer_and_an_unknown_field_does() {
        let mut wire = serde_json::to_value(answer()).unwrap();
        wire["trace"] = "not a list".into();
        let read: TracedAnswer<ContinueAnswer> = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!((read.answer, read.trace.dropped()), (answer(), 1));

        wire["surprise"] = 1.into();
        serde_json::from_value::<TracedAnswer<ContinueAnswer>>(wire).unwrap_err();
    }
}
