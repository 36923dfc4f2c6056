//! What code of this workspace records with `tracing`, for tests of any crate.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// Fields and their values; the text of an event is `message`.
type CapturedFields = BTreeMap<String, String>;

/// The spans and events of level `info` and above. Clones share them.
#[derive(Clone, Default)]
pub struct TracingCapture {
    recorded: Arc<Mutex<RecordedTracing>>,
}

#[derive(Default)]
struct RecordedTracing {
    /// The id of a span is its index, from 1.
    spans: Vec<CapturedSpan>,
    events: Vec<CapturedFields>,
    /// The spans that are entered, the innermost last.
    entered: Vec<u64>,
}

/// A span that was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedSpan {
    pub name: &'static str,
    /// Name of the span around it.
    pub parent: Option<&'static str>,
    pub fields: BTreeMap<String, String>,
}

impl CapturedSpan {
    /// A field, or empty.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl TracingCapture {
    /// Captures what this thread records while the guard lives.
    pub fn start() -> (Self, DefaultGuard) {
        let capture = Self::default();
        let guard = tracing::subscriber::set_default(capture.clone());
        (capture, guard)
    }

    fn lock(&self) -> MutexGuard<'_, RecordedTracing> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The spans of this name, in the order in which they were opened.
    pub fn spans(&self, name: &str) -> Vec<CapturedSpan> {
        let recorded = self.lock();
        recorded.spans.iter().filter(|span| span.name == name).cloned().collect()
    }

    /// The fields of each event with this message.
    pub fn events(&self, message: &str) -> Vec<BTreeMap<String, String>> {
        let recorded = self.lock();
        let has_message =
            |event: &&CapturedFields| event.get("message").is_some_and(|found| found == message);
        recorded.events.iter().filter(has_message).cloned().collect()
    }
}

impl Subscriber for TracingCapture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("cynode") && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut recorded = self.lock();
        let around = span.parent().map(Id::into_u64);
        let around = around.or_else(|| recorded.entered.last().copied());
        let around = around.filter(|_| !span.is_root());
        let parent = around.and_then(|id| recorded.span(id)).map(|span| span.name);
        let name = span.metadata().name();
        let mut captured = CapturedSpan { name, parent, ..CapturedSpan::default() };
        span.record(&mut FieldVisitor(&mut captured.fields));
        recorded.spans.push(captured);
        Id::from_u64(u64::try_from(recorded.spans.len()).unwrap_or(u64::MAX))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some(span) = self.lock().span(span.into_u64()) {
            values.record(&mut FieldVisitor(&mut span.fields));
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = CapturedFields::new();
        event.record(&mut FieldVisitor(&mut fields));
        self.lock().events.push(fields);
    }

    fn enter(&self, span: &Id) {
        self.lock().entered.push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let entered = &mut self.lock().entered;
        if let Some(at) = entered.iter().rposition(|id| *id == span.into_u64()) {
            entered.remove(at);
        }
    }
}

impl RecordedTracing {
    fn span(&mut self, id: u64) -> Option<&mut CapturedSpan> {
        self.spans.get_mut(usize::try_from(id).ok()?.checked_sub(1)?)
    }
}

struct FieldVisitor<'a>(&'a mut CapturedFields);

impl Visit for FieldVisitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_captured_with_their_parents_and_fields_and_events_with_their_text() {
        let (capture, _guard) = TracingCapture::start();

        let outer =
            tracing::info_span!(target: "cynode_test", "outer", late = tracing::field::Empty);
        outer.in_scope(|| {
            let _inner = tracing::info_span!(target: "cynode_test", "inner", number = 7);
            tracing::info!(target: "cynode_test", word = "w", "said");
            tracing::debug!(target: "cynode_test", "said");
        });
        outer.record("late", "now");

        assert_eq!(capture.spans("outer")[0].field("late"), "now");
        let inner = &capture.spans("inner")[0];
        assert_eq!((inner.parent, inner.field("number")), (Some("outer"), "7"));
        let [event] = &capture.events("said")[..] else { panic!("not one event") };
        assert_eq!(event["word"], "w");
    }
}
