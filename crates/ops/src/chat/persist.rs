//! Persists a turn: the user's messages before dispatch, the answer and the record at the end.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use cynode_domain::ids::{ChatMessageId, ProjectId, ThreadId};
use cynode_llm_wire::openai::{ChatMessage, ChatRequest, Content};
use cynode_store::{
    AppendRows, ChatRecord, DefaultProjectContext, Entry, Thread, ThreadMessage, Tx,
};
use serde_json::{Map, Value, json};
use tracing::info;

use super::answer_buffer::{AnswerBuffer, clean_for_storage};
use super::context_window::MAX_MESSAGES;
use super::retry::{EarlierAttempt, RECENT_TURNS};
use super::turn::{ChatTurn, TurnScope};
use super::{Chat, ChatCall, ChatError};
use cynode_models::egress::ModelRouting;
use cynode_resources::preferences;
use cynode_resources::projects;

/// Idle time after which the next message starts a new thread.
const THREAD_IDLE_TIMEOUT: TimeDelta = TimeDelta::hours(2);

/// Context of a turn, loaded before anything is persisted.
pub(super) struct TurnContext {
    pub(super) project: ProjectId,
    routing: ModelRouting,
    latest: Option<Thread>,
    before: Vec<ThreadMessage>,
    /// The user's newest turns, to detect retries.
    turns: Vec<ChatRecord>,
    /// The policy revision at that time, if it was read.
    revision: Option<i64>,
}

impl Chat {
    /// Loads the context of a turn. Creates the default project when first needed.
    pub(super) async fn load_turn_context(
        &self,
        turn: &ChatTurn,
    ) -> Result<TurnContext, ChatError> {
        if let Some(found) = self.read_turn_context(turn).await? {
            return Ok(found);
        }
        let (user, now) = (turn.call.caller.user, self.clock.now());
        self.store
            .write(move |tx| Box::pin(projects::load_or_create_default_project(tx, user, now)))
            .await?;
        let gone = || ChatError::UnknownProject("default".to_owned());
        self.read_turn_context(turn).await?.ok_or_else(gone)
    }

