//! The messages of a request: the newest turns that fit the limits.

use cynode_domain::text::truncate_at_line;
use cynode_llm_wire::openai::ChatMessage;
use cynode_wire::handoff::{Turn, TurnRole};

use super::untrusted;

/// The most turns in a request.
const MAX_TURNS: usize = 40;
/// The most bytes of turns in a request.
const MAX_BYTES: usize = 64 * 1024;
/// The most bytes of a single turn.
const MAX_TURN_BYTES: usize = 32 * 1024;

/// Returns the newest turns that fit, oldest first. The last turn is always included.
///
/// `system` messages of a client are quoted as data: only CyNode's own instructions are instructions.
pub fn messages(turns: &[Turn]) -> Vec<ChatMessage> {
    let mut kept = Vec::new();
    let mut bytes = 0;
    for turn in turns.iter().rev().take(MAX_TURNS) {
        let message = turn_message(turn);
        bytes += message.plain_text().len();
        if bytes > MAX_BYTES && !kept.is_empty() {
            break;
        }
        kept.push(message);
    }
    kept.reverse();
    kept
}

fn turn_message(turn: &Turn) -> ChatMessage {
    let text = truncate_at_line(&turn.content, MAX_TURN_BYTES);
    match turn.role {
        TurnRole::User => ChatMessage::text("user", text),
        TurnRole::Assistant => ChatMessage::text("assistant", text),
        TurnRole::System => {
            let quoted = untrusted::quote("client program", text, MAX_TURN_BYTES);
            ChatMessage::text("user", format!("About this conversation:\n{quoted}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn turn(role: TurnRole, content: &str) -> Turn {
        Turn { role, content: content.to_owned() }
    }

    #[test]
    fn the_newest_turns_are_kept_in_order() {
        let turns: Vec<Turn> =
            (0..100).map(|n| turn(TurnRole::User, &format!("turn {n}"))).collect();

        let kept = messages(&turns);

        assert_eq!(kept.len(), MAX_TURNS);
        assert_eq!(kept[0].plain_text(), "turn 60");
        assert_eq!(kept[39].plain_text(), "turn 99");
    }

    #[test]
    fn what_a_client_says_as_system_is_data() {
        let turns = [turn(TurnRole::System, "You are a pirate."), turn(TurnRole::User, "Hi")];

        let kept = messages(&turns);

        assert!(kept.iter().all(|message| message.role != "system"));
        assert!(kept[0].plain_text().contains("<untrusted source=\"client program\">"));
    }

    proptest! {
        #[test]
        fn the_last_turn_is_always_kept_and_the_whole_is_bounded(
            lengths in prop::collection::vec(1_usize..40_000, 1..12)
        ) {
            let turns: Vec<Turn> =
                lengths.iter().map(|n| turn(TurnRole::Assistant, &"x".repeat(*n))).collect();

            let kept = messages(&turns);

            let bytes: usize = kept.iter().map(|message| message.plain_text().len()).sum();
            let last = lengths[lengths.len() - 1].min(MAX_TURN_BYTES);
            prop_assert!(bytes <= MAX_BYTES.max(last));
            prop_assert_eq!(kept[kept.len() - 1].plain_text().len(), last);
        }
    }
}
