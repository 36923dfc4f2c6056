//! Requests to the project manager that a client sends again, because it got no answer.
//!
//! The project manager acts. What may have been begun is therefore not handed over again: the answer is
//! given out that is kept, or the request is refused. Whoever says the same without calling it a
//! repetition asks anew.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::{ChatTurnId, ThreadId};
use cynode_store::{ChatRecord, ThreadMessage};
use cynode_wire::handoff::HandoffUsage;
use cynode_wire::openai::ChatRequest;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ChatError, MANAGER_MODEL};

/// Where messages keep the request that they belong to.
const ASKED: &str = "asked";
/// How long after a request something is taken for its repetition.
const REPEATED_WITHIN: TimeDelta = TimeDelta::minutes(10);
/// How long after an answer its request is: whoever repeats it then missed the answer.
const MISSED_WITHIN: TimeDelta = TimeDelta::minutes(1);
/// How many of the user's newest turns are looked at.
pub(super) const RECENT_TURNS: u32 = 50;
/// Failures of turns that certainly were not begun.
const UNBEGUN: [&str; 4] =
    ["model_unavailable", "storage_unavailable", "invalid_request", "project_not_found"];

/// A request, as what belongs to it can be found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) turn: ChatTurnId,
    /// SHA-256 of all messages that were sent, in hexadecimal.
    request: String,
}

/// What became of a request before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Earlier {
    /// It was not begun: its words are kept.
    Unbegun,
    /// It was answered.
    Answered(Answer),
}

/// An answer that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) usage: HandoffUsage,
    /// The turn whose words it answers, if that has a name.
    pub(super) words: Option<ChatTurnId>,
}

impl Asked {
    pub(super) fn new(turn: ChatTurnId, request: &ChatRequest) -> Self {
        let messages = serde_json::to_vec(&request.messages).unwrap_or_default();
        Self { turn, request: hex::encode(Sha256::digest(&messages)) }
    }

    /// Leaves it with what is kept.
    pub(super) fn note(&self, metadata: &mut Value) {
        if let Value::Object(fields) = metadata {
            let asked = json!({ "turn": self.turn, "request": self.request });
            fields.insert(ASKED.to_owned(), asked);
        }
    }

    /// What became of the same request in the thread; nothing if it was not made lately. Refused if it
    /// may have been begun and there is no answer to it.
    pub(super) fn earlier(
        &self,
        (thread, before): (ThreadId, &[ThreadMessage]),
        turns: &[ChatRecord],
        now: DateTime<Utc>,
    ) -> Result<Option<Earlier>, ChatError> {
        let is_of = |message: &&ThreadMessage| {
            message.metadata[ASKED]["request"].as_str() == Some(&self.request)
                && now - message.created_at < REPEATED_WITHIN
        };
        let mut same = before.iter().filter(is_of).rev();
        let Some(last) = same.next() else { return Ok(None) };
        if last.role == "assistant" && !last.is_partial {
            let is_missed = now - last.created_at < MISSED_WITHIN;
            let words = same.find(|message| message.role != "assistant");
            let answer = || Earlier::Answered(answer(last, words.and_then(|words| words.turn)));
            return Ok(is_missed.then(answer));
        }
        let is_words = |message: &ThreadMessage| message.role != "assistant";
        let words = if is_words(last) { Some(last) } else { same.find(|it| is_words(it)) };
        let words = words.unwrap_or(last);
        let first = words.metadata[ASKED]["turn"].as_str().and_then(|id| id.parse().ok());
        let is_attempt = |turn: &&ChatRecord| {
            turn.thread == Some(thread)
                && turn.model == MANAGER_MODEL
                && first.is_none_or(|first: ChatTurnId| turn.id >= first)
        };
        let mut attempts = turns.iter().filter(is_attempt).peekable();
        // Without a record it is still going on, or whoever should have written one is gone.
        let is_known = attempts.peek().is_some();
        if is_known && attempts.all(is_unbegun) {
            Ok(Some(Earlier::Unbegun))
        } else {
            Err(ChatError::Repeated)
        }
    }
}

fn is_unbegun(turn: &ChatRecord) -> bool {
    turn.error_code.as_deref().is_some_and(|code| UNBEGUN.contains(&code))
}

fn answer(kept: &ThreadMessage, words: Option<ChatTurnId>) -> Answer {
    let tokens = |which: &str| kept.metadata["usage"][which].as_u64().unwrap_or_default();
    let usage = HandoffUsage {
        prompt_tokens: tokens("prompt_tokens"),
        completion_tokens: tokens("completion_tokens"),
    };
    Answer { text: kept.content.clone(), usage, words }
}
