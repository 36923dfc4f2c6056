//! One model request and its stable key.

use std::sync::LazyLock;

use cynode_llm_wire::openai::{ChatMessage, ChatRequest};
use cynode_runtime::redact::redact;
use regex::Regex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// One model request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelExchange {
    pub purpose: String,
    /// The input of the decision; null for other requests.
    pub input: Value,
    pub request: ChatRequest,
}

impl ModelExchange {
    /// Creates an exchange; adds purpose and prompt hash to the request's metadata for the call log.
    pub fn new(purpose: &str, input: Value, mut request: ChatRequest) -> Self {
        let prompt = serde_json::to_string(&request.messages).unwrap_or_default();
        request.metadata =
            Some(json!({ "purpose": purpose, "prompt_hash": hash_parts(&[&prompt]) }));
        Self { purpose: purpose.to_owned(), input, request }
    }

    /// The key of the exchange: a hash of purpose, functions and messages, independent of ids, times and white space.
    pub fn key(&self) -> String {
        let functions = serde_json::to_string(&self.request.tools).unwrap_or_default();
        let messages: Vec<String> = self.request.messages.iter().map(render_message).collect();
        hash_parts(&[&self.purpose, &normalize(&functions), &normalize(&messages.join("\n"))])
    }
}

/// Renders role, text and tool calls of a message.
fn render_message(message: &ChatMessage) -> String {
    let calls: Vec<String> = message
        .tool_calls
        .iter()
        .filter_map(|call| call.function.as_ref())
        .map(|call| format!("{}({})", call.name, call.arguments))
        .collect();
    format!("{}: {} {}", message.role, message.plain_text(), calls.join(" "))
}

/// SHA-256 of all parts, as hexadecimal text.
pub fn hash_parts(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_be_bytes());
        digest.update(part.as_bytes());
    }
    hex::encode(digest.finalize())
}

/// Normalises ids, times, hashes, white space and secrets.
fn normalize(text: &str) -> String {
    let text = redact(text);
    let text = VARYING.replace_all(&text, "<id>");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

static VARYING: LazyLock<Regex> = LazyLock::new(|| {
    let uuid = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
    let time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)";
    let digest = r"\b[0-9a-f]{64}\b";
    let all = format!("{uuid}|{time}|{digest}");
    #[expect(clippy::expect_used, reason = "the expression is ours and a test compiles it")]
    Regex::new(&all).expect("a fixed expression")
});

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::ToolDefinition;

    use super::*;

    fn exchange(purpose: &str, text: &str) -> ModelExchange {
        let messages = vec![ChatMessage::text("user", text)];
        let request = ChatRequest { messages, ..ChatRequest::default() };
        ModelExchange::new(purpose, Value::Null, request)
    }

    #[test]
    fn a_key_stays_when_only_ids_times_spaces_and_secrets_differ() {
        let first = exchange(
            "plan",
            "task 0193a4b2-0000-7000-8000-000000000001 at 2026-11-15T12:00:00.123Z\n  api_key=abcdefgh12345678",
        );
        let second = exchange(
            "plan",
            "task 0193a4b2-0000-7000-8000-0000000000ff at 2027-01-01T00:00:00+01:00 api_key=zyxwvuts87654321",
        );

        assert_eq!(first.key(), second.key());
    }

    #[test]
    fn a_key_changes_with_purpose_words_and_functions() {
        let base = exchange("plan", "wash the car");
        let mut with_function = base.clone();
        with_function.request.tools.push(ToolDefinition::function("respond", "", json!({})));
        let others = [exchange("verify", "wash the car"), exchange("plan", "wash the cat")];

        assert!(others.iter().chain([&with_function]).all(|other| other.key() != base.key()));
        let mut hotter = base.clone();
        hotter.request.temperature = Some(2.0);
        assert_eq!(hotter.key(), base.key());
    }

    #[test]
    fn the_call_log_gets_purpose_and_hash() {
        let metadata = exchange("plan", "x").request.metadata.unwrap();

        assert_eq!(metadata["purpose"], "plan");
        assert_eq!(metadata["prompt_hash"].as_str().map(str::len), Some(64));
    }
}
