//! Payloads in the log.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use cynode_runtime::telemetry::gen_ai;
use cynode_runtime::telemetry::tracing_capture::TracingCapture;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::harness::Harness;

/// Everything that the project's code logs up to a level, before the output is redacted.
struct CapturedLog {
    level: Level,
    text: Arc<Mutex<String>>,
}

struct LogLine<'a>(&'a mut String);

impl Visit for LogLine<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, " {field}={value}");
    }
}

impl Subscriber for CapturedLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("cynode") && *metadata.level() <= self.level
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut LogLine(&mut self.text.lock().unwrap()));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut LogLine(&mut self.text.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut LogLine(&mut self.text.lock().unwrap()));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The log at this level when arguments hold secrets, and some calls are denied.
async fn captured_log(level: Level) -> String {
    let text = Arc::new(Mutex::new(String::new()));
    let harness = Harness::new().await;
    // The harness runs on this thread alone, so this log receives everything.
    let _guard = tracing::subscriber::set_default(CapturedLog { level, text: Arc::clone(&text) });
    let secrets = json!({
        "note": "an ordinary remark",
        "password": "sesame-1",
        "deep": { "list": ["Bearer sesame0123456789", { "api_key": "sesame-2" }] },
    });
    // The scripted server echoes its arguments as text.
    let answer = harness.call("pm", "files.echo", secrets.clone()).await;
    assert!(answer.to_string().contains("sesame-1"), "{answer}");
    harness.refusal("pm", "help.get", secrets.clone()).await;
    harness.refusal("pm", "no.such.tool", secrets).await;
    let repository = json!({ "url": "https://ada:sesame-3@git.example.com/app" });
    let task = json!({ "prompt": "an ordinary remark", "repository": repository });
    let rejected = harness.call("pm", "db.task.create", task).await.to_string();
    assert!(rejected.contains("password") && !rejected.contains("sesame"), "{rejected}");
    text.lock().unwrap().clone()
}

#[tokio::test]
async fn a_debug_log_shows_payloads_without_their_secrets() {
    let text = captured_log(Level::DEBUG).await;

    // Three calls, and one response that echoes the arguments.
    assert!(text.matches("an ordinary remark").count() >= 4, "{text}");
    assert!(text.contains("calls files.echo with"), "{text}");
    assert!(!text.contains("sesame"), "{text}");
}

#[tokio::test]
async fn an_ordinary_log_shows_nothing_of_payloads() {
    let text = captured_log(Level::INFO).await;

    assert!(!text.contains("an ordinary remark") && !text.contains("sesame"), "{text}");
}

#[tokio::test]
async fn an_allowed_call_is_a_span_with_tool_and_agent_and_without_its_payload() {
    let harness = Harness::new().await;
    let (capture, _guard) = TracingCapture::start();

    harness.call("pm", "files.echo", json!({ "note": "an ordinary remark" })).await;
    harness.call("pm", "files.fail", json!({})).await;
    harness.refusal("pm", "no.such.tool", json!({})).await;

    let calls = capture.spans("tool_call");
    let [echo, failed] = &calls[..] else { panic!("{calls:#?}") };
    assert_eq!(
        (echo.field("otel.name"), echo.field("otel.kind")),
        ("execute_tool files.echo", "internal")
    );
    assert_eq!(
        (echo.field(gen_ai::TOOL_NAME), echo.field(gen_ai::AGENT_NAME)),
        ("files.echo", "pm")
    );
    assert_eq!(echo.field(gen_ai::ERROR_TYPE), "");
    assert_eq!(
        (failed.field("otel.name"), failed.field(gen_ai::ERROR_TYPE)),
        ("execute_tool files.fail", "upstream_error")
    );
    assert!(calls.iter().all(|call| call.field("trace_id").len() == 36), "{calls:#?}");
    assert!(!format!("{calls:?}").contains("remark"), "{calls:#?}");
}
