//! Chat: OpenAI-compatible clients talk to the project manager or to a model.
//!
//! Start at [`Chat::complete`] and [`Chat::stream`]. A turn has one fixed order (`turn`): validate
//! the request, resolve the project, redact secrets, persist the user's messages, dispatch
//! (`model_turn` or `manager_turn`), persist the answer, return it; at the end one record holds the
//! outcome. The model `cynodeai.pm` is the project manager; every other name is routed to a
//! provider.
//!
//! Invariants: nothing is persisted, sent to a model or handed off before its secrets are redacted.
//! A turn is aborted at once if its client disconnects or the process shuts down, and soon after
//! its client stops reading: the partial answer is persisted and marked as partial. At most one
//! commit precedes the first token of an answer, and one follows the last.

mod answer_buffer;
mod context_window;
mod error;
mod manager_turn;
mod model_list;
mod model_turn;
mod persist;
mod retry;
mod threads;
mod turn;
mod turn_links;
mod validate;

use std::sync::Arc;
use std::time::Duration;

use cynode_llm_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::Store;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

pub use answer_buffer::MAX_BUFFERED_BYTES;
pub use error::ChatError;
pub use model_list::ModelSource;
pub use threads::ThreadError;
pub use turn_links::{Link, PastTurn};

pub use cynode_resources::secrets::SECRET_MARKER;

use cynode_execution::handoff::HandoffService;
use cynode_models::{
    answer_channel::AnswerSender, answer_channel::UNREAD_TIMEOUT, answer_channel::answer_channel,
};
use cynode_resources::Caller;
use turn::ChatTurn;

/// The model name of the project manager.
pub const MANAGER_MODEL: &str = "cynodeai.pm";

/// Time to wait for the first chunk before the stream is opened. A failure within it is an error
/// response, which clients handle best.
const FIRST_CHUNK_TIMEOUT: Duration = Duration::from_secs(10);

/// The context of a chat request.
#[derive(Debug, Clone)]
pub struct ChatCall {
    pub caller: Caller,
    /// By id or slug; the default project when absent.
    pub project: Option<String>,
    /// Correlates the logs of every process.
    pub trace_id: String,
    /// Whether the client marks this as a retry of a failed request; its messages are persisted
    /// once.
    pub is_repeat: bool,
    /// Set if later turns may continue from this one.
    pub link: Option<Link>,
}

/// Timeouts and limits of chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatOptions {
    /// Timeout for the next chunk of a streamed answer.
    pub chunk_timeout: Duration,
    /// Timeout of an unstreamed answer.
    pub answer_timeout: Duration,
    /// Maximum number of concurrent turns and turn lookups.
    pub max_open: usize,
    /// Total time that a streamed answer waits for a client that does not read; at most `chunk_timeout`.
    pub unread_timeout: Duration,
}

impl Default for ChatOptions {
    fn default() -> Self {
        let (chunk_timeout, answer_timeout) = (Duration::from_mins(10), Duration::from_secs(290));
        Self { chunk_timeout, answer_timeout, max_open: 1024, unread_timeout: UNREAD_TIMEOUT }
    }
}

/// Runs chat turns. Cheap to clone.
#[derive(Clone)]
pub struct Chat {
    store: Store,
    clock: SharedClock,
    models: Arc<dyn ModelSource>,
    handoffs: HandoffService,
    options: ChatOptions,
    /// One permit per turn or lookup.
    permits: Arc<Semaphore>,
    /// Turns run here, so that each is recorded even if its client disconnects.
    background: BackgroundTasks,
}

/// The receiver of an answer.
enum AnswerReader {
    Unstreamed(oneshot::Sender<Result<ChatCompletion, ChatError>>),
    Streamed(AnswerSender<ChatChunk, ChatError>),
}

impl Chat {
    /// Creates chat persisted in `store`, answered by `models` and through `handoffs`.
    pub fn new(
        store: Store,
        clock: SharedClock,
        background: BackgroundTasks,
        models: Arc<dyn ModelSource>,
        handoffs: HandoffService,
        options: ChatOptions,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(options.max_open));
        Self { store, clock, models, handoffs, options, permits, background }
    }

    /// Runs a turn and returns the complete answer. Dropping the future aborts the turn.
    pub async fn complete(
        &self,
        call: ChatCall,
        request: ChatRequest,
    ) -> Result<ChatCompletion, ChatError> {
        let (reader, answer) = oneshot::channel();
        self.spawn_turn(call, request, AnswerReader::Unstreamed(reader))?;
        answer.await.unwrap_or(Err(ChatError::Canceled))
    }

    /// Runs a turn and streams the answer. Failures before the first chunk are returned here,
    /// unless the first chunk is late. Dropping the stream aborts the turn.
    pub async fn stream(
        &self,
        call: ChatCall,
        request: ChatRequest,
    ) -> Result<impl Stream<Item = Result<ChatChunk, ChatError>> + Send + use<>, ChatError> {
        let patience = self.options.unread_timeout.min(self.options.chunk_timeout);
        let (reader, mut chunks) = answer_channel(patience, || ChatError::Canceled);
        self.spawn_turn(call, request, AnswerReader::Streamed(reader))?;
        let first = match tokio::time::timeout(FIRST_CHUNK_TIMEOUT, chunks.next()).await {
            Ok(Some(Err(error))) => return Err(error),
            Ok(first) => first,
            Err(_) => None,
        };
        Ok(stream::iter(first).chain(chunks.into_stream()))
    }

    fn spawn_turn(
        &self,
        call: ChatCall,
        request: ChatRequest,
        reader: AnswerReader,
    ) -> Result<(), ChatError> {
        let room = self.acquire_permit()?;
        let (chat, turn) = (self.clone(), ChatTurn::new(call, &request, self.clock.now()));
        self.background.spawn("chat turn", async move {
            chat.run_turn(turn, request, reader, room).await;
        });
        Ok(())
    }

    /// Acquires a permit, released before the client sees the end: a client with an answer can
    /// always send the next request.
    fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, ChatError> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| ChatError::Busy)
    }
}
