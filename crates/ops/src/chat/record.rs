//! What is kept of a turn: what the user said before anybody is asked, the answer and how it went
//! at the end.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use cynode_domain::ids::{ChatMessageId, ProjectId, ThreadId};
use cynode_store::{
    ChatRecord, ChatRecordStore, Entry, Home, Thread, ThreadMessage, ThreadStore, Tx,
};
use cynode_wire::openai::{ChatMessage, ChatRequest, Content};
use serde_json::{Map, Value, json};
use tracing::info;

use super::again::{Earlier, RECENT_TURNS};
use super::gather::{Said, kept};
use super::turn::{Place, Turn};
use super::window::MAX_MESSAGES;
use super::{Chat, ChatCall, ChatError};
use crate::egress::Routing;
use crate::preferences;
use crate::projects;

/// After this long without a word, the next one begins a new thread.
const IDLE: TimeDelta = TimeDelta::hours(2);

/// What is known before anything is kept.
pub(super) struct Surroundings {
    pub(super) project: ProjectId,
    routing: Routing,
    latest: Option<Thread>,
    before: Vec<ThreadMessage>,
    /// How the user's newest turns went, for requests that are sent again.
    turns: Vec<ChatRecord>,
    /// What calls were decided by then, if it was looked at.
    revision: Option<i64>,
}

impl Chat {
    /// Reads where a turn takes place. The default project is made when first needed.
    pub(super) async fn look_around(&self, turn: &Turn) -> Result<Surroundings, ChatError> {
        if let Some(found) = self.look(turn).await? {
            return Ok(found);
        }
        let (user, now) = (turn.call.caller.user, self.clock.now());
        self.store.write(move |tx| Box::pin(projects::default_of(tx, user, now))).await?;
        let gone = || ChatError::UnknownProject("default".to_owned());
        self.look(turn).await?.ok_or_else(gone)
    }

    /// The same; nothing if the caller has no default project yet, and means it.
    async fn look(&self, turn: &Turn) -> Result<Option<Surroundings>, ChatError> {
        let (call, now) = (turn.call.clone(), self.clock.now());
        // Models are told what the client sends, and nothing else.
        let needs_past = turn.is_for_manager() || call.is_repeat;
        let needs_turns = turn.is_for_manager() && call.is_repeat;
        self.store
            .read_alone(move |tx| {
                Box::pin(async move {
                    let Some(found) = place_of(tx, &call).await? else { return Ok(None) };
                    let Found { project, latest, has_preferences, revision } = found;
                    let preferences = if has_preferences {
                        preferences::for_project(tx, call.caller.user, project).await?
                    } else {
                        BTreeMap::new()
                    };
                    let live = latest.as_ref().filter(|thread| now - thread.updated_at < IDLE);
                    let before = match live {
                        Some(thread) if needs_past => {
                            tx.thread_tail(thread.id, MAX_MESSAGES).await?
                        }
                        Some(_) | None => vec![],
                    };
                    let turns = if needs_turns {
                        tx.chat_record_list(call.caller.user, None, RECENT_TURNS).await?
                    } else {
                        vec![]
                    };
                    let routing = Routing::from_preferences(None, &preferences);
                    Ok(Some(Surroundings { project, routing, latest, before, turns, revision }))
                })
            })
            .await
    }

    /// Keeps what the user said, in the thread that goes on or in a new one.
    pub(super) async fn hear_user(
        &self,
        turn: &mut Turn,
        around: Surroundings,
        request: &ChatRequest,
    ) -> Result<Place, ChatError> {
        let now = self.clock.now();
        let user = turn.call.caller.user;
        let Surroundings { project, routing, latest, before, turns, revision } = around;
        let (live, last) = match latest {
            Some(thread) if now - thread.updated_at < IDLE => (Some(thread.id), thread.number),
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
        let mut said: Vec<ThreadMessage> =
            what_is_new(&request.messages).map(|message| as_kept(message, fresh.id, now)).collect();
        for message in &mut said {
            if let Some(link) = turn.call.link {
                link.mark(message);
            }
            if let Some(asked) = &turn.asked {
                asked.note(&mut message.metadata);
            }
        }
        let earlier = match (&turn.asked, live) {
            (Some(asked), Some(thread)) if turn.call.is_repeat => {
                asked.earlier((thread, &before), &turns, now)?
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        let answered = match earlier {
            Some(Earlier::Answered(answer)) => Some(answer),
            Some(Earlier::Unbegun) | None => None,
        };
        if let Some(answer) = &answered {
            turn.repeats = answer.words.filter(|_| turn.call.link.is_some());
            said.clear();
        } else if turn.call.is_repeat && ends_with(&before, &said) {
            turn.repeats = turn.call.link.and_then(|link| link.repeated(&before, said.len()));
            // A turn with a name that says it again without knowing whose words these are keeps them.
            if turn.call.link.is_none() || turn.repeats.is_some() {
                said.clear();
            }
        }
        if let Some(thread) = live {
            let said =
                said.into_iter().map(|said| Entry::Message(ThreadMessage { thread, ..said }));
            self.store.enter(said.collect()).await?;
            return Ok(Place { project, thread, routing, before, answered, revision });
        }
        let thread = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let thread = begin_thread(tx, fresh).await?;
                    for message in &mut said {
                        message.thread = thread;
                        tx.thread_say(message).await?;
                    }
                    Ok::<_, ChatError>(thread)
                })
            })
            .await?;
        Ok(Place { project, thread, routing, before, answered, revision })
    }

    /// Keeps the answer, or as much of it as there is, and how the turn went.
    pub(super) async fn close(
        &self,
        turn: &Turn,
        said: &Said,
        failure: Option<&ChatError>,
    ) -> Result<(), ChatError> {
        let record = record(turn, failure);
        let path = if turn.is_for_manager() { "project manager" } else { "model" };
        info!(
            chat.model = turn.model,
            chat.path = path,
            chat.outcome = record.outcome,
            chat.duration_ms = record.duration_ms,
            "a turn of chat with the {path} ended: {}",
            record.outcome
        );
        let has_answer = !said.is_nothing() && !turn.is_kept;
        let answer = turn.thread.filter(|_| has_answer).map(|thread| ThreadMessage {
            id: ChatMessageId::generate(),
            thread,
            role: "assistant".to_owned(),
            content: said.kept_text(),
            is_partial: failure.is_some(),
            metadata: said.kept_metadata(turn),
            turn: turn.call.link.map(|link| link.id),
            created_at: self.clock.now(),
        });
        let mut entries = turn.tab.take();
        entries.extend(answer.map(Entry::Message));
        entries.push(Entry::Turn(record));
        Ok(self.store.enter(entries).await?)
    }
}

