//! Every provider fault, on either API, with every request variant: the client's error, the stored part of
//! the answer, and the records of turn and call.

use std::time::Duration;

use cynode_domain::ids::TraceId;
use cynode_testkit::provider::{Answer as Said, ScriptedProvider};
use cynode_testkit::query;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::{code, data_of, parsed};
use crate::harness::{HarnessResponse, OrchestratorHarness, eventually};

/// A provider fault and its outcome, for a non-streamed and a streamed answer.
struct ProviderFaultCase {
    fault: Said,
    whole: &'static str,
    streamed: &'static str,
    /// Where the streams of Anthropic's API end otherwise.
    anthropic_streamed: Option<&'static str>,
}

impl ProviderFaultCase {
    /// A fault that is known before the first word, and so has one outcome.
    fn same_outcome(fault: Said, outcome: &'static str) -> Self {
        Self { fault, whole: outcome, streamed: outcome, anthropic_streamed: None }
    }

    fn expected(&self, kind: &str, way: ChatRequestVariant) -> &'static str {
        match self.anthropic_streamed {
            Some(outcome) if way.is_streamed && kind == "anthropic" => outcome,
            _ if way.is_streamed => self.streamed,
            _ => self.whole,
        }
    }
}

const FAILED: &str = "502 orchestrator_inference_failed; kept nothing; turn error; call failed";
const BROKEN: &str = "200 then orchestrator_inference_failed; kept part; turn error; call failed";
const ANSWERED: &str = "200 It is warm.; kept all; turn success; call success";

fn rows() -> Vec<ProviderFaultCase> {
    let late = Duration::from_millis(300);
    let (cut, event) =
        (Said::text("It is very warm.").disconnecting_after(5), Said::invalid_event());
    vec![
        ProviderFaultCase::same_outcome(Said::text("It is warm."), ANSWERED),
        ProviderFaultCase::same_outcome(Said::text("It is warm.").after(late), ANSWERED),
        ProviderFaultCase::same_outcome(Said::unauthorized("sk-secret-of-ours"), FAILED),
        ProviderFaultCase::same_outcome(
            Said::status(400, "too many tools"),
            "400 invalid_request; kept nothing; turn error; call failed",
        ),
        ProviderFaultCase::same_outcome(
            Said::rate_limited(60),
            "503 model_unavailable; kept nothing; turn error; call failed",
        ),
        ProviderFaultCase::same_outcome(Said::server_error(), FAILED),
        ProviderFaultCase::same_outcome(Said::invalid_json(), FAILED),
        ProviderFaultCase::same_outcome(Said::wrong_schema(), FAILED),
        ProviderFaultCase::same_outcome(event, FAILED),
        // Anthropic's API reports a refusal at the end of the stream, after its text.
        ProviderFaultCase {
            anthropic_streamed: Some(
                "200 No. (content_filter); kept all; turn success; call success",
            ),
            ..ProviderFaultCase::same_outcome(
                Said::refusal("No."),
                "200 refused: No.; kept nothing; turn success; call success",
            )
        },
        ProviderFaultCase { streamed: BROKEN, ..ProviderFaultCase::same_outcome(cut, FAILED) },
    ]
}

/// The request variant of a client.
#[derive(Debug, Clone, Copy)]
struct ChatRequestVariant {
    path: &'static str,
    is_streamed: bool,
}

const WAYS: [ChatRequestVariant; 4] = [
    ChatRequestVariant { path: "/v1/chat/completions", is_streamed: false },
    ChatRequestVariant { path: "/v1/chat/completions", is_streamed: true },
    ChatRequestVariant { path: "/v1/responses", is_streamed: false },
    ChatRequestVariant { path: "/v1/responses", is_streamed: true },
];

impl ChatRequestVariant {
    fn body(self, model: &str, question: &str) -> Value {
        let messages = json!([{ "role": "user", "content": question }]);
        match self.path {
            "/v1/responses" => {
                json!({ "model": model, "input": question, "stream": self.is_streamed })
            }
            _ => json!({ "model": model, "messages": messages, "stream": self.is_streamed }),
        }
    }
}

