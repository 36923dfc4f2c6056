//! A session of the older era.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::AbortHandle;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::exchange::FixtureLogLevel;
use crate::fixture::lock;

/// The client's response to a request: its result, or its error object.
pub(crate) type FixtureClientResponse = Result<Value, Value>;

/// One client of the older era.
#[derive(Debug)]
pub(crate) struct FixtureSession {
    /// Capabilities that the client declared.
    pub(crate) capabilities: Value,
    /// Minimum level of log messages.
    pub(crate) level: Mutex<FixtureLogLevel>,
    /// Subscribed resource URIs.
    pub(crate) subscriptions: Mutex<HashSet<String>>,
    /// Messages to replay after a reconnect, by last event id.
    pub(crate) replays: Mutex<HashMap<String, Value>>,
    /// Ends the session's stream.
    pub(crate) ended: CancellationToken,
    questions: Mutex<HashMap<u64, oneshot::Sender<FixtureClientResponse>>>,
    next_question: AtomicU64,
    running: Mutex<HashMap<String, AbortHandle>>,
}

impl FixtureSession {
    pub(crate) fn new(capabilities: Value) -> Self {
        Self {
            capabilities,
            level: Mutex::new(FixtureLogLevel::Debug),
            subscriptions: Mutex::default(),
            replays: Mutex::default(),
            ended: CancellationToken::new(),
            questions: Mutex::default(),
            next_question: AtomicU64::new(1),
            running: Mutex::default(),
        }
    }

    /// Registers a request to the client; returns its id and the receiver of the response.
    pub(crate) fn register_request(&self) -> (u64, oneshot::Receiver<FixtureClientResponse>) {
        let id = self.next_question.fetch_add(1, Ordering::Relaxed);
        let (answer, waiting) = oneshot::channel();
        lock(&self.questions).insert(id, answer);
        (id, waiting)
    }

    /// Delivers a response; false if no request is pending.
    pub(crate) fn deliver_response(&self, id: &Value, outcome: FixtureClientResponse) -> bool {
        let waiting = id.as_u64().and_then(|id| lock(&self.questions).remove(&id));
        waiting.is_some_and(|waiting| waiting.send(outcome).is_ok())
    }

    /// Registers a running request for cancellation.
    pub(crate) fn register_running(&self, id: &Value, handle: AbortHandle) {
        lock(&self.running).insert(id.to_string(), handle);
    }

    /// Removes a completed request.
    pub(crate) fn remove_running(&self, id: &Value) {
        lock(&self.running).remove(&id.to_string());
    }

    /// Cancels a request; false if it is not running.
    pub(crate) fn cancel_running(&self, id: &Value) -> bool {
        let handle = lock(&self.running).remove(&id.to_string());
        handle.inspect(AbortHandle::abort).is_some()
    }
}
