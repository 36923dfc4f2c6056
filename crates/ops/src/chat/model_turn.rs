//! Turns answered by a model, without the project manager.

use cynode_llm_wire::openai::{ChatChunk, ChatCompletion};
use futures_util::StreamExt as _;

use super::turn::{ChatTurn, TurnChunks, TurnScope};
use super::{Chat, ChatError};
use cynode_models::egress::Inference;
use cynode_resources::secrets::RedactedRequest;

impl Chat {
    pub(super) async fn call_model(
        &self,
        turn: &ChatTurn,
        scope: &TurnScope,
        request: RedactedRequest,
    ) -> Result<ChatCompletion, ChatError> {
        let (inference, request) = build_inference(turn, scope, request);
        let mut answer = self.models.chat(&inference, request).await?;
        fill_id_and_time(turn, &mut answer.id, &mut answer.created);
        Ok(answer)
    }

    pub(super) async fn stream_model(
        &self,
        turn: &ChatTurn,
        scope: &TurnScope,
        request: RedactedRequest,
    ) -> Result<TurnChunks, ChatError> {
        let (inference, request) = build_inference(turn, scope, request);
        let chunks = self.models.stream(&inference, request).await?;
        let blank = ChatChunk {
            id: turn.completion_id(),
            created: turn.began_at.timestamp(),
            ..ChatChunk::default()
        };
        Ok(Box::pin(chunks.map(move |chunk| {
            let mut chunk = chunk?;
            if chunk.id.is_empty() {
                chunk.id.clone_from(&blank.id);
            }
            if chunk.created == 0 {
                chunk.created = blank.created;
            }
            Ok(chunk)
        })))
    }
}

fn build_inference(
    turn: &ChatTurn,
    scope: &TurnScope,
    request: RedactedRequest,
) -> (Inference, RedactedRequest) {
    let bare = Inference::for_user(turn.call.caller.clone(), "chat", &turn.call.trace_id);
    let inference = Inference {
        project: Some(scope.project),
        thread: Some(scope.thread),
        routing: scope.routing.clone(),
        revision: scope.revision,
        record_buffer: Some(turn.call_records.clone()),
        ..bare
    };
    (inference, request.with_model(&turn.model))
}

/// Fills in id and time where the server omits them; clients expect both.
fn fill_id_and_time(turn: &ChatTurn, id: &mut String, created: &mut i64) {
    if id.is_empty() {
        *id = turn.completion_id();
    }
    if *created == 0 {
        *created = turn.began_at.timestamp();
    }
}
