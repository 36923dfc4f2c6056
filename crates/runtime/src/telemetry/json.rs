//! The JSON log format: one object per event.

use std::error::Error;
use std::fmt::Debug;
use std::io::Write as _;

use chrono::SecondsFormat;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, Scope};

use super::TRACE_ID;
use crate::clock::{Clock as _, SystemClock};
use crate::redact::redact_field;

const MESSAGE: &str = "message";

/// Writes each event as one line of JSON.
#[derive(Debug)]
pub(super) struct JsonLogLayer<M> {
    service: &'static str,
    writer: M,
}

impl<M> JsonLogLayer<M> {
    pub(super) fn new(service: &'static str, writer: M) -> Self {
        Self { service, writer }
    }

    /// The log line of an event, with the fields of its spans.
    fn format_line(
        &self,
        event: &Event<'_>,
        mut fields: LogFields,
        span: Option<&'static str>,
    ) -> Value {
        let metadata = event.metadata();
        event.record(&mut fields);
        let mut line = json!({
            "timestamp": SystemClock.now().to_rfc3339_opts(SecondsFormat::Micros, true),
            "level": metadata.level().as_str(),
            "service": self.service,
            "target": metadata.target(),
        });
        line[MESSAGE] = fields.remove(MESSAGE).unwrap_or_else(|| Value::from(metadata.name()));
        if let Some(trace_id) = fields.remove(TRACE_ID) {
            line[TRACE_ID] = trace_id;
        }
        if let Some(span) = span {
            line["span"] = Value::from(span);
        }
        if !fields.0.is_empty() {
            line["fields"] = Value::Object(fields.0);
        }
        line
    }
}

impl<S, M> Layer<S> for JsonLogLayer<M>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    M: for<'a> MakeWriter<'a> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = LogFields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<LogFields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = LogFields::default();
        let mut innermost = None;
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(own) = span.extensions().get::<LogFields>() {
                fields.0.extend(own.0.clone());
            }
            innermost = Some(span.metadata().name());
        }
        let line = self.format_line(event, fields, innermost);
        let mut writer = self.writer.make_writer_for(event.metadata());
        // A failure to write the log cannot be reported anywhere.
        let _lost = writeln!(writer, "{line}");
    }
}

/// Fields by name, already redacted.
#[derive(Debug, Default)]
struct LogFields(Map<String, Value>);

impl LogFields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        let mut value = value.into();
        redact_field(field.name(), &mut value);
        self.0.insert(field.name().to_owned(), value);
    }

    fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.insert(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let chain =
            std::iter::successors(Some(value), |error: &&(dyn Error + 'static)| (*error).source());
        let words: Vec<String> = chain.map(ToString::to_string).collect();
        self.insert(field, words.join(": "));
    }
}

#[cfg(test)]
mod tests {
    use crate::telemetry::capture::LogCapture;

    fn capture_lines(events: impl FnOnce()) -> Vec<serde_json::Value> {
        let capture = LogCapture::default();
        tracing::subscriber::with_default(capture.subscriber(), events);
        capture.lines()
    }

    #[test]
    fn a_line_names_service_level_and_target_and_keeps_field_types() {
        let lines = capture_lines(|| {
            tracing::warn!(task.id = "t1", tries = 3, last = true, "task {} waits", "t1");
        });
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(line["service"], "test");
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["message"], "task t1 waits");
        assert_eq!(line["target"], module_path!());
        assert_eq!(line["fields"], serde_json::json!({"task.id": "t1", "tries": 3, "last": true}));
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
        assert!(line.get("trace_id").is_none());
    }

    #[test]
    fn a_line_carries_the_trace_id_of_the_innermost_span_that_has_one() {
        let lines = capture_lines(|| {
            let request = tracing::info_span!("request", trace_id = "outer", task.id = "t1");
            let _request = request.entered();
            let _store = tracing::info_span!("store", rows = tracing::field::Empty).entered();
            tracing::info!("one");
            let _inner = tracing::info_span!("call", trace_id = "inner").entered();
            tracing::info!("two");
        });
        assert_eq!(lines[0]["trace_id"], "outer");
        assert_eq!(lines[0]["span"], "store");
        assert_eq!(lines[0]["fields"]["task.id"], "t1");
        assert_eq!(lines[1]["trace_id"], "inner");
    }

    #[test]
    fn a_trace_id_recorded_later_is_carried_too() {
        let lines = capture_lines(|| {
            let span = tracing::info_span!("request", trace_id = tracing::field::Empty);
            span.record("trace_id", "late");
            span.in_scope(|| tracing::info!("one"));
        });
        assert_eq!(lines[0]["trace_id"], "late");
    }

    #[test]
    fn secrets_in_fields_spans_and_messages_are_not_logged() {
        let secret = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
        let lines = capture_lines(|| {
            let span = tracing::info_span!("login", password = secret, url = %format!("http://me:{secret}@h/"));
            let _span = span.entered();
            tracing::info!(header = format!("Bearer {secret}"), token = 12, "got cyn_pm_{secret}");
            tracing::info!(body = ?serde_json::json!({"api_key": secret}).to_string(), "quoted twice");
        });
        let text = format!("{lines:?}");
        assert!(!text.contains(secret), "{text}");
        assert_eq!(lines[0]["fields"]["password"], "[redacted]");
        assert_eq!(lines[0]["fields"]["token"], "[redacted]");
        assert_eq!(lines[0]["message"], "got cyn_pm_[redacted]");
    }

    #[test]
    fn an_error_is_logged_with_its_causes() {
        let cause = std::io::Error::other("disk full");
        let error = crate::health::HealthError::Stopped(cause);
        let error: &(dyn std::error::Error + 'static) = &error;
        let lines = capture_lines(|| tracing::error!(error, "cannot serve"));
        assert_eq!(lines[0]["fields"]["error"], "the health server stopped: disk full");
    }

    #[test]
    fn a_message_with_line_ends_stays_on_one_line() {
        assert_eq!(capture_lines(|| tracing::info!("a\nb\r\n{{\"level\":\"x\"}}")).len(), 1);
    }
}