pub(crate) async fn every_fault_has_its_outcome_in_every_way_of_asking(
    harness: OrchestratorHarness,
) {
    let mut wrong = vec![];
    for kind in ["openai", "anthropic"] {
        for (number, row) in rows().into_iter().enumerate() {
            for (index, way) in WAYS.into_iter().enumerate() {
                // One of its own each time: a provider that keeps failing is left alone.
                let name = format!("{kind}-{number}-{index}");
                let _provider = provide(&harness, kind, &name, row.fault.clone()).await;
                let seen = outcome(&harness, &name, way).await;

                if seen != row.expected(kind, way) {
                    wrong.push(format!("{:?}, {kind}, {way:?}: {seen}", row.fault));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A provider of this kind that has one fault.
async fn provide(
    harness: &OrchestratorHarness,
    kind: &str,
    name: &str,
    fault: Said,
) -> ScriptedProvider {
    let provider = ScriptedProvider::start();
    provider.otherwise(fault);
    let url = if kind == "openai" { provider.openai_url() } else { provider.url() };
    let body = json!({
        "kind": kind, "base_url": url, "allow": "everyone", "models": ["scripted-model"],
    });
    let put = harness.as_admin(Method::PUT, &format!("/v1/model-providers/{name}")).json(&body);
    assert!(HarnessResponse::send(put).await.status.is_success());
    provider
}

/// Sends one request and returns the outcome.
async fn outcome(harness: &OrchestratorHarness, provider: &str, way: ChatRequestVariant) -> String {
    let trace = TraceId::generate().to_string();
    let question = format!("How warm is it? ({trace})");
    let asking = way.body(&format!("{provider}/scripted-model"), &question);
    let asking = harness.as_admin(Method::POST, way.path).json(&asking);
    let response = asking.header("x-trace-id", &trace).send().await.unwrap();
    let reported = if way.is_streamed && response.status().is_success() {
        told_in_pieces(response).await
    } else {
        told_at_once(&HarnessResponse::read(response).await)
    };

    let url = &harness.database().url;
    let turn = format!("SELECT outcome FROM chat_audit_log WHERE request_id = '{trace}'");
    let turn = eventually("the record of the turn", async || query(url, &turn).await.pop()).await;
    let call = format!("SELECT outcome FROM brain_calls WHERE trace_id = '{trace}'");
    let call = eventually("the record of the call", async || query(url, &call).await.pop()).await;
    let kept = stored_turn(harness, &question).await;
    assert!(!reported.contains("sk-secret"), "{reported}");
    format!("{reported}; kept {kept}; turn {}; call {}", turn[0], call[0])
}

/// The stored part of an answer.
async fn stored_turn(harness: &OrchestratorHarness, question: &str) -> &'static str {
    let sql = format!(
        "SELECT is_partial FROM chat_messages WHERE role = 'assistant' AND id >
         (SELECT id FROM chat_messages WHERE role = 'user' AND content = '{question}')"
    );
    match query(&harness.database().url, &sql).await.concat().first().map(String::as_str) {
        Some("0" | "f") => "all",
        Some(_) => "part",
        None => "nothing",
    }
}

fn told_at_once(answer: &HarnessResponse) -> String {
    let status = answer.status.as_u16();
    if status != 200 {
        return format!("{status} {}", code(answer, status));
    }
    let message = match answer.body["output"][0]["content"].as_array() {
        Some(parts) => &parts[0],
        None => &answer.body["choices"][0]["message"],
    };
    let words = [&message["content"], &message["text"]].into_iter().find_map(Value::as_str);
    match message["refusal"].as_str() {
        Some(refusal) => format!("200 refused: {refusal}"),
        None => format!("200 {}", words.unwrap_or_default()),
    }
}

async fn told_in_pieces(response: Response) -> String {
    let text = response.text().await.unwrap();
    let events: Vec<Value> =
        data_of(&text).iter().filter(|data| *data != "[DONE]").map(|data| parsed(data)).collect();
    let last = events.last().unwrap();
    for error in [&last["error"], &last["response"]["error"]] {
        if let Some(code) = error["code"].as_str() {
            return format!("200 then {code}");
        }
    }
    let joined = |find: fn(&Value) -> Option<&str>| events.iter().filter_map(find).collect();
    let refusal: String = joined(|event| match event["type"].as_str() {
        Some(kind) => event["delta"].as_str().filter(|_| kind == "response.refusal.delta"),
        None => event["choices"][0]["delta"]["refusal"].as_str(),
    });
    let words: String = joined(|event| match event["type"].as_str() {
        Some(kind) => event["delta"].as_str().filter(|_| kind == "response.output_text.delta"),
        None => event["choices"][0]["delta"]["content"].as_str(),
    });
    let reasons = events.iter().flat_map(|event| {
        let details = &event["response"]["incomplete_details"];
        [&event["choices"][0]["finish_reason"], &details["reason"]]
    });
    let is_filtered = reasons.into_iter().any(|reason| reason == "content_filter");
    match (refusal.is_empty(), is_filtered) {
        (false, _) => format!("200 refused: {refusal}"),
        (true, true) => format!("200 {words} (content_filter)"),
        (true, false) => format!("200 {words}"),
    }
}
