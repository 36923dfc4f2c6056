//! Shared server state: sessions, counters and change notifications.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rmcp::model::{RequestStateCodec, ServerNotification};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::broadcast;

/// Capacity of the change channel; a slower listener misses the oldest changes.
const CHANGES: usize = 64;

/// How long a client waits before it resumes a stream.
const RETRY: Duration = Duration::from_millis(100);

/// One server for many concurrent clients of both eras.
#[derive(Debug)]
pub struct McpFixture {
    /// Notifications of changes, before they are filtered by subscription.
    pub(crate) changes: broadcast::Sender<ServerNotification>,
    /// Authenticates state that a stateless client echoes.
    pub(crate) request_states: RequestStateCodec,
    /// Sessions over HTTP.
    pub(crate) sessions: Arc<LocalSessionManager>,
    /// Whether the dynamic tool is listed.
    pub(crate) extra_tool: AtomicBool,
    /// Whether the dynamic prompt is listed.
    pub(crate) extra_prompt: AtomicBool,
    calls: AtomicU64,
    cancelled: AtomicU64,
}

impl McpFixture {
    /// Creates a server without sessions.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; RequestStateCodec::MIN_KEY_LENGTH];
        getrandom::fill(&mut key)?;
        let mut sessions = LocalSessionManager::default();
        // `echo` calls do not reach the session, which would seem idle.
        sessions.session_config.keep_alive = None;
        sessions.session_config.sse_retry = Some(RETRY);
        Ok(Self {
            changes: broadcast::channel(CHANGES).0,
            request_states: RequestStateCodec::new_unchecked(key),
            sessions: Arc::new(sessions),
            extra_tool: AtomicBool::new(false),
            extra_prompt: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
        })
    }

    /// Number of `echo` calls.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Number of tool calls cancelled by clients.
    pub fn cancelled(&self) -> u64 {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_cancelled(&self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }

    /// Notifies listeners, if any.
    pub(crate) fn notify_change(&self, change: ServerNotification) {
        let _ = self.changes.send(change);
    }
}
