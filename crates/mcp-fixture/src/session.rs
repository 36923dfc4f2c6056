//! A session of the older era: what the server remembers of one client.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::AbortHandle;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::exchange::Level;
use crate::fixture::locked;

/// The outcome of a question to the client: its result, or its error object.
pub(crate) type Outcome = Result<Value, Value>;

/// One client of the older era.
#[derive(Debug)]
pub(crate) struct Session {
    /// What the client said that it can do.
    pub(crate) capabilities: Value,
    /// Log messages below it are not sent.
    pub(crate) level: Mutex<Level>,
    /// The resources whose changes it wants to hear of.
    pub(crate) subscriptions: Mutex<HashSet<String>>,
    /// Messages that wait for the client to come back, by the last event it saw.
    pub(crate) replays: Mutex<HashMap<String, Value>>,
    /// Ends the standing stream with the session.
    pub(crate) ended: CancellationToken,
    questions: Mutex<HashMap<u64, oneshot::Sender<Outcome>>>,
    next_question: AtomicU64,
    running: Mutex<HashMap<String, AbortHandle>>,
}

impl Session {
    pub(crate) fn new(capabilities: Value) -> Self {
        Self {
            capabilities,
            level: Mutex::new(Level::Debug),
            subscriptions: Mutex::default(),
            replays: Mutex::default(),
            ended: CancellationToken::new(),
            questions: Mutex::default(),
            next_question: AtomicU64::new(1),
            running: Mutex::default(),
        }
    }

    /// A new question: its id, and where its answer will arrive.
    pub(crate) fn question(&self) -> (u64, oneshot::Receiver<Outcome>) {
        let id = self.next_question.fetch_add(1, Ordering::Relaxed);
        let (answer, waiting) = oneshot::channel();
        locked(&self.questions).insert(id, answer);
        (id, waiting)
    }

    /// Hands an answer to who asked; false if nobody did.
    pub(crate) fn answered(&self, id: &Value, outcome: Outcome) -> bool {
        let waiting = id.as_u64().and_then(|id| locked(&self.questions).remove(&id));
        waiting.is_some_and(|waiting| waiting.send(outcome).is_ok())
    }

    /// Remembers how to stop a request that runs.
    pub(crate) fn started(&self, id: &Value, handle: AbortHandle) {
        locked(&self.running).insert(id.to_string(), handle);
    }

    /// Forgets a request that ended.
    pub(crate) fn finished(&self, id: &Value) {
        locked(&self.running).remove(&id.to_string());
    }

    /// Stops a request; false if it does not run.
    pub(crate) fn cancel(&self, id: &Value) -> bool {
        let handle = locked(&self.running).remove(&id.to_string());
        handle.inspect(AbortHandle::abort).is_some()
    }
}
