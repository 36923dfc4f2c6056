//! Chat: any program that speaks OpenAI's API talks to the project manager or to a model.
//!
//! Start at [`Chat::complete`] and [`Chat::stream`]. A turn goes through one fixed order (`turn`): check
//! the request, resolve the project, take secrets out, keep what the user said, ask (`direct` or
//! `converse`), keep the answer, give it out; at its end one record says how it went. The model
//! `cynodeai.pm` is the project manager; every other name goes to a provider and never to it.
//!
//! Invariants: nothing is kept, sent to a model or handed over before its secrets were taken out. A
//! turn is given up at once if its reader goes away or the process is asked to stop, and soon if its
//! reader stops reading: what was said so far is kept, marked as partial.
//! At most one commit comes before the first word of an answer, and one after the last.

mod again;
mod chain;
mod check;
mod converse;
mod direct;
mod error;
mod gather;
mod offer;
mod record;
mod threads;
mod turn;
mod window;

use std::sync::Arc;
use std::time::Duration;

use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::Tasks as Background;
use cynode_store::Store;
use cynode_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

pub use chain::{Link, PastTurn};
pub use error::ChatError;
pub use gather::MAX_HEARD_BYTES;
pub use offer::Models;
pub use threads::ThreadError;

pub use crate::secrets::SECRET_MARKER;

use crate::Caller;
use crate::handoff::Handoffs;
use crate::outlet::{Outlet, UNREAD, outlet};
use turn::Turn;

/// The model that is the project manager.
pub const MANAGER_MODEL: &str = "cynodeai.pm";

/// How long a streamed answer may take to begin before its reader is told that it will come. Until
/// then a failure is an answer of its own, which programs understand best.
const FIRST_PIECE: Duration = Duration::from_secs(10);

/// Who asks, and where.
#[derive(Debug, Clone)]
pub struct ChatCall {
    /// Who asks.
    pub caller: Caller,
    /// The project, by id or slug; the default project when absent.
    pub project: Option<String>,
    /// Finds the request in the logs of every process.
    pub trace_id: String,
    /// Whether the client says that it repeats a request that failed; what it said is kept once.
    pub is_repeat: bool,
    /// The name of the turn, where later turns are to go on from it.
    pub link: Option<Link>,
}

/// How long and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatOptions {
    /// How long the next piece of a streamed answer may take.
    pub wait: Duration,
    /// How long a whole answer may take.
    pub whole: Duration,
    /// How many turns are open, or looked up by their names, at once.
    pub max_open: usize,
    /// How long a streamed answer waits in all for a reader that does not read; never longer than
    /// `wait`.
    pub unread: Duration,
}

impl Default for ChatOptions {
    fn default() -> Self {
        let (wait, whole) = (Duration::from_mins(10), Duration::from_secs(290));
        Self { wait, whole, max_open: 1024, unread: UNREAD }
    }
}

/// Chat. Cheap to clone.
#[derive(Clone)]
pub struct Chat {
    store: Store,
    clock: SharedClock,
    models: Arc<dyn Models>,
    handoffs: Handoffs,
    options: ChatOptions,
    /// One permit for each turn that may be open or looked up.
    room: Arc<Semaphore>,
    /// Turns run here, so that each is put on record, whatever becomes of its reader.
    background: Background,
}

/// Where an answer goes.
enum Reader {
    /// All at once.
    Whole(oneshot::Sender<Result<ChatCompletion, ChatError>>),
    /// As it comes.
    Pieces(Outlet<ChatChunk, ChatError>),
}

impl Chat {
    /// Chat kept in `store`, answered by `models` and through `handoffs`.
    pub fn new(
        (store, clock, background): (Store, SharedClock, Background),
        models: Arc<dyn Models>,
        handoffs: Handoffs,
        options: ChatOptions,
    ) -> Self {
        let room = Arc::new(Semaphore::new(options.max_open));
        Self { store, clock, models, handoffs, options, room, background }
    }

    /// Asks, and waits for the whole answer. Dropping the future gives the turn up.
    pub async fn complete(
        &self,
        call: ChatCall,
        request: ChatRequest,
    ) -> Result<ChatCompletion, ChatError> {
        let (reader, answer) = oneshot::channel();
        self.start(call, request, Reader::Whole(reader))?;
        answer.await.unwrap_or(Err(ChatError::Canceled))
    }

    /// Asks, and gives out the answer as it comes. What fails before the first piece is an error
    /// here, unless the first piece takes long. Dropping the stream gives the turn up.
    pub async fn stream(
        &self,
        call: ChatCall,
        request: ChatRequest,
    ) -> Result<impl Stream<Item = Result<ChatChunk, ChatError>> + Send + use<>, ChatError> {
        let patience = self.options.unread.min(self.options.wait);
        let (reader, mut pieces) = outlet(patience, || ChatError::Canceled);
        self.start(call, request, Reader::Pieces(reader))?;
        let first = match tokio::time::timeout(FIRST_PIECE, pieces.next()).await {
            Ok(Some(Err(error))) => return Err(error),
            Ok(first) => first,
            Err(_) => None,
        };
        Ok(stream::iter(first).chain(pieces.into_stream()))
    }

    fn start(&self, call: ChatCall, request: ChatRequest, reader: Reader) -> Result<(), ChatError> {
        let room = self.room()?;
        let (chat, turn) = (self.clone(), Turn::new(call, &request, self.clock.now()));
        self.background.spawn("a turn of chat", async move {
            chat.run(turn, request, reader, room).await;
        });
        Ok(())
    }

    /// Room for one more, given back before the reader is told of the end: whoever has an answer can
    /// ask again.
    fn room(&self) -> Result<OwnedSemaphorePermit, ChatError> {
        Arc::clone(&self.room).try_acquire_owned().map_err(|_| ChatError::Busy)
    }
}
