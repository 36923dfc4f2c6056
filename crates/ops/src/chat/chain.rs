//! Turns that go on from each other by name, as clients of OpenAI's responses API ask for it.
//!
//! A turn with a [`Link`] leaves its name, and the name of the turn before it, with every message it
//! keeps. [`Chat::recall`] follows these names backwards; nothing else of a thread is read or told, so
//! two conversations of one user in one project do not mix.

use cynode_domain::ids::{ChatTurnId, ProjectId};
use cynode_store::{ChatRecord, ChatRecordStore, ProjectStore, ThreadMessage, ThreadStore, Tx};
use cynode_wire::openai::{
    AssistantMessage, ChatCompletion, ChatMessage, Choice, Content, ToolCall, Usage,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::check::{MAX_MESSAGES, MAX_TEXT_BYTES};
use super::{Chat, ChatCall, ChatError};
use crate::projects;

/// The most turns that are told again: more than any conversation has that still makes sense.
const MAX_TURNS: usize = 500;
/// The most that a turn has: what it asked, and the answer.
const MAX_OF_TURN: u32 = MAX_MESSAGES + 1;
/// Where messages keep the name of the turn before theirs, and of the one that theirs repeats.
const FOLLOWS: &str = "follows";
const REPEATS: &str = "repeats";

/// The name of a turn, and what it goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// What later turns name it by.
    pub id: ChatTurnId,
    /// The turn before it.
    pub follows: Option<ChatTurnId>,
}

impl Link {
    /// A new turn after this one, or the first.
    pub fn after(follows: Option<ChatTurnId>) -> Self {
        Self { id: ChatTurnId::generate(), follows }
    }

    /// Leaves the names with something that the turn says.
    pub(super) fn mark(self, message: &mut ThreadMessage) {
        message.turn = Some(self.id);
        self.note(None, &mut message.metadata);
    }

    /// Leaves the names of other turns with what is kept.
    pub(super) fn note(self, repeats: Option<ChatTurnId>, metadata: &mut Value) {
        let Value::Object(fields) = metadata else { return };
        for (key, turn) in [(FOLLOWS, self.follows), (REPEATS, repeats)] {
            fields.extend(turn.map(|turn| (key.to_owned(), json!(turn))));
        }
    }

    /// The turn whose words are the last `count` of a thread, if they are all of its words and it
    /// went on from the same turn as this one.
    pub(super) fn repeated(self, thread: &[ThreadMessage], count: usize) -> Option<ChatTurnId> {
        let first = thread.last()?.turn?;
        let is_of_first = |message: &ThreadMessage| {
            message.turn == Some(first) && name_in(message, FOLLOWS) == self.follows
        };
        let last = &thread[thread.len().checked_sub(count)?..];
        let is_all = thread.iter().filter(|message| message.turn == Some(first)).count() == count;
        (is_all && last.iter().all(is_of_first)).then_some(first)
    }
}

/// A turn as it is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct PastTurn {
    /// What was asked, and the answer at the end.
    pub messages: Vec<ChatMessage>,
    /// The answer as a body of its own; its id is empty.
    pub answer: ChatCompletion,
    /// The turn before it.
    pub follows: Option<ChatTurnId>,
}

impl Chat {
    /// A turn of the caller's own in the project of the call; nothing if there is no such turn.
    pub async fn past_turn(
        &self,
        call: &ChatCall,
        turn: ChatTurnId,
    ) -> Result<Option<PastTurn>, ChatError> {
        let _room = self.room()?;
        let call = call.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = project_of(tx, &call).await?;
                    past_turn(tx, &call, project, turn).await
                })
            })
            .await
    }

    /// What was said up to a turn, oldest first: the turn, the one that it followed, and so on;
    /// nothing if there is no such turn. Refused if it is more than a request may say.
    pub async fn recall(
        &self,
        call: &ChatCall,
        turn: ChatTurnId,
    ) -> Result<Option<Vec<ChatMessage>>, ChatError> {
        let _room = self.room()?;
        let call = call.clone();
        self.store.read(move |tx| Box::pin(async move { recall(tx, &call, turn).await })).await
    }
}

async fn recall(
    tx: &mut Tx,
    call: &ChatCall,
    turn: ChatTurnId,
) -> Result<Option<Vec<ChatMessage>>, ChatError> {
    let project = project_of(tx, call).await?;
    let (mut next, mut turns) = (Some(turn), vec![]);
    let (mut count, mut bytes) = (0, 0);
    while let Some(id) = next {
        let Some(found) = past_turn(tx, call, project, id).await? else { break };
        next = found.follows;
        count += found.messages.len();
        bytes += found.messages.iter().map(bytes_of).sum::<usize>();
        // A turn is made after the one that it follows, so the way ends by itself; ids do not tell the
        // order, because the clocks of those who made them may differ.
        let is_long = turns.len() >= MAX_TURNS || count > MAX_MESSAGES as usize;
        if is_long || bytes > MAX_TEXT_BYTES {
            return Err(too_much());
        }
        turns.push(found.messages);
    }
    Ok((!turns.is_empty()).then(|| turns.into_iter().rev().flatten().collect()))
}

