//! Records the trace events of one piece of work, and logs each of them.
//!
//! Invariant: recording never fails, never waits and is bounded ([`TraceEvents`]).

use std::sync::{Arc, Mutex, PoisonError};

use cynode_domain::ids::{ProfileId, TraceId};
use cynode_domain::trace::{
    TraceActor, TraceContext, TraceEntry, TraceEvent, TraceEventKind, TraceEvents,
};

use crate::clock::{SharedClock, SystemClock};

/// Collects the events of one trace. Clones share the list.
#[derive(Debug, Clone)]
pub struct TraceRecorder {
    trace: TraceId,
    profile: Option<ProfileId>,
    actor: TraceActor,
    clock: SharedClock,
    events: Arc<Mutex<TraceEvents>>,
}

impl TraceRecorder {
    pub fn new(trace: TraceId, actor: TraceActor) -> Self {
        let (profile, clock) = (None, Arc::new(SystemClock));
        Self { trace, profile, actor, clock, events: Arc::default() }
    }

    /// Sets the profile that the work is done in.
    #[must_use]
    pub fn in_profile(self, profile: Option<ProfileId>) -> Self {
        Self { profile, ..self }
    }

    #[must_use]
    pub fn with_clock(self, clock: SharedClock) -> Self {
        Self { clock, ..self }
    }

    /// A recorder for another actor that appends to the same list.
    #[must_use]
    pub fn for_actor(&self, actor: TraceActor) -> Self {
        Self { actor, ..self.clone() }
    }

    pub fn trace(&self) -> TraceId {
        self.trace
    }

    /// Logs an event and appends it to the list.
    pub fn record(&self, entry: TraceEntry) {
        let Self { trace, profile, actor, .. } = *self;
        let event = TraceEvent { trace, profile, actor, at: self.clock.now(), entry };
        log_trace_event(&event);
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Returns the events so far and removes them.
    pub fn take(&self) -> TraceEvents {
        std::mem::take(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Logs an event under its stable name, see `docs/reference/traces.md`.
pub fn log_trace_event(event: &TraceEvent) {
    let context = TraceContext { trace: event.trace, profile: event.profile };
    log_event(Some(context), event.actor, &event.entry);
}

/// The same for an event that is not stored: of a process itself, or of work whose steps are rows anyway.
pub fn log_event(context: Option<TraceContext>, actor: TraceActor, entry: &TraceEntry) {
    let TraceEntry { kind, step_index, stop, fields } = entry;
    let fields = serde_json::to_string(fields).unwrap_or_default();
    let profile = context.and_then(|context| context.profile);
    tracing::info!(
        trace_id = context.map(|context| context.trace.to_string()),
        trace.profile = profile.map(|profile| profile.to_string()),
        trace.kind = kind.as_str(),
        trace.actor = actor.as_str(),
        trace.step = step_index,
        trace.stop = stop.map(cynode_domain::trace::TraceStop::as_str),
        trace.fields = fields,
        "{}",
        log_name(*kind)
    );
}

/// The message of an event's log line.
pub const fn log_name(kind: TraceEventKind) -> &'static str {
    match kind {
        TraceEventKind::PlanStarted => "plan started",
        TraceEventKind::ToolsSelected => "tools selected",
        TraceEventKind::StepStarted => "step started",
        TraceEventKind::StepFinished => "step finished",
        TraceEventKind::PlanFinished => "plan finished",
        TraceEventKind::ExecutionStarted => "execution started",
        TraceEventKind::ExecutionStopped => "execution stopped",
        TraceEventKind::BackendConnected => "backend connected",
        TraceEventKind::Error => "error recorded",
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::trace::{MAX_TRACE_EVENTS, TraceField, TraceStop};

    use super::*;
    use crate::telemetry::capture::LogCapture;

    fn record_captured(entries: impl IntoIterator<Item = TraceEntry>) -> (TraceEvents, LogCapture) {
        let recorder = TraceRecorder::new(TraceId::generate(), TraceActor::Planner);
        let capture = LogCapture::default();
        tracing::subscriber::with_default(capture.subscriber(), || {
            for entry in entries {
                recorder.record(entry);
            }
        });
        (recorder.take(), capture)
    }

    #[test]
    fn every_kind_of_event_is_a_log_line_with_its_stable_name_and_the_trace_id() {
        let entries = TraceEventKind::ALL.iter().map(|kind| {
            let stop = kind.is_end().then_some(TraceStop::GoalMet);
            TraceEntry {
                stop,
                ..TraceEntry::new(*kind).at_step(1).with(TraceField::Tool, "git.diff")
            }
        });

        let (events, capture) = record_captured(entries);

        let lines = capture.lines();
        assert_eq!(lines.len(), TraceEventKind::ALL.len());
        for (line, event) in lines.iter().zip(events.events()) {
            assert_eq!(line["message"], log_name(event.entry.kind));
            assert_eq!(line["trace_id"], event.trace.to_string());
            assert_eq!(line["fields"]["trace.kind"], event.entry.kind.as_str());
            assert_eq!(line["fields"]["trace.actor"], "planner");
            assert_eq!(line["fields"]["trace.step"], 1);
            assert_eq!(line["fields"]["trace.fields"], r#"{"tool":"git.diff"}"#);
        }
    }

    #[test]
    fn personal_data_and_secrets_are_not_in_the_log_lines_of_events() {
        let personal = ["ada@example.org", "Ada Lovelace", "deploy for Ada <ada@example.org>"];
        let secret = "cyn_pm_Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
        let texts = personal.into_iter().chain([secret]);
        let entries = texts.map(|text| {
            let words = vec![text.to_owned(), "db.task.get".to_owned()];
            TraceEntry::new(TraceEventKind::ToolsSelected)
                .with(TraceField::Tools, words)
                .with(TraceField::Backend, text)
        });

        let (_, capture) = record_captured(entries);

        let text = capture.text();
        for private in ["ada@", "Ada", "Lovelace", "Zk93hQ0vLx72"] {
            assert!(!text.contains(private), "{private}: {text}");
        }
        assert_eq!(text.matches("db.task.get").count(), 4);
    }

    #[test]
    fn recorders_of_several_actors_share_one_bounded_list() {
        let manager = TraceRecorder::new(TraceId::generate(), TraceActor::ProjectManager);
        let worker = manager.for_actor(TraceActor::Worker);
        for _ in 0..MAX_TRACE_EVENTS {
            manager.record(TraceEntry::new(TraceEventKind::StepStarted));
            worker.record(TraceEntry::new(TraceEventKind::StepFinished));
        }

        let events = worker.take();

        assert_eq!(events.events().len(), MAX_TRACE_EVENTS);
        assert_eq!(events.dropped() as usize, MAX_TRACE_EVENTS);
        assert!(manager.take().is_empty());
    }
}
