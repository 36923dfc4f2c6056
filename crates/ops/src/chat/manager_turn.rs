//! Turns answered by the project manager.

use std::time::Duration;

use cynode_llm_wire::openai::{ChatChunk, ChatRequest, Delta, Usage};
use cynode_wire::handoff::{ChatEvent, ChatHandoff, FailureKind, TurnRole};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::json;

use super::context_window::context_messages;
use super::retry::StoredAnswer;
use super::turn::{ChatTurn, TurnChunks, TurnScope};
use super::{Chat, ChatError};
use cynode_execution::handoff::HandoffSubject;

impl Chat {
    pub(super) async fn ask_manager(
        &self,
        turn: &mut ChatTurn,
        scope: &TurnScope,
        request: &ChatRequest,
    ) -> Result<TurnChunks, ChatError> {
        if let Some(answer) = &scope.earlier_answer {
            return Ok(self.replay_answer(turn, answer.clone()));
        }
        let messages = context_messages(&scope.history, &request.messages);
        if messages.last().is_none_or(|last| last.role != TurnRole::User) {
            let message = "the last message must be a non-empty message of the user";
            return Err(ChatError::invalid("messages", message));
        }
        let mut subject =
            HandoffSubject::for_caller(turn.call.caller.clone(), turn.call.trace_id.clone());
        subject.project = Some(scope.project);
        subject.thread = Some(scope.thread);
        // If aborted during the handoff, it is unknown whether work was started.
        turn.is_handed_over = true;
        let events = self.handoffs.chat(&subject, ChatHandoff { messages }).await;
        let events = events.inspect_err(|error| turn.is_handed_over = error.may_have_started())?;
        Ok(self.chunk_stream(turn, events))
    }

    /// Returns the persisted answer to a client that missed it.
    fn replay_answer(&self, turn: &mut ChatTurn, answer: StoredAnswer) -> TurnChunks {
        // A linked turn needs its own copy of the answer, by which it is recalled.
        turn.is_answer_persisted = turn.call.link.is_none();
        let done = ChatEvent::Done {
            usage: answer.usage,
            decisions: vec![],
            trace: cynode_domain::trace::TraceEvents::default(),
        };
        self.chunk_stream(turn, stream::iter([ChatEvent::Delta { text: answer.text }, done]))
    }

    fn chunk_stream(
        &self,
        turn: &ChatTurn,
        events: impl Stream<Item = ChatEvent> + Send + 'static,
    ) -> TurnChunks {
        let stamp = ChunkHeader::new(turn, self.handoffs.chat_within());
        let opening = stamp.apply(ChatChunk::new(
            Delta { role: Some("assistant".to_owned()), ..Delta::text("") },
            None,
        ));
        let chunks = events.map(move |event| stamp.event_chunks(event)).flat_map(stream::iter);
        Box::pin(stream::iter([Ok(opening)]).chain(chunks))
    }
}

/// Fields shared by every chunk of one answer.
struct ChunkHeader {
    id: String,
    created: i64,
    model: String,
    /// Timeout of the answer.
    timeout: Duration,
}

impl ChunkHeader {
    fn new(turn: &ChatTurn, timeout: Duration) -> Self {
        let (id, created) = (turn.completion_id(), turn.began_at.timestamp());
        Self { id, created, model: turn.model.clone(), timeout }
    }

    fn apply(&self, mut chunk: ChatChunk) -> ChatChunk {
        "chat.completion.chunk".clone_into(&mut chunk.object);
        chunk.id.clone_from(&self.id);
        chunk.created = self.created;
        chunk.model.clone_from(&self.model);
        chunk
    }

    fn event_chunks(&self, event: ChatEvent) -> Vec<Result<ChatChunk, ChatError>> {
        match event {
            ChatEvent::Delta { text } => {
                vec![Ok(self.apply(ChatChunk::new(Delta::text(text), None)))]
            }
            ChatEvent::Tool { name, succeeded, summary } => {
                // Clients without this extension see an empty chunk.
                let mut chunk = self.apply(ChatChunk::new(Delta::default(), None));
                let tool = json!({ "name": name, "succeeded": succeeded, "summary": summary });
                chunk.other.insert("cynodeai".to_owned(), json!({ "tool": tool }));
                vec![Ok(chunk)]
            }
            ChatEvent::Done { usage, .. } => {
                let end = ChatChunk::new(Delta::default(), Some("stop".to_owned()));
                let usage = Usage::new(usage.prompt_tokens, usage.completion_tokens);
                let cost = ChatChunk { usage: Some(usage), ..ChatChunk::default() };
                vec![Ok(self.apply(end)), Ok(self.apply(cost))]
            }
            ChatEvent::Failed { kind: FailureKind::Timeout, .. } => {
                vec![Err(ChatError::Timeout(self.timeout))]
            }
            ChatEvent::Failed { kind: FailureKind::Other, message, .. } => {
                vec![Err(ChatError::Failed(message))]
            }
        }
    }
}