fn too_much() -> ChatError {
    let message = format!(
        "what was said up to this response is more than {MAX_TURNS} turns, {MAX_MESSAGES} messages \
         or {MAX_TEXT_BYTES} bytes: begin anew"
    );
    ChatError::invalid("previous_response_id", message)
}

fn bytes_of(message: &ChatMessage) -> usize {
    let functions = message.tool_calls.iter().filter_map(|call| call.function.as_ref());
    let called = functions.map(|function| function.name.len() + function.arguments.len());
    message.plain_text().len() + called.sum::<usize>()
}

/// Where a call takes place; nothing if the caller has no project yet.
async fn project_of(tx: &mut Tx, call: &ChatCall) -> Result<Option<ProjectId>, ChatError> {
    Ok(match &call.project {
        Some(wanted) => Some(projects::find(tx, &call.caller, wanted).await?.id),
        None => tx.project_default_of(call.caller.user).await?.map(|project| project.id),
    })
}

/// A turn, if it is the caller's own, in this project, and its answer is whole.
async fn past_turn(
    tx: &mut Tx,
    call: &ChatCall,
    project: Option<ProjectId>,
    id: ChatTurnId,
) -> Result<Option<PastTurn>, ChatError> {
    let record = record_of(tx, call, id).await?.filter(|record| record.project == project);
    let Some((record, thread)) = record.and_then(|record| record.thread.map(|at| (record, at)))
    else {
        return Ok(None);
    };
    let mut asked = tx.thread_turn(thread, id, MAX_OF_TURN).await?;
    let is_answer = |message: &ThreadMessage| message.role == "assistant" && !message.is_partial;
    let Some(at) = asked.iter().position(is_answer) else { return Ok(None) };
    let answer = asked.swap_remove(at);
    asked.truncate(at);
    if let Some(first) = name_in(&answer, REPEATS) {
        // A repeated request says again what its first attempt kept.
        asked = tx.thread_turn(thread, first, MAX_OF_TURN).await?;
        asked.retain(|message| message.role != "assistant");
    }
    Ok(Some(read(&asked, &answer, &record)))
}

/// The record of one of the caller's own turns.
async fn record_of(
    tx: &mut Tx,
    call: &ChatCall,
    id: ChatTurnId,
) -> Result<Option<ChatRecord>, ChatError> {
    // Pages end before an id: the one after this id begins with it.
    let next = ChatTurnId::from(Uuid::from_u128(id.as_uuid().as_u128().saturating_add(1)));
    let newest = tx.chat_record_list(call.caller.user, Some(next), 1).await?;
    Ok(newest.into_iter().find(|record| record.id == id))
}

/// A turn out of what is kept of it.
fn read(asked: &[ThreadMessage], answer: &ThreadMessage, record: &ChatRecord) -> PastTurn {
    let spoken = assistant(answer);
    let messages = asked.iter().map(as_said).chain([spoken.clone()]).collect();
    let follows = name_in(answer, FOLLOWS);
    PastTurn { messages, answer: completion(spoken, answer, record), follows }
}

/// The turn that a message names.
fn name_in(message: &ThreadMessage, key: &str) -> Option<ChatTurnId> {
    message.metadata[key].as_str()?.parse().ok()
}

fn as_said(message: &ThreadMessage) -> ChatMessage {
    match message.metadata["tool_call_id"].as_str() {
        Some(call) => ChatMessage::tool_result(call, &message.content),
        None => ChatMessage::text(&message.role, &message.content),
    }
}

fn assistant(message: &ThreadMessage) -> ChatMessage {
    let calls = message.metadata["tool_calls"].as_array().into_iter().flatten();
    let text = |call: &Value, field: &str| call[field].as_str().unwrap_or_default().to_owned();
    ChatMessage {
        role: "assistant".to_owned(),
        content: (!message.content.is_empty()).then(|| Content::Text(message.content.clone())),
        tool_calls: calls
            .map(|c| ToolCall::function(&text(c, "id"), &text(c, "name"), text(c, "arguments")))
            .collect(),
        ..ChatMessage::default()
    }
}

fn completion(spoken: ChatMessage, kept: &ThreadMessage, record: &ChatRecord) -> ChatCompletion {
    let message = AssistantMessage {
        content: spoken.content.as_ref().map(Content::plain_text),
        tool_calls: spoken.tool_calls,
        ..AssistantMessage::default()
    };
    let finish_reason = kept.metadata["finish_reason"].as_str().map(ToOwned::to_owned);
    let usage = &kept.metadata["usage"];
    let tokens = |which: &str| usage[which].as_u64();
    ChatCompletion {
        object: "chat.completion".to_owned(),
        created: record.created_at.timestamp(),
        model: record.model.clone(),
        choices: vec![Choice { message, finish_reason, ..Choice::default() }],
        usage: tokens("prompt_tokens")
            .zip(tokens("completion_tokens"))
            .map(|(prompt, completion)| Usage::new(prompt, completion)),
        ..ChatCompletion::default()
    }
}
