//! One turn, from the request to its record.

use std::time::Instant;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChatTurnId, ProjectId, ThreadId};
use cynode_llm_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use cynode_store::ThreadMessage;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::answer_buffer::AnswerBuffer;
use super::retry::{RequestFingerprint, StoredAnswer};
use super::validate::{validate_manager_request, validate_request};
use super::{AnswerReader, Chat, ChatCall, ChatError, MANAGER_MODEL};
use cynode_models::{answer_channel::AnswerSender, answer_channel::ReaderStalled};
use cynode_models::{egress::CallRecordBuffer, egress::ModelRouting};
use cynode_resources::{secrets::RedactedRequest, secrets::SecretKinds};

/// Chunks of a streamed answer.
pub(super) type TurnChunks = BoxStream<'static, Result<ChatChunk, ChatError>>;

/// A turn in progress.
pub(super) struct ChatTurn {
    pub(super) id: ChatTurnId,
    pub(super) call: ChatCall,
    /// The effective model.
    pub(super) model: String,
    pub(super) began_at: DateTime<Utc>,
    pub(super) started: Instant,
    /// Set once the project is resolved.
    pub(super) project: Option<ProjectId>,
    /// Set once the user's messages are persisted.
    pub(super) thread: Option<ThreadId>,
    /// The unanswered turn that this one retries, if any.
    pub(super) repeats: Option<ChatTurnId>,
    /// Kinds of the redacted secrets.
    pub(super) redaction_kinds: SecretKinds,
    /// Set for requests to the project manager only.
    pub(super) fingerprint: Option<RequestFingerprint>,
    /// Whether the project manager may have started work.
    pub(super) is_handed_over: bool,
    /// Whether the answer is already persisted.
    pub(super) is_answer_persisted: bool,
    /// Model call records, persisted with the answer.
    pub(super) call_records: CallRecordBuffer,
}

/// The resolved context of a turn.
pub(super) struct TurnScope {
    pub(super) project: ProjectId,
    pub(super) thread: ThreadId,
    pub(super) routing: ModelRouting,
    /// The newest messages of the thread before this turn.
    pub(super) history: Vec<ThreadMessage>,
    /// The answer of an earlier attempt that the client missed.
    pub(super) earlier_answer: Option<StoredAnswer>,
    /// The policy revision when the turn began, if it was read.
    pub(super) revision: Option<i64>,
}

impl ChatTurn {
    pub(super) fn new(call: ChatCall, request: &ChatRequest, began_at: DateTime<Utc>) -> Self {
        Self {
            id: call.link.map_or_else(ChatTurnId::generate, |link| link.id),
            model: effective_model(request),
            call,
            began_at,
            started: Instant::now(),
            project: None,
            thread: None,
            repeats: None,
            redaction_kinds: SecretKinds::new(),
            fingerprint: None,
            is_handed_over: false,
            is_answer_persisted: false,
            call_records: CallRecordBuffer::default(),
        }
    }

    /// Returns whether the turn is for the project manager.
    pub(super) fn is_for_manager(&self) -> bool {
        if cynode_fault::fault!("PMA-03") {
            return false;
        }
        self.model == MANAGER_MODEL || cynode_fault::fault!("PMA-04")
    }

    /// Wraps a failure as returned to the client.
    fn wrap_failure(&self, error: ChatError) -> ChatError {
        if self.is_handed_over { ChatError::FailedAfterHandoff(Box::new(error)) } else { error }
    }

    /// Returns the id of answers generated here.
    pub(super) fn completion_id(&self) -> String {
        format!("chatcmpl-{}", self.id)
    }
}

/// Returns the requested model; the project manager if none is named.
fn effective_model(request: &ChatRequest) -> String {
    let named = request.model.as_deref().filter(|model| !model.is_empty());
    named.unwrap_or(MANAGER_MODEL).to_owned()
}

