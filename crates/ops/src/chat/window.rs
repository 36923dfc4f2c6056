//! How much of a conversation the project manager is told: the newest of it.

use cynode_store::ThreadMessage;
use cynode_wire::handoff::{Turn, TurnRole};
use cynode_wire::openai::ChatMessage;

/// The most messages that are told.
pub(super) const MAX_MESSAGES: u32 = 40;
/// The most characters that are told.
const MAX_CHARS: usize = 24_000;

/// What the project manager is told: what the client sent, after what was said before if the client
/// sent only what is new. Programs such as chat windows send the whole conversation each time;
/// others send a line and rely on the thread.
pub(super) fn window(before: &[ThreadMessage], sent: &[ChatMessage]) -> Vec<Turn> {
    let speaks = |role: &str| sent.iter().filter(|message| message.role == role).count();
    let is_new_only = speaks("user") == 1 && speaks("assistant") == 0;
    let past = before.iter().filter(|_| is_new_only).filter_map(remembered);
    newest(past.chain(sent.iter().filter_map(told)).collect())
}

/// What counts from the end, as much as fits; the last one always does, cut if need be.
fn newest(mut turns: Vec<Turn>) -> Vec<Turn> {
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
        let excess = only.content.chars().count().saturating_sub(MAX_CHARS);
        only.content = only.content.chars().skip(excess).collect();
    }
    turns
}

fn told(message: &ChatMessage) -> Option<Turn> {
    let role = match message.role.as_str() {
        "system" | "developer" => TurnRole::System,
        "user" => TurnRole::User,
        "assistant" => TurnRole::Assistant,
        // The project manager has tools of its own, and knows none of the client's.
        _ => return None,
    };
    turn(role, message.plain_text())
}

fn remembered(message: &ThreadMessage) -> Option<Turn> {
    let role = match message.role.as_str() {
        "user" => TurnRole::User,
        "assistant" => TurnRole::Assistant,
        _ => return None,
    };
    turn(role, message.content.clone())
}

fn turn(role: TurnRole, content: String) -> Option<Turn> {
    (!content.trim().is_empty()).then_some(Turn { role, content })
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::ids::{ChatMessageId, ThreadId};
    use serde_json::Value;

    use super::*;

    fn said(role: &str, content: &str) -> ThreadMessage {
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
        let before = [said("user", "hello"), said("assistant", "hi"), said("tool", "ignored")];
        let sent = [ChatMessage::text("system", "be brief"), ChatMessage::text("user", "and now?")];

        assert_eq!(texts(&window(&before, &sent)), ["hello", "hi", "be brief", "and now?"]);
    }

    #[test]
    fn a_client_that_sends_the_whole_conversation_is_taken_at_its_word() {
        let before = [said("user", "hello"), said("assistant", "hi")];
        let sent = [
            ChatMessage::text("user", "hello"),
            ChatMessage::text("assistant", "hi"),
            ChatMessage::text("user", "and now?"),
        ];

        assert_eq!(texts(&window(&before, &sent)), ["hello", "hi", "and now?"]);
    }

    #[test]
    fn the_newest_forty_messages_are_told() {
        let before: Vec<_> = (0..60).map(|n| said("user", &format!("m{n}"))).collect();

        let told = window(&before, &[ChatMessage::text("user", "last")]);

        assert_eq!(told.len(), 40);
        assert_eq!(told[0].content, "m21");
        assert_eq!(told[39].content, "last");
    }

    #[test]
    fn the_newest_characters_are_told() {
        let long = "x".repeat(10_000);
        let before = [said("user", "oldest"), said("user", &long), said("assistant", &long)];

        let told = window(&before, &[ChatMessage::text("user", "y".repeat(5_000))]);
        let huge = window(&before, &[ChatMessage::text("user", "z".repeat(30_000))]);

        assert_eq!(told.len(), 2);
        assert_eq!(huge.len(), 1);
        assert_eq!(huge[0].content.chars().count(), MAX_CHARS);
    }
}