/// How a turn went: flags and figures, never what was said.
fn record(turn: &Turn, failure: Option<&ChatError>) -> ChatRecord {
    let elapsed = turn.started.elapsed().as_millis();
    ChatRecord {
        id: turn.id,
        created_at: turn.began_at,
        user: turn.call.caller.user,
        project: turn.project,
        thread: turn.thread,
        model: kept(&turn.model).chars().take(200).collect(),
        outcome: failure.map_or("success", ChatError::outcome).to_owned(),
        error_code: failure.map(|failure| failure.code().to_owned()),
        redaction_kinds: turn.kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
        duration_ms: i64::try_from(elapsed).unwrap_or(i64::MAX),
        request_id: turn.call.trace_id.clone(),
    }
}

/// What is found at the place of a turn.
struct Found {
    project: ProjectId,
    latest: Option<Thread>,
    /// Whether there may be preferences for it.
    has_preferences: bool,
    revision: Option<i64>,
}

/// The project that a call names, or the caller's default one if there is one, and the thread that
/// goes on there.
async fn place_of(tx: &mut Tx, call: &ChatCall) -> Result<Option<Found>, ChatError> {
    let user = call.caller.user;
    let Some(wanted) = &call.project else {
        let home = tx.thread_at_home(user).await?;
        return Ok(home.map(|Home { project, latest, has_preferences, revision }| Found {
            project,
            latest,
            has_preferences,
            revision: Some(revision),
        }));
    };
    let project = projects::find(tx, &call.caller, wanted).await?.id;
    let latest = tx.thread_latest(user, project).await?;
    Ok(Some(Found { project, latest, has_preferences: true, revision: None }))
}

/// Begins a thread; somebody else may have begun the same at this moment, and theirs is the one then.
pub(super) async fn begin_thread(tx: &mut Tx, fresh: Thread) -> Result<ThreadId, ChatError> {
    if tx.thread_insert(&fresh).await? {
        return Ok(fresh.id);
    }
    let theirs = tx.thread_latest(fresh.user, fresh.project).await?;
    Ok(theirs.map_or(fresh.id, |thread| thread.id))
}

/// Whether the last messages are the same ones.
fn ends_with(before: &[ThreadMessage], said: &[ThreadMessage]) -> bool {
    let same = |(kept, new): (&ThreadMessage, &ThreadMessage)| {
        kept.role == new.role && kept.content == new.content
    };
    said.len() <= before.len() && before.iter().rev().zip(said.iter().rev()).all(same)
}

/// What a request adds to the conversation: all that comes after the last answer.
fn what_is_new(messages: &[ChatMessage]) -> impl Iterator<Item = &ChatMessage> {
    let answered = messages.iter().rposition(|message| message.role == "assistant");
    let new = &messages[answered.map_or(0, |index| index + 1)..];
    // Without an answer yet, a client sends its instructions each time: they are not said by the user.
    new.iter().filter(|message| matches!(message.role.as_str(), "user" | "tool" | "function"))
}

fn as_kept(
    message: &ChatMessage,
    thread: ThreadId,
    created_at: chrono::DateTime<chrono::Utc>,
) -> ThreadMessage {
    let mut metadata = Map::new();
    if let Some(call) = &message.tool_call_id {
        metadata.insert("tool_call_id".to_owned(), json!(kept(call)));
    }
    if let Some(Content::Parts(parts)) = &message.content {
        // Images and files are not kept; that there were some is.
        let others: Vec<String> =
            parts.iter().filter(|part| part.text.is_none()).map(|part| kept(&part.kind)).collect();
        metadata.insert("not_kept".to_owned(), json!(others));
    }
    ThreadMessage {
        id: ChatMessageId::generate(),
        thread,
        role: if message.role == "user" { "user" } else { "tool" }.to_owned(),
        content: kept(&message.plain_text()),
        is_partial: false,
        metadata: Value::Object(metadata),
        turn: None,
        created_at,
    }
}
