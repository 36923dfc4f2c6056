//! Requests to a model after redaction.

use std::ops::Deref;

use cynode_llm_wire::openai::{ChatMessage, ChatRequest, Content, FunctionDefinition, Part};

use super::{SecretKinds, redact_text, redact_value};

/// A redacted request to a model. Construction redacts, so no unredacted request can be sent and
/// none is redacted twice.
#[derive(Debug, Clone, PartialEq)]
pub struct RedactedRequest {
    request: ChatRequest,
    kinds: SecretKinds,
}

impl RedactedRequest {
    /// Kinds of the redacted secrets.
    pub fn kinds(&self) -> &SecretKinds {
        &self.kinds
    }

    /// The same request for another model.
    #[must_use]
    pub fn with_model(mut self, model: &str) -> Self {
        self.request.model = Some(model.to_owned());
        self
    }
}

impl From<ChatRequest> for RedactedRequest {
    fn from(mut request: ChatRequest) -> Self {
        let kinds = redact_request(&mut request);
        Self { request, kinds }
    }
}

impl Deref for RedactedRequest {
    type Target = ChatRequest;

    fn deref(&self) -> &ChatRequest {
        &self.request
    }
}

/// Redacts every part of a request that a person or program wrote.
///
/// Field names are not taken as evidence: a tool schema may describe a password without containing
/// one.
fn redact_request(request: &mut ChatRequest) -> SecretKinds {
    let mut kinds = SecretKinds::new();
    for message in &mut request.messages {
        redact_message(message, &mut kinds);
    }
    for function in request.tools.iter_mut().filter_map(|tool| tool.function.as_mut()) {
        redact_function(function, &mut kinds);
    }
    let said = [request.metadata.as_mut(), request.stop.as_mut(), request.tool_choice.as_mut()];
    let said = said.into_iter().flatten().chain(request.other.values_mut());
    said.for_each(|value| redact_value(value, &mut kinds));
    kinds
}

fn redact_message(message: &mut ChatMessage, kinds: &mut SecretKinds) {
    match &mut message.content {
        Some(Content::Text(text)) => redact_text(text, kinds),
        Some(Content::Parts(parts)) => parts.iter_mut().for_each(|part| redact_part(part, kinds)),
        None => {}
    }
    for call in &mut message.tool_calls {
        if let Some(function) = &mut call.function {
            redact_text(&mut function.arguments, kinds);
        }
        call.other.values_mut().for_each(|value| redact_value(value, kinds));
    }
    if let Some(name) = &mut message.name {
        redact_text(name, kinds);
    }
    message.other.values_mut().for_each(|value| redact_value(value, kinds));
}

fn redact_part(part: &mut Part, kinds: &mut SecretKinds) {
    if let Some(text) = &mut part.text {
        redact_text(text, kinds);
    }
    // Audio and file data is not text either.
    if matches!(part.kind.as_str(), "text" | "refusal" | "image_url") {
        part.other.values_mut().for_each(|value| redact_value(value, kinds));
    }
}

fn redact_function(function: &mut FunctionDefinition, kinds: &mut SecretKinds) {
    if let Some(text) = &mut function.description {
        redact_text(text, kinds);
    }
    if let Some(schema) = &mut function.parameters {
        redact_value(schema, kinds);
    }
}

#[cfg(test)]
mod tests {
    use cynode_runtime::redact::SecretKind;
    use serde_json::json;

    use super::*;

    /// High entropy.
    const NEEDLE: &str = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";

    #[test]
    fn no_part_of_a_request_keeps_a_secret() {
        let key = format!("sk-proj-{NEEDLE}");
        let mut request: ChatRequest = serde_json::from_value(json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": format!("use {key}")},
                {"role": "user", "name": key, "content": [
                    {"type": "text", "text": format!("password={NEEDLE}")},
                    {"type": "image_url", "image_url": {"url": format!("https://u:{NEEDLE}@h/i.png")}},
                ]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
                    "function": {"name": "f", "arguments": format!("{{\"token\":\"{NEEDLE}\"}}")}}]},
                {"role": "tool", "tool_call_id": "c", "content": format!("Bearer {NEEDLE}"), "odd": [key]},
            ],
            "tools": [{"type": "function", "function": {"name": "f", "description": key,
                "parameters": {"type": "object", "properties": {"password": {"type": "string",
                "description": key}}}}}],
            "metadata": {"note": key}, "user": key,
        }))
        .unwrap();

        let kinds = redact_request(&mut request);

        let text = serde_json::to_string(&request).unwrap();
        assert!(!text.contains(NEEDLE), "{text}");
        assert!(kinds.contains(&SecretKind::ApiKey) && kinds.contains(&SecretKind::Password));
        let schema = &request.tools[0].function.as_ref().unwrap().parameters.as_ref().unwrap();
        assert_eq!(schema["properties"]["password"]["type"], "string");
        let call = request.messages[2].tool_calls[0].function.as_ref().unwrap();
        assert_eq!(call.arguments, r#"{"token":"SECRET_REDACTED"}"#);
    }

    #[test]
    fn a_request_without_secrets_stays_as_it_is() {
        let mut request: ChatRequest = serde_json::from_value(json!({
            "model": "m", "response_format": {"type": "json_object"}, "seed": 7,
            "messages": [{"role": "user", "content": "How do I rotate a password?"}],
        }))
        .unwrap();
        let before = request.clone();

        assert!(redact_request(&mut request).is_empty());
        assert_eq!(request, before);
    }
}
