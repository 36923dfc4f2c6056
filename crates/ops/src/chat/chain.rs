//! Turns that go on from each other by name, as clients of OpenAI's responses API ask for it.
//!
//! A turn with a [`Link`] leaves its name, and the name of the turn before it, with every message it
//! keeps. [`Chat::recall`] follows these names backwards; nothing else of a thread is told, so two
//! conversations of one user in one project do not mix.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cynode_domain::ids::{ChatTurnId, ProjectId, ThreadId};
use cynode_store::{ChatRecord, ChatRecordStore, ProjectStore, ThreadMessage, ThreadStore, Tx};
use cynode_wire::openai::{
    AssistantMessage, ChatCompletion, ChatMessage, Choice, Content, ToolCall, Usage,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Chat, ChatCall, ChatError};
use crate::projects;

/// The most turns that are told again.
const MAX_TURNS: usize = 100;
/// How far back in a thread a turn is looked for.
const MAX_MESSAGES: u32 = 1_000;
/// Where messages keep the name of their turn, and of the turn before it.
const TURN: &str = "turn";
const FOLLOWS: &str = "follows";

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

    /// Leaves the names with what is kept of the turn.
    pub(super) fn mark(self, metadata: &mut Value) {
        if let Value::Object(fields) = metadata {
            fields.insert(TURN.to_owned(), json!(self.id));
            if let Some(follows) = self.follows {
                fields.insert(FOLLOWS.to_owned(), json!(follows));
            }
        }
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
        let call = call.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let mut past = Past::of(tx, &call).await?;
                    past.turn(tx, &call, turn).await
                })
            })
            .await
    }

    /// What was said up to a turn, oldest first: the turn, the one that it followed, and so on;
    /// nothing if there is no such turn.
    pub async fn recall(
        &self,
        call: &ChatCall,
        turn: ChatTurnId,
    ) -> Result<Option<Vec<ChatMessage>>, ChatError> {
        let call = call.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let mut past = Past::of(tx, &call).await?;
                    let Some(newest) = past.turn(tx, &call, turn).await? else { return Ok(None) };
                    let (mut next, mut turns) = (newest.follows, vec![newest.messages]);
                    // Names only point backwards, and so the way always ends.
                    while let Some(id) = next.filter(|_| turns.len() < MAX_TURNS) {
                        let Some(found) = past.turn(tx, &call, id).await? else { break };
                        next = found.follows.filter(|follows| *follows < id);
                        turns.push(found.messages);
                    }
                    Ok(Some(turns.into_iter().rev().flatten().collect()))
                })
            })
            .await
    }
}

/// The threads that were read on the way back.
struct Past {
    project: Option<ProjectId>,
    threads: BTreeMap<ThreadId, Vec<ThreadMessage>>,
}

impl Past {
    async fn of(tx: &mut Tx, call: &ChatCall) -> Result<Self, ChatError> {
        let project = match &call.project {
            Some(wanted) => Some(projects::find(tx, &call.caller, wanted).await?.id),
            None => tx.project_default_of(call.caller.user).await?.map(|project| project.id),
        };
        Ok(Self { project, threads: BTreeMap::new() })
    }

    /// A turn, if it is the caller's own, in this project, and its answer is whole.
    async fn turn(
        &mut self,
        tx: &mut Tx,
        call: &ChatCall,
        id: ChatTurnId,
    ) -> Result<Option<PastTurn>, ChatError> {
        let record = record_of(tx, call, id).await?;
        let record = record.filter(|record| record.project == self.project);
        let Some((record, thread)) =
            record.and_then(|record| Some((record.clone(), record.thread?)))
        else {
            return Ok(None);
        };
        let messages = match self.threads.entry(thread) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(tx.thread_tail(thread, MAX_MESSAGES).await?),
        };
        Ok(read(messages, &record))
    }
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

/// A turn out of its thread.
fn read(thread: &[ThreadMessage], record: &ChatRecord) -> Option<PastTurn> {
    let name = record.id.to_string();
    let is_of_turn = |message: &ThreadMessage| message.metadata[TURN] == name.as_str();
    let at = thread.iter().position(|message| {
        message.role == "assistant" && !message.is_partial && is_of_turn(message)
    })?;
    let (answer, before) = (&thread[at], &thread[..at]);
    let mut asked: Vec<&ThreadMessage> = before.iter().filter(|m| is_of_turn(m)).collect();
    if asked.is_empty() {
        // A repeated request says again what its first attempt kept, which stands right before.
        let said = before.iter().rposition(|message| message.role == "assistant");
        asked = before[said.map_or(0, |said| said + 1)..].iter().collect();
    }
    let spoken = assistant(answer);
    let messages = asked.into_iter().map(as_said).chain([spoken.clone()]).collect();
    let follows = answer.metadata[FOLLOWS].as_str().and_then(|name| name.parse().ok());
    Some(PastTurn { messages, answer: completion(spoken, answer, record), follows })
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
