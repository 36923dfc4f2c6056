//! A bounded list of events.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{MAX_TRACE_EVENTS, TraceEvent};

/// The events of one answer or one job, in the order in which they were recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct TraceEvents {
    events: Vec<TraceEvent>,
    /// Events that did not fit or were not valid.
    #[serde(skip_serializing_if = "is_zero")]
    dropped: u32,
}

impl TraceEvents {
    /// Appends an event, or counts it if it does not fit or is not consistent.
    pub fn push(&mut self, event: TraceEvent) {
        if self.events.len() < MAX_TRACE_EVENTS && event.entry.is_consistent() {
            self.events.push(event);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    pub fn events(&self) -> &[TraceEvent] {
        &self.events
    }

    pub fn into_events(self) -> Vec<TraceEvent> {
        self.events
    }

    /// How many events did not fit or were not valid.
    pub fn dropped(&self) -> u32 {
        self.dropped
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.dropped == 0
    }
}

/// Events that cannot be read are counted: they never fail the answer that they belong to.
impl<'de> Deserialize<'de> for TraceEvents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Value::deserialize(deserializer)?;
        let dropped = wire.get("dropped").and_then(Value::as_u64).unwrap_or(0);
        let mut read =
            Self { events: Vec::new(), dropped: u32::try_from(dropped).unwrap_or(u32::MAX) };
        let events = if let Value::Object(mut wire) = wire {
            wire.remove("events").unwrap_or_default()
        } else {
            wire
        };
        match events {
            Value::Null => {}
            Value::Array(events) => {
                for event in events {
                    match serde_json::from_value(event) {
                        Ok(event) => read.push(event),
                        Err(_) => read.dropped = read.dropped.saturating_add(1),
                    }
                }
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                read.dropped = read.dropped.saturating_add(1);
            }
        }
        Ok(read)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it may leave out so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::super::{TraceActor, TraceEntry, TraceEventKind};
    use super::*;
    use crate::ids::TraceId;

    fn event(kind: TraceEventKind) -> TraceEvent {
        TraceEvent {
            trace: TraceId::from(uuid::Uuid::nil()),
            profile: None,
            actor: TraceActor::Worker,
            at: "2026-01-01T12:00:00Z".parse().unwrap(),
            entry: TraceEntry::new(kind),
        }
    }

    #[test]
    fn events_that_do_not_fit_are_counted() {
        let mut events = TraceEvents::default();
        for _ in 0..MAX_TRACE_EVENTS + 5 {
            events.push(event(TraceEventKind::StepStarted));
        }

        let wire = serde_json::to_value(&events).unwrap();
        let read: TraceEvents = serde_json::from_value(wire).unwrap();

        assert_eq!(events.events().len(), MAX_TRACE_EVENTS);
        assert_eq!(events.dropped(), 5);
        assert_eq!(read, events);
    }

    #[test]
    fn invalid_events_are_counted_and_the_others_are_kept() {
        let good = serde_json::to_value(event(TraceEventKind::StepStarted)).unwrap();
        let end_without_reason = serde_json::to_value(event(TraceEventKind::PlanFinished)).unwrap();
        let mut unknown_kind = good.clone();
        unknown_kind["kind"] = "made_up".into();
        let wire = serde_json::json!({
            "events": [good, end_without_reason, unknown_kind, 7, null, {"kind": {}}],
        });

        let read: TraceEvents = serde_json::from_value(wire).unwrap();

        assert_eq!(read.events(), [event(TraceEventKind::StepStarted)]);
        assert_eq!(read.dropped(), 5);
    }

    #[test]
    fn any_other_json_is_an_empty_list_and_no_error() {
        for (wire, dropped) in
            [("null", 0), ("7", 1), ("{}", 0), (r#"{"events":"x"}"#, 1), ("[]", 0)]
        {
            let read: TraceEvents = serde_json::from_str(wire).unwrap();
            assert_eq!(read.events(), []);
            assert_eq!(read.dropped(), dropped, "{wire}");
        }
    }
}
