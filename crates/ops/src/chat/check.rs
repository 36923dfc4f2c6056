//! What a request must be before anything is done about it.

use cynode_wire::openai::ChatRequest;

use super::ChatError;

/// More than any conversation has.
pub(super) const MAX_MESSAGES: u32 = 2_000;
/// More than any model reads.
pub(super) const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;
const MAX_MODEL_CHARS: usize = 200;
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// Refuses what cannot be answered.
pub(super) fn check(request: &ChatRequest) -> Result<(), ChatError> {
    let messages = &request.messages;
    if messages.is_empty() {
        return Err(ChatError::invalid("messages", "messages is empty: say something"));
    }
    if messages.len() > MAX_MESSAGES as usize {
        let message = format!("messages has more than {MAX_MESSAGES} items");
        return Err(ChatError::invalid("messages", message));
    }
    if let Some(odd) = messages.iter().find(|m| !ROLES.contains(&m.role.as_str())) {
        let role: String = odd.role.chars().take(40).collect();
        let message = format!("role \"{role}\" is not one of: {}", ROLES.join(", "));
        return Err(ChatError::invalid("messages", message));
    }
    if !messages.iter().any(|message| message.role == "user") {
        return Err(ChatError::invalid("messages", "messages has none of role \"user\""));
    }
    if messages.iter().map(|message| message.plain_text().len()).sum::<usize>() > MAX_TEXT_BYTES {
        let message = format!("messages hold more than {MAX_TEXT_BYTES} bytes of text");
        return Err(ChatError::invalid("messages", message));
    }
    // An absent model is the project manager, which acts; a name that got lost is not meant so.
    if request.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
        let message = "model is empty: name one, or leave it out for the project manager";
        return Err(ChatError::invalid("model", message));
    }
    let is_too_long = |model: &String| model.chars().count() > MAX_MODEL_CHARS;
    if request.model.as_ref().is_some_and(is_too_long) {
        let message = format!("model is longer than {MAX_MODEL_CHARS} characters");
        return Err(ChatError::invalid("model", message));
    }
    Ok(())
}

/// Refuses what the project manager in particular cannot answer.
pub(super) fn check_for_manager(request: &ChatRequest) -> Result<(), ChatError> {
    // Silence must not have the question before it answered, and acted on, once more.
    let last = request.messages.iter().rev().find(|message| message.role == "user");
    if last.is_none_or(|message| message.plain_text().trim().is_empty()) {
        let message = "the last message must be the user's, and say something";
        return Err(ChatError::invalid("messages", message));
    }
    if request.other.get("n").is_some_and(|n| !n.is_null() && n.as_u64() != Some(1)) {
        let message = "n: the project manager gives one answer; leave it out, or ask a model";
        return Err(ChatError::invalid("n", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use cynode_wire::openai::ChatMessage;
    use serde_json::{Value, json};

    use super::*;

    fn request(messages: Vec<ChatMessage>) -> ChatRequest {
        ChatRequest { messages, ..ChatRequest::default() }
    }

    #[test]
    fn requests_without_a_question_are_refused_in_words() {
        let nothing = check(&request(vec![])).unwrap_err();
        let no_user = check(&request(vec![ChatMessage::text("system", "be kind")])).unwrap_err();
        let odd = check(&request(vec![ChatMessage::text("wizard", "hi")])).unwrap_err();

        assert_eq!(nothing.to_string(), "messages is empty: say something");
        assert_eq!(no_user.to_string(), "messages has none of role \"user\"");
        assert!(odd.to_string().starts_with("role \"wizard\" is not one of"), "{odd}");
        assert_eq!(odd.code(), "invalid_request");
    }

    #[test]
    fn an_empty_name_is_not_the_project_manager() {
        let mut named = request(vec![ChatMessage::text("user", "run: make")]);
        for empty in ["", "  "] {
            named.model = Some(empty.to_owned());
            let refused = check(&named).unwrap_err();
            assert!(refused.to_string().starts_with("model is empty"), "{refused}");
        }
        named.model = None;
        assert!(check(&named).is_ok());
    }

    #[test]
    fn the_project_manager_is_asked_something_and_for_one_answer() {
        let mut asked = request(vec![ChatMessage::text("user", "tasks")]);
        assert!(check_for_manager(&asked).is_ok());
        for (n, is_fine) in [(json!(1), true), (Value::Null, true), (json!(3), false)] {
            asked.other.insert("n".to_owned(), n);
            assert_eq!(check_for_manager(&asked).is_ok(), is_fine, "{:?}", asked.other);
        }
        let before = ChatMessage::text("user", "run: make");

        let silent = request(vec![before, ChatMessage::text("user", " ")]);

        let refused = check_for_manager(&silent).unwrap_err();
        assert!(refused.to_string().contains("say something"), "{refused}");
    }

    #[test]
    fn oversize_requests_are_refused() {
        let many = request(vec![ChatMessage::text("user", "x"); MAX_MESSAGES as usize + 1]);
        let long = request(vec![ChatMessage::text("user", "x".repeat(MAX_TEXT_BYTES + 1))]);
        let mut named = request(vec![ChatMessage::text("user", "x")]);
        named.model = Some("m".repeat(MAX_MODEL_CHARS + 1));

        assert!(check(&many).is_err() && check(&long).is_err() && check(&named).is_err());
    }
}