    /// Like `load_turn_context`; `None` if the call needs a default project that does not exist yet.
    async fn read_turn_context(&self, turn: &ChatTurn) -> Result<Option<TurnContext>, ChatError> {
        let (call, now) = (turn.call.clone(), self.clock.now());
        // Models get only what the client sends.
        let needs_past = turn.is_for_manager() || call.is_repeat;
        let needs_turns = turn.is_for_manager() && call.is_repeat;
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let Some(found) = locate_turn(tx, &call).await? else { return Ok(None) };
                    let TurnLocation { project, latest, has_preferences, revision } = found;
                    let preferences = if has_preferences {
                        preferences::effective_for_project(tx, call.caller.user, project).await?
                    } else {
                        BTreeMap::new()
                    };
                    let live = latest
                        .as_ref()
                        .filter(|thread| now - thread.updated_at < THREAD_IDLE_TIMEOUT);
                    let before = match live {
                        Some(thread) if needs_past => {
                            tx.thread_message_tail(thread.id, MAX_MESSAGES).await?
                        }
                        Some(_) | None => vec![],
                    };
                    let turns = if needs_turns {
                        tx.chat_record_list(call.caller.user, None, RECENT_TURNS).await?
                    } else {
                        vec![]
                    };
                    let routing = ModelRouting::from_preferences(None, &preferences);
                    Ok(Some(TurnContext { project, routing, latest, before, turns, revision }))
                })
            })
            .await
    }

    /// Persists the user's messages in the current thread or a new one.
    pub(super) async fn persist_user_messages(
        &self,
        turn: &mut ChatTurn,
        around: TurnContext,
        request: &ChatRequest,
    ) -> Result<TurnScope, ChatError> {
        let now = self.clock.now();
        let user = turn.call.caller.user;
        let TurnContext { project, routing, latest, before, turns, revision } = around;
        let (live, last) = match latest {
            Some(thread) if now - thread.updated_at < THREAD_IDLE_TIMEOUT => {
                (Some(thread.id), thread.number)
            }
            Some(thread) => (None, thread.number),
            None => (None, 0),
        };
        let fresh = Thread {
            id: ThreadId::generate(),
            user,
            project,
            number: last + 1,
            title: None,
            created_at: now,
            updated_at: now,
        };
        let mut messages: Vec<ThreadMessage> = new_messages(&request.messages)
            .map(|message| to_stored_message(message, fresh.id, now))
            .collect();
        for message in &mut messages {
            if let Some(link) = turn.call.link {
                link.link_message(message);
            }
            if let Some(fingerprint) = &turn.fingerprint {
                fingerprint.store_in_metadata(&mut message.metadata);
            }
        }
        let earlier = match (&turn.fingerprint, live) {
            (Some(fingerprint), Some(thread)) if turn.call.is_repeat => {
                fingerprint.find_earlier_attempt(thread, &before, &turns, now)?
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        let answered = match earlier {
            Some(EarlierAttempt::Answered(answer)) => Some(answer),
            Some(EarlierAttempt::NotStarted) | None => None,
        };
        if let Some(answer) = &answered {
            turn.repeats = answer.words.filter(|_| turn.call.link.is_some());
            messages.clear();
        } else if turn.call.is_repeat && ends_with(&before, &messages) {
            turn.repeats =
                turn.call.link.and_then(|link| link.find_retried_turn(&before, messages.len()));
            // A linked retry that cannot identify the original turn persists the messages itself.
            if turn.call.link.is_none() || turn.repeats.is_some() {
                messages.clear();
            }
        }
        let thread = match live {
            Some(thread) => {
                let rows = messages
                    .into_iter()
                    .map(|messages| Entry::ThreadMessage(ThreadMessage { thread, ..messages }));
                self.store.batch(AppendRows(rows.collect())).await?;
                thread
            }
            None => self.persist_in_new_thread(fresh, messages).await?,
        };
        let (history, earlier_answer) = (before, answered);
        Ok(TurnScope { project, thread, routing, history, earlier_answer, revision })
    }

    /// Persists messages in this new thread, or in the one that a concurrent request has created.
    async fn persist_in_new_thread(
        &self,
        fresh: Thread,
        mut messages: Vec<ThreadMessage>,
    ) -> Result<ThreadId, ChatError> {
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let thread = create_or_join_thread(tx, fresh).await?;
                    for message in &mut messages {
                        message.thread = thread;
                        tx.thread_message_insert(message).await?;
                    }
                    Ok(thread)
                })
            })
            .await
    }

    /// Persists the answer, complete or partial, and the turn record.
    pub(super) async fn persist_outcome(
        &self,
        turn: &ChatTurn,
        messages: &AnswerBuffer,
        failure: Option<&ChatError>,
    ) -> Result<(), ChatError> {
        let record = turn_record(turn, failure);
        let path = if turn.is_for_manager() { "project manager" } else { "model" };
        info!(
            chat.model = turn.model,
            chat.path = path,
            chat.outcome = record.outcome,
            chat.duration_ms = record.duration_ms,
            "chat turn ended"
        );
        let has_answer = !messages.is_empty() && !turn.is_answer_persisted;
        let answer = turn.thread.filter(|_| has_answer).map(|thread| ThreadMessage {
            id: ChatMessageId::generate(),
            thread,
            role: "assistant".to_owned(),
            content: messages.stored_text(),
            is_partial: failure.is_some(),
            metadata: messages.stored_metadata(turn),
            turn: turn.call.link.map(|link| link.id),
            created_at: self.clock.now(),
        });
        let mut entries = turn.call_records.take();
        entries.extend(answer.map(Entry::ThreadMessage));
        entries.push(Entry::ChatRecord(record));
        Ok(self.store.batch(AppendRows(entries)).await?)
    }
}

