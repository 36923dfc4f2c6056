//! Deserialisation of bodies on the OpenAI-compatible routes, with errors that name the field.

use cynode_runtime::redact::redact;
use serde::de::DeserializeOwned;

use crate::openai_error::OpenAiError;

/// Error messages are truncated, since they may quote the body.
const MAX_CHARS: usize = 300;

/// Deserialises a JSON body.
pub(crate) fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, OpenAiError> {
    // Only invalid bodies are parsed again with path tracking, which is slower.
    serde_json::from_slice(body).or_else(|_| parse_with_path(body))
}

fn parse_with_path<T: DeserializeOwned>(body: &[u8]) -> Result<T, OpenAiError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut reader);
    let read = read.map_err(|error| {
        let path = error.path().to_string();
        parse_error(&error.into_inner(), Some(path).filter(|path| path != "."))
    })?;
    reader.end().map_err(|error| parse_error(&error, None))?;
    Ok(read)
}

fn parse_error(error: &serde_json::Error, path: Option<String>) -> OpenAiError {
    let text = error.to_string();
    if !error.is_data() {
        return OpenAiError::invalid(redact_message(&format!("the body is not JSON: {text}")));
    }
    // Line and column do not help: programs generate the body.
    let text = text.rsplit_once(" at line ").map_or(&*text, |(fault, _)| fault);
    let named = |begin: &str| Some(text.strip_prefix(begin)?.trim_matches('`'));
    if let Some(field) = named("missing field ") {
        let param = path.map_or_else(|| field.to_owned(), |path| format!("{path}.{field}"));
        return OpenAiError::invalid(redact_message(&format!("{param} is missing")))
            .with_param(&redact_message(&param));
    }
    let fault = describe_error(text);
    match path {
        Some(path) => OpenAiError::invalid(redact_message(&format!("{path}: {fault}")))
            .with_param(&redact_message(&path)),
        None => OpenAiError::invalid(redact_message(&format!("the body: {fault}"))),
    }
}

/// Redacts and truncates: the parser quotes its input.
fn redact_message(text: &str) -> String {
    redact(text).chars().take(MAX_CHARS).collect()
}

/// Rewrites the parser's message without Rust type names.
fn describe_error(text: &str) -> String {
    if text.starts_with("data did not match any variant") {
        return "matches none of the allowed forms".to_owned();
    }
    let Some((found, expected)) = text.rsplit_once(", expected ") else { return text.to_owned() };
    let kinds = ["invalid type: ", "invalid value: ", "unknown variant "];
    let found = match kinds.iter().find_map(|kind| found.strip_prefix(kind)).unwrap_or(text) {
        "sequence" => "a list",
        "map" => "an object",
        other => other,
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    format!("expected {expected}, found {found}")
}

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::ChatRequest;
    use cynode_llm_wire::openai::responses::ResponseRequest;

    use super::*;

    /// The field and the message of the error.
    fn parse_failure<T: DeserializeOwned>(body: &str) -> (Option<String>, String) {
        let error = parse_json::<T>(body.as_bytes()).err().unwrap();
        (error.body().error.param.clone(), error.body().error.message.clone())
    }

    #[test]
    fn a_fault_names_its_field_and_no_type_of_ours() {
        let table = [
            ("{}", Some("messages"), "messages is missing"),
            (r#"{"messages": "hi"}"#, Some("messages"), "messages: expected a list"),
            (r#"{"messages": [], "model": 5}"#, Some("model"), "model: expected a string, found"),
            (r#"{"messages": [], "stream": "yes"}"#, Some("stream"), "stream: expected true or"),
            (
                r#"{"messages": [], "max_tokens": -5}"#,
                Some("max_tokens"),
                "max_tokens: expected a whole number that is not negative, found integer `-5`",
            ),
            (
                r#"{"messages": [{"content": "hi"}]}"#,
                Some("messages[0].role"),
                "messages[0].role is missing",
            ),
            (r#"{"messages": [{"role": "user", "content": 5}]}"#, Some("messages[0].content"), "m"),
            ("[]", None, "the body: expected an object, found a list"),
            ("hi", None, "the body is not JSON: expected value at line 1 column 1"),
            (r#"{"messages": []} x"#, None, "the body is not JSON: trailing characters"),
        ];
        for (body, param, message) in table {
            let (named, text) = parse_failure::<ChatRequest>(body);
            assert_eq!(named.as_deref(), param, "{body}: {text}");
            assert!(text.starts_with(message), "{body}: {text}");
            for name in ["struct", "u64", "enum", "ChatRequest"] {
                assert!(!text.contains(name), "{body}: {text}");
            }
        }
        let (named, text) = parse_failure::<ResponseRequest>("{}");
        assert_eq!((named.as_deref(), &*text), (Some("input"), "input is missing"));
    }

    #[test]
    fn a_fault_quotes_little_and_no_secret() {
        let body = format!(r#"{{"messages": [], "stream": "sk-ant-api03-{}"}}"#, "a".repeat(5000));

        let (_, text) = parse_failure::<ChatRequest>(&body);

        assert!(text.len() < 400 && !text.contains("aaaaaaaa"), "{text}");
    }
}
