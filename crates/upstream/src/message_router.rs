//! Routes messages of a server to the client they belong to.
//!
//! A message on the stream of a request belongs to that request. Where one stream carries
//! everything (a process, or the standing stream of a session), progress is routed by its token,
//! and other messages go to the only client of the upstream session. A shared upstream session
//! forwards only messages that certainly belong to one of its clients.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cynode_runtime::tasks::BackgroundTasks;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::link::{UpstreamLink, UpstreamLinkError};
use super::message::{self, ClientRequestIds, ServerMessage};
use crate::interface::UpstreamClient;
use crate::rpc;
use crate::rpc::INTERNAL_ERROR;
use crate::rpc::METHOD_NOT_FOUND;
use crate::rpc::RpcError;

/// Requests of a server that may wait for its client at once.
const MAX_SERVER_REQUESTS: usize = 64;
/// How long a slow client may block a stream that other clients share.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(2);

/// Request ids sent to servers; process-wide, so that a progress token is never ambiguous.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

pub(super) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionOwnership {
    /// One client session.
    Exclusive,
    /// Every client that only sends requests.
    Shared,
}

/// The stream that a message arrived on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageSource {
    /// The stream of the request with this id.
    RequestStream(u64),
    /// A stream for all messages: a process, or the standing stream of a session.
    StandingStream,
}

/// The requests in flight in one upstream session, and its listeners.
pub(super) struct MessageRouter {
    pub(super) link: Arc<dyn UpstreamLink>,
    pub(super) ownership: SessionOwnership,
    pub(super) tasks: BackgroundTasks,
    /// Canceled when the upstream session closes.
    pub(super) closed: CancellationToken,
    /// Notified when the server's lists change.
    pub(super) changed: Arc<Notify>,
    /// Canceled when the standing stream is open, or known not to open.
    pub(super) standing_stream: CancellationToken,
    calls: Mutex<HashMap<u64, Arc<PendingCall>>>,
    /// Receivers of messages that belong to no request, by session.
    listeners: Mutex<BTreeMap<String, Arc<dyn UpstreamClient>>>,
    pending_server_requests: AtomicUsize,
}

pub(super) type ServerResponse = Result<Box<RawValue>, UpstreamLinkError>;

/// A request in flight.
pub(super) struct PendingCall {
    pub(super) client: Arc<dyn UpstreamClient>,
    pub(super) origin: ClientRequestIds,
    /// Receives the response, on links with one stream for all requests.
    reply: Mutex<Option<oneshot::Sender<ServerResponse>>>,
    /// Whether the server sent anything about it since the last check.
    pub(super) has_activity: AtomicBool,
}

impl MessageRouter {
    pub(super) fn new(
        link: Arc<dyn UpstreamLink>,
        ownership: SessionOwnership,
        tasks: BackgroundTasks,
        changed: Arc<Notify>,
    ) -> Arc<Self> {
        Arc::new(Self {
            link,
            ownership,
            tasks,
            closed: CancellationToken::new(),
            changed,
            standing_stream: CancellationToken::new(),
            calls: Mutex::default(),
            listeners: Mutex::default(),
            pending_server_requests: AtomicUsize::new(0),
        })
    }

    /// Registers a request.
    pub(super) fn register_call(
        &self,
        id: u64,
        client: Arc<dyn UpstreamClient>,
        origin: ClientRequestIds,
    ) {
        let (reply, stirred) = (Mutex::default(), AtomicBool::new(false));
        lock(&self.calls)
            .insert(id, Arc::new(PendingCall { client, origin, reply, has_activity: stirred }));
    }

    /// Removes a finished request.
    pub(super) fn remove_call(&self, id: u64) {
        lock(&self.calls).remove(&id);
    }

    pub(super) fn call(&self, id: u64) -> Option<Arc<PendingCall>> {
        lock(&self.calls).get(&id).cloned()
    }

    /// The receiver of a response that arrives on a stream for all messages.
    pub(super) fn await_response(&self, id: u64) -> Option<oneshot::Receiver<ServerResponse>> {
        let (sender, receiver) = oneshot::channel();
        *lock(&self.call(id)?.reply) = Some(sender);
        Some(receiver)
    }

    /// Delivers a response to its waiting caller.
    pub(super) fn deliver_response(&self, id: u64, answer: ServerResponse) {
        let reply = self.call(id).and_then(|call| lock(&call.reply).take());
        if let Some(reply) = reply {
            // The caller may have been dropped in the meantime.
            let _ = reply.send(answer);
        }
    }

    /// Fails every request in flight.
    pub(super) fn fail_all(&self, error: &UpstreamLinkError) {
        let ids: Vec<u64> = lock(&self.calls).keys().copied().collect();
        for id in ids {
            self.deliver_response(id, Err(error.clone()));
        }
    }

    /// Adds a receiver of messages outside of requests; returns whether the session had none.
    pub(super) fn add_listener(&self, session: &str, client: &Arc<dyn UpstreamClient>) -> bool {
        let mut listeners = lock(&self.listeners);
        if listeners.contains_key(session) {
            return false;
        }
        listeners.insert(session.to_owned(), Arc::clone(client)).is_none()
    }

    pub(super) fn remove_listener(&self, session: &str) {
        lock(&self.listeners).remove(session);
    }

    fn listeners(&self) -> Vec<Arc<dyn UpstreamClient>> {
        lock(&self.listeners).values().cloned().collect()
    }

    /// Notifies every listener; for subscriptions that were made on their behalf.
    pub(super) async fn broadcast(&self, message: Box<RawValue>) {
        for client in self.listeners() {
            let _ = tokio::time::timeout(NOTIFY_TIMEOUT, client.notify(message.clone())).await;
        }
    }

