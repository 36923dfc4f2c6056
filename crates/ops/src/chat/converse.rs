//! The project manager answers.

use cynode_wire::handoff::{ChatEvent, ChatHandoff, TurnRole};
use cynode_wire::openai::{ChatChunk, ChatRequest, Delta, Usage};
use futures_util::{StreamExt as _, stream};
use serde_json::json;

use super::turn::{Pieces, Place, Turn};
use super::window::window;
use super::{Chat, ChatError};
use crate::handoff::Subject;

impl Chat {
    pub(super) async fn ask_manager(
        &self,
        turn: &Turn,
        place: &Place,
        request: &ChatRequest,
    ) -> Result<Pieces, ChatError> {
        let messages = window(&place.before, &request.messages);
        if messages.last().is_none_or(|last| last.role != TurnRole::User) {
            let message = "the last message must be the user's, and say something";
            return Err(ChatError::invalid("messages", message));
        }
        let mut subject = Subject::of(turn.call.caller.clone(), turn.call.trace_id.clone());
        subject.project = Some(place.project);
        subject.thread = Some(place.thread);
        let events = self.handoffs.chat(&subject, ChatHandoff { messages }).await?;
        let stamp = Stamp::of(turn);
        let opening = stamp.on(ChatChunk::of(
            Delta { role: Some("assistant".to_owned()), ..Delta::text("") },
            None,
        ));
        let pieces = events.map(move |event| stamp.pieces(event)).flat_map(stream::iter);
        Ok(Box::pin(stream::iter([Ok(opening)]).chain(pieces)))
    }
}

/// What every piece of one answer carries.
struct Stamp {
    id: String,
    created: i64,
    model: String,
}

impl Stamp {
    fn of(turn: &Turn) -> Self {
        let (id, created) = (turn.completion_id(), turn.began_at.timestamp());
        Self { id, created, model: turn.model.clone() }
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
            ChatEvent::Failed { message, .. } => vec![Err(ChatError::Failed(message))],
        }
    }
}
