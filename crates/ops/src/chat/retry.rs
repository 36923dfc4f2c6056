//! Retried requests to the project manager.
//!
//! The project manager has side effects, so a request that may have been started is not handed off
//! again: the persisted answer is returned, or the retry is rejected. The same text in a request
//! that is not marked as a retry is a new request.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::{ChatTurnId, ThreadId};
use cynode_llm_wire::openai::ChatRequest;
use cynode_store::{ChatRecord, ThreadMessage};
use cynode_wire::handoff::HandoffUsage;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{ChatError, MANAGER_MODEL};

/// Metadata key of the request that a message belongs to.
const REQUEST_KEY: &str = "asked";
/// Window in which a request counts as a retry.
const RETRY_WINDOW: TimeDelta = TimeDelta::minutes(10);
/// Window after an answer in which a retry means that the client missed the answer.
const MISSED_ANSWER_WINDOW: TimeDelta = TimeDelta::minutes(1);
/// How many of the user's newest turns are searched.
pub(super) const RECENT_TURNS: u32 = 50;
/// Error codes of turns that were certainly not started.
const NOT_STARTED_CODES: [&str; 4] =
    ["model_unavailable", "storage_unavailable", "invalid_request", "project_not_found"];

/// Identifies a request, to find its messages again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestFingerprint {
    pub(super) turn: ChatTurnId,
    /// SHA-256 of all sent messages, in hex.
    request: String,
}

/// The state of an earlier attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EarlierAttempt {
    /// Not started; its messages are persisted.
    NotStarted,
    Answered(StoredAnswer),
}

/// A persisted answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredAnswer {
    pub(super) text: String,
    pub(super) usage: HandoffUsage,
    /// The turn whose messages it answers, if that turn is linked.
    pub(super) words: Option<ChatTurnId>,
}

impl RequestFingerprint {
    pub(super) fn new(turn: ChatTurnId, request: &ChatRequest) -> Self {
        let messages = serde_json::to_vec(&request.messages).unwrap_or_default();
        Self { turn, request: hex::encode(Sha256::digest(&messages)) }
    }

    /// Stores the identity in message metadata.
    pub(super) fn store_in_metadata(&self, metadata: &mut Value) {
        if let Value::Object(fields) = metadata {
            let request = json!({ "turn": self.turn, "request": self.request });
            fields.insert(REQUEST_KEY.to_owned(), request);
        }
    }

    /// Returns the state of the same request in the thread; `None` if there was none recently.
    /// Fails if it may have been started and has no answer.
    pub(super) fn find_earlier_attempt(
        &self,
        thread: ThreadId,
        before: &[ThreadMessage],
        turns: &[ChatRecord],
        now: DateTime<Utc>,
    ) -> Result<Option<EarlierAttempt>, ChatError> {
        let is_of = |message: &&ThreadMessage| {
            message.metadata[REQUEST_KEY]["request"].as_str() == Some(&self.request)
                && now - message.created_at < RETRY_WINDOW
        };
        let mut same = before.iter().filter(is_of).rev();
        let Some(last) = same.next() else { return Ok(None) };
        if last.role == "assistant" && !last.is_partial {
            let is_missed = now - last.created_at < MISSED_ANSWER_WINDOW;
            let words = same.find(|message| message.role != "assistant");
            let answer = || {
                EarlierAttempt::Answered(stored_answer(last, words.and_then(|words| words.turn)))
            };
            return Ok(is_missed.then(answer));
        }
        let is_words = |message: &ThreadMessage| message.role != "assistant";
        let words = if is_words(last) { Some(last) } else { same.find(|it| is_words(it)) };
        let words = words.unwrap_or(last);
        let first = words.metadata[REQUEST_KEY]["turn"].as_str().and_then(|id| id.parse().ok());
        let is_attempt = |turn: &&ChatRecord| {
            turn.thread == Some(thread)
                && turn.model == MANAGER_MODEL
                && first.is_none_or(|first: ChatTurnId| turn.id >= first)
        };
        let mut attempts = turns.iter().filter(is_attempt).peekable();
        // Without a record, the attempt is still running, or its process died.
        let is_known = attempts.peek().is_some();
        if is_known && attempts.all(is_not_started) {
            Ok(Some(EarlierAttempt::NotStarted))
        } else {
            Err(ChatError::AlreadyHandedOff)
        }
    }
}

fn is_not_started(turn: &ChatRecord) -> bool {
    turn.error_code.as_deref().is_some_and(|code| NOT_STARTED_CODES.contains(&code))
}

fn stored_answer(kept: &ThreadMessage, words: Option<ChatTurnId>) -> StoredAnswer {
    let tokens = |which: &str| kept.metadata["usage"][which].as_u64().unwrap_or_default();
    let usage = HandoffUsage {
        prompt_tokens: tokens("prompt_tokens"),
        completion_tokens: tokens("completion_tokens"),
    };
    StoredAnswer { text: kept.content.clone(), usage, words }
}
