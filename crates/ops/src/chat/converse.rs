//! The project manager answers.

use std::time::Duration;

use cynode_wire::handoff::{ChatEvent, ChatHandoff, FailureKind, TurnRole};
use cynode_wire::openai::{ChatChunk, ChatRequest, Delta, Usage};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::json;

use super::again::Answer;
use super::turn::{Pieces, Place, Turn};
use super::window::window;
use super::{Chat, ChatError};
use crate::handoff::Subject;

impl Chat {
    pub(super) async fn ask_manager(
        &self,
        turn: &mut Turn,
        place: &Place,
        request: &ChatRequest,
    ) -> Result<Pieces, ChatError> {
        if let Some(answer) = &place.answered {
            return Ok(self.answer_again(turn, answer.clone()));
        }
        let messages = window(&place.before, &request.messages);
        if messages.last().is_none_or(|last| last.role != TurnRole::User) {
            let message = "the last message must be the user's, and say something";
            return Err(ChatError::invalid("messages", message));
        }
        let mut subject = Subject::of(turn.call.caller.clone(), turn.call.trace_id.clone());
        subject.project = Some(place.project);
        subject.thread = Some(place.thread);
        // Given up while it is handed over, nobody knows whether it was begun.
        turn.is_handed_over = true;
        let events = self.handoffs.chat(&subject, ChatHandoff { messages }).await;
        let events = events.inspect_err(|error| turn.is_handed_over = error.may_have_begun())?;
        Ok(self.pieces_of(turn, events))
    }

    /// Gives out an answer that is kept, to a reader who missed it.
    fn answer_again(&self, turn: &mut Turn, answer: Answer) -> Pieces {
        // A turn with a name needs an answer of its own, by which it is recalled.
        turn.is_kept = turn.call.link.is_none();
        let done = ChatEvent::Done { usage: answer.usage, decisions: vec![] };
        self.pieces_of(turn, stream::iter([ChatEvent::Delta { text: answer.text }, done]))
    }

    fn pieces_of(
        &self,
        turn: &Turn,
        events: impl Stream<Item = ChatEvent> + Send + 'static,
    ) -> Pieces {
        let stamp = Stamp::of(turn, self.handoffs.chat_within());
        let opening = stamp.on(ChatChunk::of(
            Delta { role: Some("assistant".to_owned()), ..Delta::text("") },
            None,
        ));
        let pieces = events.map(move |event| stamp.pieces(event)).flat_map(stream::iter);
        Box::pin(stream::iter([Ok(opening)]).chain(pieces))
    }
}

/// What every piece of one answer carries.
struct Stamp {
    id: String,
    created: i64,
    model: String,
    /// How long the answer may take.
    within: Duration,
}

impl Stamp {
    fn of(turn: &Turn, within: Duration) -> Self {
        let (id, created) = (turn.completion_id(), turn.began_at.timestamp());
        Self { id, created, model: turn.model.clone(), within }
    }

    fn on(&self, mut piece: ChatChunk) -> ChatChunk {
        "chat.completion.chunk".clone_into(&mut piece.object);
        piece.id.clone_from(&self.id);
        piece.created = self.created;
        piece.model.clone_from(&self.model);
        piece
    }

    fn pieces(&self, event: ChatEvent) -> Vec<Result<ChatChunk, ChatError>> {
        match event {
            ChatEvent::Delta { text } => vec![Ok(self.on(ChatChunk::of(Delta::text(text), None)))],
            ChatEvent::Tool { name, succeeded, summary } => {
                // Clients that know nothing of it see an empty piece.
                let mut piece = self.on(ChatChunk::of(Delta::default(), None));
                let tool = json!({ "name": name, "succeeded": succeeded, "summary": summary });
                piece.other.insert("cynodeai".to_owned(), json!({ "tool": tool }));
                vec![Ok(piece)]
            }
            ChatEvent::Done { usage, .. } => {
                let end = ChatChunk::of(Delta::default(), Some("stop".to_owned()));
                let usage = Usage::new(usage.prompt_tokens, usage.completion_tokens);
                let cost = ChatChunk { usage: Some(usage), ..ChatChunk::default() };
                vec![Ok(self.on(end)), Ok(self.on(cost))]
            }
            ChatEvent::Failed { kind: FailureKind::Timeout, .. } => {
                vec![Err(ChatError::Timeout(self.within))]
            }
            ChatEvent::Failed { kind: FailureKind::Other, message, .. } => {
                vec![Err(ChatError::Failed(message))]
            }
        }
    }
}
