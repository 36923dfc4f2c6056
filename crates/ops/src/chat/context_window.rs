//! The context window of the project manager: the newest part of a conversation.

use cynode_domain::text::last_chars;
use cynode_llm_wire::openai::ChatMessage;
use cynode_store::ThreadMessage;
use cynode_wire::handoff::{Turn, TurnRole};

pub(super) const MAX_MESSAGES: u32 = 40;
const MAX_CHARS: usize = 24_000;

/// Returns the messages for the project manager: what the client sent, preceded by the thread if
/// the client sent only the new message. Chat clients send the whole conversation each time; others
/// send one line and rely on the thread.
pub(super) fn context_messages(before: &[ThreadMessage], sent: &[ChatMessage]) -> Vec<Turn> {
    let speaks = |role: &str| sent.iter().filter(|message| message.role == role).count();
    let is_new_only = speaks("user") == 1 && speaks("assistant") == 0;
    let past = before.iter().filter(|_| is_new_only).filter_map(from_thread);
    keep_newest(past.chain(sent.iter().filter_map(from_request)).collect())
}

/// Keeps the newest messages that fit; the last one always, truncated if necessary.
fn keep_newest(mut turns: Vec<Turn>) -> Vec<Turn> {
    let (mut chars, mut kept) = (0, 0);
    for turn in turns.iter().rev().take(MAX_MESSAGES as usize) {
        chars += turn.content.chars().count();
        if chars > MAX_CHARS && kept > 0 {
            break;
        }
        kept += 1;
    }
    turns.drain(..turns.len() - kept);
    if let [only] = turns.as_mut_slice() {
        only.content = last_chars(&only.content, MAX_CHARS).to_owned();
    }
    turns
}

fn from_request(message: &ChatMessage) -> Option<Turn> {
    let role = match message.role.as_str() {
        "system" | "developer" => TurnRole::System,
        "user" => TurnRole::User,
        "assistant" => TurnRole::Assistant,
        // The project manager has its own tools and cannot call the client's.
        _ => return None,
    };
    non_empty_turn(role, message.plain_text())
}

fn from_thread(message: &ThreadMessage) -> Option<Turn> {
    let role = match message.role.as_str() {
        "user" => TurnRole::User,
        "assistant" => TurnRole::Assistant,
        _ => return None,
    };
    non_empty_turn(role, message.content.clone())
}

fn non_empty_turn(role: TurnRole, content: String) -> Option<Turn> {
    (!content.trim().is_empty()).then_some(Turn { role, content })
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::ids::{ChatMessageId, ThreadId};
    use serde_json::Value;

    use super::*;

    fn thread_message(role: &str, content: &str) -> ThreadMessage {
        ThreadMessage {
            id: ChatMessageId::generate(),
            thread: ThreadId::generate(),
            role: role.to_owned(),
            content: content.to_owned(),
            is_partial: false,
            metadata: Value::Null,
            turn: None,
            created_at: DateTime::UNIX_EPOCH,
        }
    }

    fn texts(turns: &[Turn]) -> Vec<&str> {
        turns.iter().map(|turn| turn.content.as_str()).collect()
    }

    #[test]
    fn a_single_line_comes_after_what_was_said_before() {
        let before = [
            thread_message("user", "hello"),
            thread_message("assistant", "hi"),
            thread_message("tool", "ignored"),
        ];
        let sent = [ChatMessage::text("system", "be brief"), ChatMessage::text("user", "and now?")];

        assert_eq!(
            texts(&context_messages(&before, &sent)),
            ["hello", "hi", "be brief", "and now?"]
        );
    }

    #[test]
    fn a_client_that_sends_the_whole_conversation_is_taken_at_its_word() {
        let before = [thread_message("user", "hello"), thread_message("assistant", "hi")];
        let sent = [
            ChatMessage::text("user", "hello"),
            ChatMessage::text("assistant", "hi"),
            ChatMessage::text("user", "and now?"),
        ];

        assert_eq!(texts(&context_messages(&before, &sent)), ["hello", "hi", "and now?"]);
    }

    #[test]
    fn the_newest_forty_messages_are_told() {
        let before: Vec<_> = (0..60).map(|n| thread_message("user", &format!("m{n}"))).collect();

        let told = context_messages(&before, &[ChatMessage::text("user", "last")]);

        assert_eq!(told.len(), 40);
        assert_eq!(told[0].content, "m21");
        assert_eq!(told[39].content, "last");
    }

    #[test]
    fn the_newest_characters_are_told() {
        let long = "x".repeat(10_000);
        let before = [
            thread_message("user", "oldest"),
            thread_message("user", &long),
            thread_message("assistant", &long),
        ];

        let told = context_messages(&before, &[ChatMessage::text("user", "y".repeat(5_000))]);
        let huge = context_messages(&before, &[ChatMessage::text("user", "z".repeat(30_000))]);

        assert_eq!(told.len(), 2);
        assert_eq!(huge.len(), 1);
        assert_eq!(huge[0].content.chars().count(), MAX_CHARS);
    }
}
