//! Linked turns, for clients of the OpenAI Responses API.
//!
//! A turn with a [`Link`] stores its id, and the id of its predecessor, in every message it
//! persists. [`Chat::read_conversation`] follows these links backwards and reads nothing else of a thread, so
//! two conversations of one user in one project do not mix.

use cynode_domain::ids::{ChatTurnId, ProjectId};
use cynode_llm_wire::openai::{
    AssistantMessage, ChatCompletion, ChatMessage, Choice, Content, ToolCall, Usage,
};
use cynode_store::{ChatRecord, ThreadMessage, Tx};
use serde_json::{Value, json};
use uuid::Uuid;

use super::validate::{MAX_MESSAGES, MAX_TEXT_BYTES};
use super::{Chat, ChatCall, ChatError};
use cynode_resources::projects;

/// Maximum length of a replayed conversation.
const MAX_TURNS: usize = 500;
/// Maximum messages of a turn: the request and the answer.
const MAX_TURN_MESSAGES: u32 = MAX_MESSAGES + 1;
/// Metadata keys: the predecessor turn, and the turn that is retried.
const FOLLOWS_KEY: &str = "follows";
const REPEATS_KEY: &str = "repeats";

/// The id of a turn and its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Referenced by later turns.
    pub id: ChatTurnId,
    /// The predecessor.
    pub follows: Option<ChatTurnId>,
}

impl Link {
    /// Creates a turn with this predecessor, or a first turn.
    pub fn after(follows: Option<ChatTurnId>) -> Self {
        Self { id: ChatTurnId::generate(), follows }
    }

    /// Stores the link in a message of the turn.
    pub(super) fn link_message(self, message: &mut ThreadMessage) {
        message.turn = Some(self.id);
        self.store_in_metadata(None, &mut message.metadata);
    }

    /// Stores the links to other turns in message metadata.
    pub(super) fn store_in_metadata(self, repeats: Option<ChatTurnId>, metadata: &mut Value) {
        let Value::Object(fields) = metadata else { return };
        for (key, turn) in [(FOLLOWS_KEY, self.follows), (REPEATS_KEY, repeats)] {
            fields.extend(turn.map(|turn| (key.to_owned(), json!(turn))));
        }
    }

    /// Returns the turn whose messages are the last `count` of a thread, if they are all of its
    /// messages and it has the same predecessor as this one.
    pub(super) fn find_retried_turn(
        self,
        thread: &[ThreadMessage],
        count: usize,
    ) -> Option<ChatTurnId> {
        let first = thread.last()?.turn?;
        let is_of_first = |message: &ThreadMessage| {
            message.turn == Some(first) && linked_turn(message, FOLLOWS_KEY) == self.follows
        };
        let last = &thread[thread.len().checked_sub(count)?..];
        let is_all = thread.iter().filter(|message| message.turn == Some(first)).count() == count;
        (is_all && last.iter().all(is_of_first)).then_some(first)
    }
}

/// A persisted turn.
#[derive(Debug, Clone, PartialEq)]
pub struct PastTurn {
    /// The request, followed by the answer.
    pub messages: Vec<ChatMessage>,
    /// The answer as a response body with an empty id.
    pub answer: ChatCompletion,
    /// The turn before it.
    pub follows: Option<ChatTurnId>,
}

impl Chat {
    /// Returns a turn of the caller in the project of the call; `None` if there is none.
    pub async fn load_past_turn(
        &self,
        call: &ChatCall,
        turn: ChatTurnId,
    ) -> Result<Option<PastTurn>, ChatError> {
        let _room = self.acquire_permit()?;
        let call = call.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = resolve_project(tx, &call).await?;
                    read_past_turn(tx, &call, project, turn).await
                })
            })
            .await
    }

    /// Returns the messages up to a turn, oldest first, following the links; `None` if there is no
    /// such turn. Fails if they exceed the request limits.
    pub async fn recall(
        &self,
        call: &ChatCall,
        turn: ChatTurnId,
    ) -> Result<Option<Vec<ChatMessage>>, ChatError> {
        let _room = self.acquire_permit()?;
        let call = call.clone();
        self.store
            .read(move |tx| Box::pin(async move { read_conversation(tx, &call, turn).await }))
            .await
    }
}

