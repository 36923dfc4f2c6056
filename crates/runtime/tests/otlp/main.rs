//! Spans as a collector receives them: `cargo xtask ci`, stage `otlp feature`.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test by panicking")]

mod collector;

use std::time::Duration;

use cynode_runtime::telemetry::gen_ai::{
    self, AgentAttributes, ModelAnswerAttributes, ModelCallAttributes, ToolCallAttributes,
};
use cynode_runtime::telemetry::{self, LogOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tracing::{debug, info, info_span};

use self::collector::{Collector, ReceivedSpan};

/// Accepts one request, responds 200 and returns the request.
async fn one_request(collector: TcpListener) -> String {
    let (mut stream, _) = collector.accept().await.unwrap();
    let mut request = Vec::new();
    while !is_complete(&request) {
        assert!(stream.read_buf(&mut request).await.unwrap() > 0, "the request was cut off");
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    String::from_utf8_lossy(&request).into_owned()
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some(head) = text.split("\r\n\r\n").next().filter(|head| head.len() < text.len()) else {
        return false;
    };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let body = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    request.len() - body >= length.unwrap().trim().parse::<usize>().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_reach_a_collector_without_their_secrets() {
    let collector = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = LogOptions {
        otlp_endpoint: Some(format!("http://{}", collector.local_addr().unwrap())),
        ..LogOptions::default()
    };
    let telemetry = telemetry::init("cynode-test", &options).unwrap();
    let secret = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
    tracing::info_span!(target: "cynode_test", "sign in", password = secret, user = "ada")
        .in_scope(|| tracing::info!(target: "cynode_test", "got cyn_pm_{secret}"));

    let ended = tokio::task::spawn_blocking(move || drop(telemetry));
    let request = tokio::time::timeout(Duration::from_secs(10), one_request(collector));
    let request = request.await.unwrap();
    ended.await.unwrap();

    assert!(request.starts_with("POST /v1/traces "), "{request}");
    for kept in ["cynode-test", "sign in", "ada", "cyn_pm_[redacted]"] {
        assert!(request.contains(kept), "{kept} is missing in {request}");
    }
    assert!(!request.contains(secret), "{request}");
}

const TRACE: &str = "0190d7a0-1111-7222-8333-444455556666";
const REQUEST: &str = "0190d7a0-aaaa-7bbb-8ccc-ddddeeeeffff";
const PROMPT: &str = "Write to ada@example.org about the purple elephant";
const SECRET: &str = "cyn_pm_Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";

/// What a provider says about its answer.
fn answer_of_a_model() -> ModelAnswerAttributes {
    ModelAnswerAttributes {
        model: Some("tiny-1-2026".to_owned()),
        finish_reasons: vec!["stop".to_owned(), "tool_calls".to_owned()],
        input_tokens: Some(120),
        output_tokens: Some(7),
    }
}

/// A handoff, in which an agent calls a model twice.
fn work_on_a_handoff() {
    let handoff = info_span!(target: "cynode_pma", "handoff", trace_id = TRACE).entered();
    let agent = AgentAttributes {
        trace_id: TRACE,
        agent: "project_manager",
        conversation: Some("thread-1"),
    };
    let agent = agent.open_span();
    agent.span().in_scope(|| {
        let call = ModelCallAttributes {
            trace_id: TRACE,
            provider: "lab",
            model: "tiny-1",
            agent: Some("pm"),
            conversation: Some("thread-1"),
        };
        let first = call.open_span();
        first.span().in_scope(|| debug!(target: "cynode_llm", prompt = PROMPT, "{PROMPT}"));
        first.finish_model_call(&answer_of_a_model(), None);
        let model = ModelCallAttributes { model: "tiny-2", ..call };
        // A provider may write anything where a name belongs.
        let written = ModelAnswerAttributes {
            model: Some(PROMPT.to_owned()),
            finish_reasons: vec![PROMPT.to_owned()],
            ..ModelAnswerAttributes::default()
        };
        model.open_span().finish_model_call(&written, Some("timeout"));
    });
    agent.finish(None);
    drop(handoff);
}

/// A request of a client that has its own trace, in which a tool of the product's trace is called.
fn call_a_tool() {
    let _request =
        info_span!(target: "cynode_api", "request", trace_id = REQUEST, password = SECRET)
            .entered();
    let call = ToolCallAttributes {
        trace_id: TRACE,
        tool: "db.task.get",
        call_id: Some("call-1"),
        agent: Some("pm"),
    };
    let tool = call.open_span();
    tool.span().in_scope(|| info!(target: "cynode_gateway", "uses {SECRET}"));
    tool.finish(Some("not_found"));
    let call = ToolCallAttributes { tool: "git.diff", call_id: Some(PROMPT), ..call };
    drop(call.open_span());
}

fn checked<'a>(span: &'a ReceivedSpan, wanted: &[(&str, &str)]) -> &'a ReceivedSpan {
    for (name, value) in wanted {
        assert_eq!(span.attribute(name), *value, "{name} of {span:#?}");
    }
    let known = |name: &&String| name.starts_with("gen_ai.") || *name == gen_ai::ERROR_TYPE;
    for name in span.attributes.keys().filter(known) {
        assert!(gen_ai::ATTRIBUTES.contains(&name.as_str()), "{name} is in no table");
        assert!(wanted.iter().any(|(wanted, _)| wanted == name), "{name} of {span:#?}");
    }
    span
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_joins_model_calls_tool_calls_and_handoffs_by_the_trace_of_the_product() {
    let (collector, address) = Collector::start().await;
    let level = "debug".to_owned();
    let options = LogOptions { level, otlp_endpoint: Some(address), ..LogOptions::default() };
    let telemetry = telemetry::init("cynode-test", &options).unwrap();
    work_on_a_handoff();
    call_a_tool();
    info_span!(target: "cynode_test", "foreign", trace_id = "trace-1").in_scope(|| ());
    tokio::task::spawn_blocking(move || drop(telemetry)).await.unwrap();

    let spans = collector.spans();
    assert_eq!(spans.len(), 8, "{:?}", spans.keys());
    let [handoff, request, foreign] = ["handoff", "request", "foreign"].map(|name| &spans[name]);
    let agent = checked(
        &spans["invoke_agent project_manager"],
        &[
            (gen_ai::OPERATION_NAME, "invoke_agent"),
            (gen_ai::PROVIDER_NAME, "cynode"),
            (gen_ai::AGENT_NAME, "project_manager"),
            (gen_ai::CONVERSATION_ID, "thread-1"),
        ],
    );
    let of_call = [
        (gen_ai::OPERATION_NAME, "chat"),
        (gen_ai::PROVIDER_NAME, "lab"),
        (gen_ai::AGENT_NAME, "pm"),
        (gen_ai::CONVERSATION_ID, "thread-1"),
    ];
    let answered = [
        (gen_ai::REQUEST_MODEL, "tiny-1"),
        (gen_ai::RESPONSE_MODEL, "tiny-1-2026"),
        (gen_ai::FINISH_REASONS, "[stop tool_calls]"),
        (gen_ai::INPUT_TOKENS, "120"),
        (gen_ai::OUTPUT_TOKENS, "7"),
    ];
    let model = checked(&spans["chat tiny-1"], &[&of_call[..], &answered].concat());
    let failed = [
        (gen_ai::REQUEST_MODEL, "tiny-2"),
        (gen_ai::RESPONSE_MODEL, "[omitted]"),
        (gen_ai::FINISH_REASONS, "[[omitted]]"),
        (gen_ai::ERROR_TYPE, "timeout"),
    ];
    let failed = checked(&spans["chat tiny-2"], &[&of_call[..], &failed].concat());
    let of_tool = [(gen_ai::OPERATION_NAME, "execute_tool"), (gen_ai::AGENT_NAME, "pm")];
    let refused = [
        (gen_ai::TOOL_NAME, "db.task.get"),
        (gen_ai::TOOL_CALL_ID, "call-1"),
        (gen_ai::ERROR_TYPE, "not_found"),
    ];
    let tool = checked(&spans["execute_tool db.task.get"], &[&of_tool[..], &refused].concat());
    let dropped = [
        (gen_ai::TOOL_NAME, "git.diff"),
        (gen_ai::TOOL_CALL_ID, "[omitted]"),
        (gen_ai::ERROR_TYPE, "canceled"),
    ];
    let dropped = checked(&spans["execute_tool git.diff"], &[&of_tool[..], &dropped].concat());

    let product = TRACE.replace('-', "");
    for span in [handoff, agent, model, failed, tool, dropped] {
        assert_eq!(span.trace, product, "{span:#?}");
        let scope = format!("cynode {}", env!("CARGO_PKG_VERSION"));
        let origin = ["cynode-test".to_owned(), scope, gen_ai::SCHEMA_URL.to_owned()];
        assert_eq!(span.origin, origin);
    }
    let kinds = [handoff, agent, model, failed, tool].map(|span| span.kind);
    assert_eq!(kinds, [1, 1, 3, 3, 1]);
    let parents = [handoff, agent, model, failed, tool].map(|span| span.parent.as_str());
    assert_eq!(parents, ["", &handoff.id, &agent.id, &agent.id, ""]);
    let errors = [handoff, agent, model, failed, tool, dropped].map(|span| span.status.0);
    assert_eq!(errors, [false, false, false, true, true, true]);
    assert!([failed, tool, dropped].iter().all(|span| span.status.1.is_empty()));
    // The request has a trace of its own: the tool call is a root that links to it.
    assert_eq!(request.trace, REQUEST.replace('-', ""));
    assert_eq!(tool.links, [request.trace.as_str()]);
    assert!(model.links.is_empty());
    assert_eq!(tool.events, ["uses cyn_pm_[redacted]"]);
    // A trace that is no UUID is an attribute of a generated one.
    assert_eq!((foreign.attribute("trace_id"), foreign.trace.len()), ("trace-1", 32));
    assert!(![&product, &request.trace].contains(&&foreign.trace));
    let sent = String::from_utf8_lossy(&collector.bytes()).into_owned();
    for private in ["purple elephant", "ada@", "Zk93hQ0vLx72"] {
        assert!(!sent.contains(private), "{private} was sent");
    }
}