impl Chat {
    /// Runs a turn to its end and records the outcome.
    pub(super) async fn run_turn(
        &self,
        mut turn: ChatTurn,
        request: ChatRequest,
        reader: AnswerReader,
        permit: OwnedSemaphorePermit,
    ) {
        let mut answer = AnswerBuffer::default();
        match reader {
            AnswerReader::Unstreamed(mut reader) => {
                let outcome = tokio::select! {
                    outcome = self.run_unstreamed(&mut turn, request, &mut answer) => outcome,
                    () = reader.closed() => Err(ChatError::Canceled),
                    () = self.background.finishing() => Err(ChatError::Stopping),
                };
                let kept = self.persist_outcome(&turn, &answer, outcome.as_ref().err()).await;
                let answer = outcome.and_then(|answer| kept.map(|()| answer));
                drop(permit);
                // A disconnected client needs no answer.
                let _ = reader.send(answer.map_err(|error| turn.wrap_failure(error)));
            }
            AnswerReader::Streamed(mut reader) => {
                let gone = reader.closed();
                let outcome = tokio::select! {
                    outcome = self.run_streamed(&mut turn, request, &mut answer, &mut reader) => outcome,
                    () = gone => Err(ChatError::Canceled),
                    () = self.background.finishing() => Err(ChatError::Stopping),
                };
                let kept = self.persist_outcome(&turn, &answer, outcome.as_ref().err()).await;
                drop(permit);
                reader.end(outcome.and(kept).map_err(|error| turn.wrap_failure(error)));
            }
        }
    }

    async fn run_unstreamed(
        &self,
        turn: &mut ChatTurn,
        request: ChatRequest,
        answer: &mut AnswerBuffer,
    ) -> Result<ChatCompletion, ChatError> {
        let wait = self.options.answer_timeout;
        let (scope, request) = self.prepare(turn, request).await?;
        let completion = async {
            if turn.is_for_manager() {
                let mut chunks = self.ask_manager(turn, &scope, &request).await?;
                while let Some(chunk) = chunks.next().await {
                    answer.push_chunk(&chunk?);
                }
                Ok(answer.to_completion(turn))
            } else {
                let completion = self.call_model(turn, &scope, request).await?;
                answer.set_completion(&completion);
                Ok(completion)
            }
        };
        timeout(wait, completion).await.unwrap_or(Err(ChatError::Timeout(wait)))
    }

    async fn run_streamed(
        &self,
        turn: &mut ChatTurn,
        request: ChatRequest,
        answer: &mut AnswerBuffer,
        reader: &mut AnswerSender<ChatChunk, ChatError>,
    ) -> Result<(), ChatError> {
        let wait = self.options.chunk_timeout;
        let late = |_| ChatError::Timeout(wait);
        let wants_usage = request.stream_options.as_ref().is_some_and(|s| s.include_usage);
        let (scope, request) = self.prepare(turn, request).await?;
        let mut chunks = if turn.is_for_manager() {
            timeout(wait, self.ask_manager(turn, &scope, &request)).await.map_err(late)??
        } else {
            timeout(wait, self.stream_model(turn, &scope, request)).await.map_err(late)??
        };
        while let Some(chunk) = timeout(wait, chunks.next()).await.map_err(late)? {
            let chunk = chunk?;
            answer.push_chunk(&chunk);
            // Clients that did not request the usage expect content in every chunk.
            if wants_usage || !chunk.choices.is_empty() {
                reader.send(chunk).await.map_err(|ReaderStalled| ChatError::Canceled)?;
            }
        }
        Ok(())
    }

    /// Validates, redacts and persists the request before dispatch.
    async fn prepare(
        &self,
        turn: &mut ChatTurn,
        request: ChatRequest,
    ) -> Result<(TurnScope, RedactedRequest), ChatError> {
        validate_request(&request)?;
        if turn.is_for_manager() {
            validate_manager_request(&request)?;
        }
        let surroundings = self.load_turn_context(turn).await?;
        turn.project = Some(surroundings.project);
        let request = RedactedRequest::from(request);
        turn.redaction_kinds.clone_from(request.kinds());
        turn.fingerprint =
            turn.is_for_manager().then(|| RequestFingerprint::new(turn.id, &request));
        let scope = self.persist_user_messages(turn, surroundings, &request).await?;
        turn.thread = Some(scope.thread);
        Ok((scope, request))
    }
}