async fn read_conversation(
    tx: &mut Tx,
    call: &ChatCall,
    turn: ChatTurnId,
) -> Result<Option<Vec<ChatMessage>>, ChatError> {
    let project = resolve_project(tx, call).await?;
    let (mut next, mut turns) = (Some(turn), vec![]);
    let (mut count, mut bytes) = (0, 0);
    while let Some(id) = next {
        let Some(found) = read_past_turn(tx, call, project, id).await? else { break };
        next = found.follows;
        count += found.messages.len();
        bytes += found.messages.iter().map(message_bytes).sum::<usize>();
        // Each turn is created after its predecessor, so the chain is finite; ids do not give the
        // order, because the clocks of their creators may differ.
        let is_long = turns.len() >= MAX_TURNS || count > MAX_MESSAGES as usize;
        if is_long || bytes > MAX_TEXT_BYTES {
            return Err(conversation_too_long());
        }
        turns.push(found.messages);
    }
    Ok((!turns.is_empty()).then(|| turns.into_iter().rev().flatten().collect()))
}

fn conversation_too_long() -> ChatError {
    let message = format!(
        "the conversation exceeds {MAX_TURNS} turns, {MAX_MESSAGES} messages or {MAX_TEXT_BYTES} \
         bytes: start a new one"
    );
    ChatError::invalid("previous_response_id", message)
}

fn message_bytes(message: &ChatMessage) -> usize {
    let functions = message.tool_calls.iter().filter_map(|call| call.function.as_ref());
    let called = functions.map(|function| function.name.len() + function.arguments.len());
    message.plain_text().len() + called.sum::<usize>()
}

/// Resolves the project of a call; `None` if the caller has no project yet.
async fn resolve_project(tx: &mut Tx, call: &ChatCall) -> Result<Option<ProjectId>, ChatError> {
    Ok(match &call.project {
        Some(name_or_id) => Some(projects::find(tx, &call.caller, &name_or_id.into()).await?.id),
        None => tx.project_default(call.caller.user).await?.map(|project| project.id),
    })
}

/// Loads a turn, if it belongs to the caller and this project, and its answer is complete.
async fn read_past_turn(
    tx: &mut Tx,
    call: &ChatCall,
    project: Option<ProjectId>,
    id: ChatTurnId,
) -> Result<Option<PastTurn>, ChatError> {
    let record = read_turn_record(tx, call, id).await?.filter(|record| record.project == project);
    let Some((record, thread)) = record.and_then(|record| record.thread.map(|at| (record, at)))
    else {
        return Ok(None);
    };
    let mut messages = tx.thread_turn_messages(thread, id, MAX_TURN_MESSAGES).await?;
    let is_answer = |message: &ThreadMessage| message.role == "assistant" && !message.is_partial;
    let Some(at) = messages.iter().position(is_answer) else { return Ok(None) };
    let answer = messages.swap_remove(at);
    messages.truncate(at);
    if let Some(first) = linked_turn(&answer, REPEATS_KEY) {
        // A retry has the messages that its first attempt persisted.
        messages = tx.thread_turn_messages(thread, first, MAX_TURN_MESSAGES).await?;
        messages.retain(|message| message.role != "assistant");
    }
    Ok(Some(assemble_past_turn(&messages, &answer, &record)))
}

/// Loads the record of one of the caller's turns.
async fn read_turn_record(
    tx: &mut Tx,
    call: &ChatCall,
    id: ChatTurnId,
) -> Result<Option<ChatRecord>, ChatError> {
    // Pages end before an id, so the page before the next id starts with this one.
    let next = ChatTurnId::from(Uuid::from_u128(id.as_uuid().as_u128().saturating_add(1)));
    let newest = tx.chat_record_list(call.caller.user, Some(next), 1).await?;
    Ok(newest.into_iter().find(|record| record.id == id))
}

/// Assembles a turn from its rows.
fn assemble_past_turn(
    messages: &[ThreadMessage],
    answer: &ThreadMessage,
    record: &ChatRecord,
) -> PastTurn {
    let spoken = to_assistant_message(answer);
    let messages = messages.iter().map(to_request_message).chain([spoken.clone()]).collect();
    let follows = linked_turn(answer, FOLLOWS_KEY);
    PastTurn { messages, answer: to_completion(spoken, answer, record), follows }
}

/// Returns the turn that a message links to.
fn linked_turn(message: &ThreadMessage, key: &str) -> Option<ChatTurnId> {
    message.metadata[key].as_str()?.parse().ok()
}

fn to_request_message(message: &ThreadMessage) -> ChatMessage {
    match message.metadata["tool_call_id"].as_str() {
        Some(call) => ChatMessage::tool_result(call, &message.content),
        None => ChatMessage::text(&message.role, &message.content),
    }
}

fn to_assistant_message(message: &ThreadMessage) -> ChatMessage {
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

fn to_completion(spoken: ChatMessage, kept: &ThreadMessage, record: &ChatRecord) -> ChatCompletion {
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
