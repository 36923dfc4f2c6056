//! Shared server state: sessions, counters and change notifications.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::session::FixtureSession;
use crate::state_seal::RequestStateSeal;

/// Capacity of the change channel; a slower listener misses the oldest changes.
const CHANGES: usize = 64;

/// A change that clients can be notified of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FixtureChange {
    Tools,
    Prompts,
    Resource(String),
}

impl FixtureChange {
    /// The notification method.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        }
    }

    /// The notification parameters.
    pub(crate) fn params(&self) -> Value {
        match self {
            Self::Tools | Self::Prompts => json!({}),
            Self::Resource(uri) => json!({ "uri": uri }),
        }
    }
}

/// One server for many concurrent clients of both eras.
#[derive(Debug)]
pub struct McpFixture {
    pub(crate) changes: broadcast::Sender<FixtureChange>,
    pub(crate) seal: RequestStateSeal,
    /// Whether the dynamic tool is listed.
    pub(crate) extra_tool: AtomicBool,
    /// Whether the dynamic prompt is listed.
    pub(crate) extra_prompt: AtomicBool,
    sessions: Mutex<HashMap<String, Arc<FixtureSession>>>,
    calls: AtomicU64,
    cancelled: AtomicU64,
}

impl McpFixture {
    /// Creates a server without sessions.
    pub fn new() -> Result<Self, getrandom::Error> {
        Ok(Self {
            changes: broadcast::channel(CHANGES).0,
            seal: RequestStateSeal::new()?,
            extra_tool: AtomicBool::new(false),
            extra_prompt: AtomicBool::new(false),
            sessions: Mutex::default(),
            calls: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
        })
    }

    /// Number of `echo` calls.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Number of requests cancelled by clients.
    pub fn cancelled(&self) -> u64 {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_cancelled(&self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }

    /// Opens a session under a new id.
    pub(crate) fn open_session(&self, session: FixtureSession) -> Result<String, getrandom::Error> {
        let mut id = [0; 16];
        getrandom::fill(&mut id)?;
        let id = hex::encode(id);
        lock(&self.sessions).insert(id.clone(), Arc::new(session));
        Ok(id)
    }

    pub(crate) fn session(&self, id: &str) -> Option<Arc<FixtureSession>> {
        lock(&self.sessions).get(id).cloned()
    }

    /// Ends a session; false if there is none.
    pub(crate) fn close_session(&self, id: &str) -> bool {
        let session = lock(&self.sessions).remove(id);
        session.inspect(|session| session.ended.cancel()).is_some()
    }

    /// Notifies listeners, if any.
    pub(crate) fn notify_change(&self, change: FixtureChange) {
        let _ = self.changes.send(change);
    }
}

/// Locks a mutex, ignoring poison: a panic cannot leave these maps inconsistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