    /// Whether a request of the server waits for its client.
    pub(super) fn has_pending_server_requests(&self) -> bool {
        self.pending_server_requests.load(Ordering::Relaxed) > 0
    }

    /// Handles a server message other than the response on a request's own stream.
    pub(super) async fn route_message(
        self: &Arc<Self>,
        message: Box<RawValue>,
        source: MessageSource,
    ) {
        match ServerMessage::read(&message) {
            Ok(ServerMessage::Request { id, method }) => {
                let id = id.to_owned();
                self.answer_server_request(message, &id, &method, source);
            }
            Ok(ServerMessage::Notification { method, params }) => {
                self.route_notification(&message, &method, params, source).await;
            }
            Ok(ServerMessage::Response { id: Some(id), .. })
                if source == MessageSource::StandingStream =>
            {
                self.deliver_response(id, Ok(message));
            }
            Ok(ServerMessage::Response { .. }) => {
                tracing::debug!("unexpected response from server");
            }
            Err(error) => tracing::debug!(%error, "invalid message from server"),
        }
    }

    async fn route_notification(
        &self,
        message: &RawValue,
        method: &str,
        params: Option<&RawValue>,
        source: MessageSource,
    ) {
        if method.ends_with("/list_changed") {
            self.changed.notify_one();
        }
        let call = match (method, source) {
            ("notifications/progress", _) => {
                message::progress_token(params).and_then(|id| self.call(id))
            }
            (_, MessageSource::RequestStream(id)) => self.call(id),
            (_, MessageSource::StandingStream) => None,
        };
        if let Some(call) = call {
            call.has_activity.store(true, Ordering::Relaxed);
            let renamed = message::notification_for_client(method, params, &call.origin);
            let renamed = renamed.unwrap_or_else(|| message.to_owned());
            self.notify_client(&call.client, renamed, source).await;
        } else if method != "notifications/progress" {
            for client in self.notification_receivers(method) {
                self.notify_client(&client, message.to_owned(), source).await;
            }
        }
    }

    async fn notify_client(
        &self,
        client: &Arc<dyn UpstreamClient>,
        message: Box<RawValue>,
        source: MessageSource,
    ) {
        match source {
            // Only this request waits, so its client may be slow.
            MessageSource::RequestStream(_) => client.notify(message).await,
            MessageSource::StandingStream => {
                let _ = tokio::time::timeout(NOTIFY_TIMEOUT, client.notify(message)).await;
            }
        }
    }

    /// The receivers of a notification that belongs to no request.
    fn notification_receivers(&self, method: &str) -> Vec<Arc<dyn UpstreamClient>> {
        match method {
            // A list change is not confidential: every listener receives it.
            method if method.ends_with("/list_changed") => self.listeners(),
            "notifications/resources/updated" => {
                self.only_listener().or_else(|| self.only_caller()).into_iter().collect()
            }
            _ => self.only_caller().or_else(|| self.only_listener()).into_iter().collect(),
        }
    }

    /// The client of the only request in flight; any of them if all belong to one session.
    fn only_caller(&self) -> Option<Arc<dyn UpstreamClient>> {
        let calls = lock(&self.calls);
        let newest =
            calls.iter().max_by_key(|(id, _)| **id).map(|(_, call)| Arc::clone(&call.client));
        newest.filter(|_| self.ownership == SessionOwnership::Exclusive || calls.len() == 1)
    }

    /// Answers a request of the server in a background task.
    fn answer_server_request(
        self: &Arc<Self>,
        question: Box<RawValue>,
        id: &RawValue,
        method: &str,
        source: MessageSource,
    ) {
        let router = Arc::clone(self);
        let refuse = |code, text: &str| rpc::error(Some(id), &RpcError::new(code, text));
        if method == "ping" {
            let pong = rpc::render_result(id, "{}");
            return self
                .tasks
                .spawn("upstream-pong", async move { router.send_response(pong).await });
        }
        let client = match source {
            MessageSource::RequestStream(call) => {
                self.call(call).map(|call| Arc::clone(&call.client))
            }
            MessageSource::StandingStream => self.only_caller().or_else(|| self.only_listener()),
        };
        let Some(client) = client else {
            let text = refuse(METHOD_NOT_FOUND, "no client is connected that could answer");
            return self
                .tasks
                .spawn("upstream-refusal", async move { router.send_response(text).await });
        };
        if self.pending_server_requests.fetch_add(1, Ordering::Relaxed) >= MAX_SERVER_REQUESTS {
            self.pending_server_requests.fetch_sub(1, Ordering::Relaxed);
            let text = refuse(INTERNAL_ERROR, "too many concurrent requests to the client");
            return self
                .tasks
                .spawn("upstream-refusal", async move { router.send_response(text).await });
        }
        let gone = refuse(INTERNAL_ERROR, "the client has disconnected, or accepts no requests");
        self.tasks.spawn("upstream-question", async move {
            let _pending = ServerRequestGuard(&router.pending_server_requests);
            tokio::select! {
                () = router.closed.cancelled() => {}
                answer = client.ask(question) => {
                    let text = answer.map_or(gone, |answer| answer.get().to_owned());
                    router.send_response(text).await;
                }
            }
        });
    }

    /// The only client session; `None` if the upstream session is shared.
    fn only_listener(&self) -> Option<Arc<dyn UpstreamClient>> {
        self.listeners().pop().filter(|_| self.ownership == SessionOwnership::Exclusive)
    }

    async fn send_response(&self, text: String) {
        if let Err(error) = self.link.send(&text).await {
            tracing::debug!(?error, "sending a response to the server failed");
        }
    }
}

/// Counts a server request until it is answered.
struct ServerRequestGuard<'a>(&'a AtomicUsize);

impl Drop for ServerRequestGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
