//! A request to a model that holds no secrets any more.

use std::ops::Deref;

use cynode_wire::openai::{ChatMessage, ChatRequest, Content, FunctionDefinition, Part};

use super::{Kinds, clean_text, clean_value};

/// A request to a model without secrets. Making one cleans, so nothing goes out that was not, and
/// nothing is cleaned twice.
#[derive(Debug, Clone, PartialEq)]
pub struct CleanRequest {
    request: ChatRequest,
    kinds: Kinds,
}

impl CleanRequest {
    /// The sorts of secrets that were taken out.
    pub(crate) fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The same for another model.
    pub(crate) fn with_model(mut self, model: &str) -> Self {
        self.request.model = Some(model.to_owned());
        self
    }
}

impl From<ChatRequest> for CleanRequest {
    fn from(mut request: ChatRequest) -> Self {
        let kinds = clean(&mut request);
        Self { request, kinds }
    }
}

impl Deref for CleanRequest {
    type Target = ChatRequest;

    fn deref(&self) -> &ChatRequest {
        &self.request
    }
}

/// Takes the secrets out of everything in a request that a person or program wrote.
///
/// Names of fields do not count here, as the schema of a tool may describe a password without
/// holding one.
fn clean(request: &mut ChatRequest) -> Kinds {
    let mut kinds = Kinds::new();
    for message in &mut request.messages {
        clean_message(message, &mut kinds);
    }
    for function in request.tools.iter_mut().filter_map(|tool| tool.function.as_mut()) {
        clean_function(function, &mut kinds);
    }
    let said = [request.metadata.as_mut(), request.stop.as_mut(), request.tool_choice.as_mut()];
    let said = said.into_iter().flatten().chain(request.other.values_mut());
    said.for_each(|value| clean_value(value, &mut kinds));
    kinds
}

fn clean_message(message: &mut ChatMessage, kinds: &mut Kinds) {
    match &mut message.content {
        Some(Content::Text(text)) => clean_text(text, kinds),
        Some(Content::Parts(parts)) => parts.iter_mut().for_each(|part| clean_part(part, kinds)),
        None => {}
    }
    for call in &mut message.tool_calls {
        if let Some(function) = &mut call.function {
            clean_text(&mut function.arguments, kinds);
        }
        call.other.values_mut().for_each(|value| clean_value(value, kinds));
    }
    if let Some(name) = &mut message.name {
        clean_text(name, kinds);
    }
    message.other.values_mut().for_each(|value| clean_value(value, kinds));
}

fn clean_part(part: &mut Part, kinds: &mut Kinds) {
    if let Some(text) = &mut part.text {
        clean_text(text, kinds);
    }
    // The data of sounds and files is no text either.
    if matches!(part.kind.as_str(), "text" | "refusal" | "image_url") {
        part.other.values_mut().for_each(|value| clean_value(value, kinds));
    }
}

fn clean_function(function: &mut FunctionDefinition, kinds: &mut Kinds) {
    if let Some(text) = &mut function.description {
        clean_text(text, kinds);
    }
    if let Some(schema) = &mut function.parameters {
        clean_value(schema, kinds);
    }
}

#[cfg(test)]
mod tests {
    use cynode_runtime::redact::SecretKind;
    use serde_json::json;

    use super::*;

    /// Looks random, and is in no dictionary.
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

        let kinds = clean(&mut request);

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

        assert!(clean(&mut request).is_empty());
        assert_eq!(request, before);
    }
}
