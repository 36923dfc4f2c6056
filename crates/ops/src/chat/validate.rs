//! Validation of chat requests.

use cynode_domain::text::truncate_chars;
use cynode_llm_wire::openai::ChatRequest;

use super::ChatError;

/// Higher than any real conversation needs.
pub(super) const MAX_MESSAGES: u32 = 2_000;
/// Higher than any model's context.
pub(super) const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;
const MAX_MODEL_CHARS: usize = 200;
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// Validates a request.
pub(super) fn validate_request(request: &ChatRequest) -> Result<(), ChatError> {
    let messages = &request.messages;
    if messages.is_empty() {
        return Err(ChatError::invalid("messages", "messages must not be empty"));
    }
    if messages.len() > MAX_MESSAGES as usize {
        let message = format!("messages must have at most {MAX_MESSAGES} items");
        return Err(ChatError::invalid("messages", message));
    }
    if let Some(odd) = messages.iter().find(|m| !ROLES.contains(&m.role.as_str())) {
        let role = truncate_chars(&odd.role, 40);
        let message = format!("role \"{role}\" is not one of: {}", ROLES.join(", "));
        return Err(ChatError::invalid("messages", message));
    }
    if !messages.iter().any(|message| message.role == "user") {
        return Err(ChatError::invalid("messages", "messages must include one of role \"user\""));
    }
    if messages.iter().map(|message| message.plain_text().len()).sum::<usize>() > MAX_TEXT_BYTES {
        let message = format!("messages must have at most {MAX_TEXT_BYTES} bytes of text");
        return Err(ChatError::invalid("messages", message));
    }
    // An absent model means the project manager, which has side effects; an empty name is rejected
    // as a client bug.
    if request.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
        let message = "model is empty: set one, or omit it for the project manager";
        return Err(ChatError::invalid("model", message));
    }
    let is_too_long = |model: &String| model.chars().count() > MAX_MODEL_CHARS;
    if request.model.as_ref().is_some_and(is_too_long) {
        let message = format!("model must have at most {MAX_MODEL_CHARS} characters");
        return Err(ChatError::invalid("model", message));
    }
    Ok(())
}

/// Validates a request to the project manager.
pub(super) fn validate_manager_request(request: &ChatRequest) -> Result<(), ChatError> {
    // An empty message must not run the previous request again.
    let last = request.messages.iter().rev().find(|message| message.role == "user");
    if last.is_none_or(|message| message.plain_text().trim().is_empty()) {
        let message = "the last message must be a non-empty message of the user";
        return Err(ChatError::invalid("messages", message));
    }
    if request.other.get("n").is_some_and(|n| !n.is_null() && n.as_u64() != Some(1)) {
        let message = "n must be 1 for the project manager; omit it, or use a model";
        return Err(ChatError::invalid("n", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::ChatMessage;
    use serde_json::{Value, json};

    use super::*;

    fn request(messages: Vec<ChatMessage>) -> ChatRequest {
        ChatRequest { messages, ..ChatRequest::default() }
    }

    #[test]
    fn requests_without_a_question_are_refused_in_words() {
        let nothing = validate_request(&request(vec![])).unwrap_err();
        let no_user =
            validate_request(&request(vec![ChatMessage::text("system", "be kind")])).unwrap_err();
        let odd = validate_request(&request(vec![ChatMessage::text("wizard", "hi")])).unwrap_err();

        assert_eq!(nothing.to_string(), "messages must not be empty");
        assert_eq!(no_user.to_string(), "messages must include one of role \"user\"");
        assert!(odd.to_string().starts_with("role \"wizard\" is not one of"), "{odd}");
        assert_eq!(odd.code(), "invalid_request");
    }

    #[test]
    fn an_empty_name_is_not_the_project_manager() {
        let mut named = request(vec![ChatMessage::text("user", "run: make")]);
        for empty in ["", "  "] {
            named.model = Some(empty.to_owned());
            let refused = validate_request(&named).unwrap_err();
            assert!(refused.to_string().starts_with("model is empty"), "{refused}");
        }
        named.model = None;
        assert!(validate_request(&named).is_ok());
    }

    #[test]
    fn the_project_manager_is_asked_something_and_for_one_answer() {
        let mut asking = request(vec![ChatMessage::text("user", "tasks")]);
        assert!(validate_manager_request(&asking).is_ok());
        for (n, is_fine) in [(json!(1), true), (Value::Null, true), (json!(3), false)] {
            asking.other.insert("n".to_owned(), n);
            assert_eq!(validate_manager_request(&asking).is_ok(), is_fine, "{:?}", asking.other);
        }
        let before = ChatMessage::text("user", "run: make");

        let silent = request(vec![before, ChatMessage::text("user", " ")]);

        let refused = validate_manager_request(&silent).unwrap_err();
        assert!(refused.to_string().contains("non-empty"), "{refused}");
    }

    #[test]
    fn oversize_requests_are_refused() {
        let many = request(vec![ChatMessage::text("user", "x"); MAX_MESSAGES as usize + 1]);
        let long = request(vec![ChatMessage::text("user", "x".repeat(MAX_TEXT_BYTES + 1))]);
        let mut named = request(vec![ChatMessage::text("user", "x")]);
        named.model = Some("m".repeat(MAX_MODEL_CHARS + 1));

        assert!(
            validate_request(&many).is_err()
                && validate_request(&long).is_err()
                && validate_request(&named).is_err()
        );
    }
}
