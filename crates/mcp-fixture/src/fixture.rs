//! What the whole server shares: its sessions, its counters and who hears of changes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::seal::Seal;
use crate::session::Session;

/// A listener that is this many changes behind misses the oldest ones.
const CHANGES: usize = 64;

/// Something that a client may want to hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resource(String),
}

impl Change {
    /// The notification that tells of it.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        }
    }

    /// The parameters of that notification.
    pub(crate) fn params(&self) -> Value {
        match self {
            Self::Tools | Self::Prompts => json!({}),
            Self::Resource(uri) => json!({ "uri": uri }),
        }
    }
}

/// One server: many clients of both eras may use it at once.
#[derive(Debug)]
pub struct Fixture {
    pub(crate) changes: broadcast::Sender<Change>,
    pub(crate) seal: Seal,
    /// Whether the list of tools has the one that comes and goes.
    pub(crate) extra_tool: AtomicBool,
    /// Whether the list of prompts has the one that comes and goes.
    pub(crate) extra_prompt: AtomicBool,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    calls: AtomicU64,
    cancelled: AtomicU64,
}

impl Fixture {
    /// A server without clients.
    pub fn new() -> Result<Self, getrandom::Error> {
        Ok(Self {
            changes: broadcast::channel(CHANGES).0,
            seal: Seal::new()?,
            extra_tool: AtomicBool::new(false),
            extra_prompt: AtomicBool::new(false),
            sessions: Mutex::default(),
            calls: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
        })
    }

    /// How often `echo` ran.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// How many requests a client cancelled while they ran.
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
    pub(crate) fn open(&self, session: Session) -> Result<String, getrandom::Error> {
        let mut id = [0; 16];
        getrandom::fill(&mut id)?;
        let id = hex::encode(id);
        locked(&self.sessions).insert(id.clone(), Arc::new(session));
        Ok(id)
    }

    pub(crate) fn session(&self, id: &str) -> Option<Arc<Session>> {
        locked(&self.sessions).get(id).cloned()
    }

    /// Ends a session; false if there is none.
    pub(crate) fn close(&self, id: &str) -> bool {
        let session = locked(&self.sessions).remove(id);
        session.inspect(|session| session.ended.cancel()).is_some()
    }

    /// Tells whoever listens; nobody has to.
    pub(crate) fn announce(&self, change: Change) {
        let _ = self.changes.send(change);
    }
}

/// The value behind a lock. A panic elsewhere leaves these plain maps in order.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
