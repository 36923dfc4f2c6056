//! A model answers; the project manager is not involved.

use cynode_wire::openai::{ChatChunk, ChatCompletion};
use futures_util::StreamExt as _;

use super::turn::{Pieces, Place, Turn};
use super::{Chat, ChatError};
use crate::egress::Inference;
use crate::secrets::CleanRequest;

impl Chat {
    pub(super) async fn ask_model(
        &self,
        turn: &Turn,
        place: &Place,
        request: CleanRequest,
    ) -> Result<ChatCompletion, ChatError> {
        let (inference, request) = asked(turn, place, request);
        let mut answer = self.models.chat(&inference, request).await?;
        named(turn, &mut answer.id, &mut answer.created);
        Ok(answer)
    }

    pub(super) async fn stream_model(
        &self,
        turn: &Turn,
        place: &Place,
        request: CleanRequest,
    ) -> Result<Pieces, ChatError> {
        let (inference, request) = asked(turn, place, request);
        let pieces = self.models.stream(&inference, request).await?;
        let blank = ChatChunk {
            id: turn.completion_id(),
            created: turn.began_at.timestamp(),
            ..ChatChunk::default()
        };
        Ok(Box::pin(pieces.map(move |piece| {
            let mut piece = piece?;
            if piece.id.is_empty() {
                piece.id.clone_from(&blank.id);
            }
            if piece.created == 0 {
                piece.created = blank.created;
            }
            Ok(piece)
        })))
    }
}

fn asked(turn: &Turn, place: &Place, request: CleanRequest) -> (Inference, CleanRequest) {
    let bare = Inference::of_user(turn.call.caller.clone(), "chat", &turn.call.trace_id);
    let inference = Inference {
        project: Some(place.project),
        thread: Some(place.thread),
        routing: place.routing.clone(),
        revision: place.revision,
        tab: Some(turn.tab.clone()),
        ..bare
    };
    (inference, request.with_model(&turn.model))
}

/// Not every server names its answers, and clients expect a name.
fn named(turn: &Turn, id: &mut String, created: &mut i64) {
    if id.is_empty() {
        *id = turn.completion_id();
    }
    if *created == 0 {
        *created = turn.began_at.timestamp();
    }
}