/// Builds the turn record: outcome and figures, never content.
fn turn_record(turn: &ChatTurn, failure: Option<&ChatError>) -> ChatRecord {
    let elapsed = turn.started.elapsed().as_millis();
    ChatRecord {
        id: turn.id,
        created_at: turn.began_at,
        user: turn.call.caller.user,
        project: turn.project,
        thread: turn.thread,
        model: clean_for_storage(&turn.model).chars().take(200).collect(),
        outcome: failure.map_or("success", ChatError::outcome).to_owned(),
        error_code: failure.map(|failure| failure.code().to_owned()),
        redaction_kinds: turn.redaction_kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
        duration_ms: i64::try_from(elapsed).unwrap_or(i64::MAX),
        request_id: turn.call.trace_id.clone(),
    }
}

/// Project and thread of a call.
struct TurnLocation {
    project: ProjectId,
    latest: Option<Thread>,
    /// False if there are certainly no preferences.
    has_preferences: bool,
    revision: Option<i64>,
}

/// Resolves the project that a call names, or the caller's default project, and its current thread.
async fn locate_turn(tx: &mut Tx, call: &ChatCall) -> Result<Option<TurnLocation>, ChatError> {
    let user = call.caller.user;
    let Some(name_or_id) = &call.project else {
        let home = tx.default_project_context_get(user).await?;
        return Ok(home.map(
            |DefaultProjectContext {
                 project,
                 current_thread: latest,
                 has_preferences,
                 revision,
             }| TurnLocation {
                project,
                latest,
                has_preferences,
                revision: Some(revision),
            },
        ));
    };
    let project = projects::find(tx, &call.caller, &name_or_id.into()).await?.id;
    let latest = tx.thread_latest(user, project).await?;
    Ok(Some(TurnLocation { project, latest, has_preferences: true, revision: None }))
}

/// Creates a thread; if a concurrent request created it first, returns that one.
pub(super) async fn create_or_join_thread(
    tx: &mut Tx,
    fresh: Thread,
) -> Result<ThreadId, ChatError> {
    if tx.thread_insert(&fresh).await? {
        return Ok(fresh.id);
    }
    let theirs = tx.thread_latest(fresh.user, fresh.project).await?;
    Ok(theirs.map_or(fresh.id, |thread| thread.id))
}

/// Returns whether `before` ends with the same messages.
fn ends_with(before: &[ThreadMessage], messages: &[ThreadMessage]) -> bool {
    let same = |(kept, new): (&ThreadMessage, &ThreadMessage)| {
        kept.role == new.role && kept.content == new.content
    };
    messages.len() <= before.len() && before.iter().rev().zip(messages.iter().rev()).all(same)
}

/// Returns the messages after the last answer in the request.
fn new_messages(messages: &[ChatMessage]) -> impl Iterator<Item = &ChatMessage> {
    let answered = messages.iter().rposition(|message| message.role == "assistant");
    let new = &messages[answered.map_or(0, |index| index + 1)..];
    // Clients send their instructions each time; these are not user messages.
    new.iter().filter(|message| matches!(message.role.as_str(), "user" | "tool" | "function"))
}

fn to_stored_message(
    message: &ChatMessage,
    thread: ThreadId,
    created_at: chrono::DateTime<chrono::Utc>,
) -> ThreadMessage {
    let mut metadata = Map::new();
    if let Some(call) = &message.tool_call_id {
        metadata.insert("tool_call_id".to_owned(), json!(clean_for_storage(call)));
    }
    if let Some(Content::Parts(parts)) = &message.content {
        // Images and files are not persisted; their kinds are.
        let others: Vec<String> = parts
            .iter()
            .filter(|part| part.text.is_none())
            .map(|part| clean_for_storage(&part.kind))
            .collect();
        metadata.insert("not_kept".to_owned(), json!(others));
    }
    ThreadMessage {
        id: ChatMessageId::generate(),
        thread,
        role: if message.role == "user" { "user" } else { "tool" }.to_owned(),
        content: clean_for_storage(&message.plain_text()),
        is_partial: false,
        metadata: Value::Object(metadata),
        turn: None,
        created_at,
    }
}
