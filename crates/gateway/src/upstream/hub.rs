//! Where what a server says finds the client it is meant for.
//!
//! A message that arrives on the stream of a request belongs to that request. Where one stream
//! carries everything (a process, or the standing stream of a session), progress is told apart by
//! its token, and the rest goes to the one client the conversation belongs to. A conversation that
//! several clients share passes on only what certainly belongs to one of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cynode_runtime::tasks::Tasks;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::link::{Link, LinkError};
use super::message::{self, Incoming, Origin};
use crate::rpc::{self, INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError};
use crate::seams::ClientSide;

/// How many questions of a server may wait for its client at once.
const QUESTIONS: usize = 64;
/// How long a client may hold up the stream that others read from, too.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ids of requests to servers; process-wide, so that a token never means two things.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// An id that no request had before.
pub(super) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// Who a conversation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    /// One session.
    Exclusive,
    /// Whoever needs nothing but answers.
    Shared,
}

/// Where a message was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// On the stream of the request with this id.
    During(u64),
    /// On a stream for everything.
    Standing,
}

/// The requests under way in one conversation, and those who listen to it.
pub(super) struct Hub {
    pub(super) link: Arc<dyn Link>,
    pub(super) ownership: Ownership,
    pub(super) tasks: Tasks,
    /// Ends with the conversation.
    pub(super) closed: CancellationToken,
    /// Told when the server's lists change.
    pub(super) changed: Arc<Notify>,
    /// Ends when the stream for everything is there, or is known not to come.
    pub(super) standing: CancellationToken,
    calls: Mutex<HashMap<u64, Arc<Call>>>,
    /// Who hears what belongs to no request, by session.
    listeners: Mutex<BTreeMap<String, Arc<dyn ClientSide>>>,
    questions: AtomicUsize,
}

/// What a request gets.
pub(super) type Answer = Result<Box<RawValue>, LinkError>;

/// A request under way.
pub(super) struct Call {
    pub(super) client: Arc<dyn ClientSide>,
    pub(super) origin: Origin,
    /// Where the answer goes, on links that have one stream for all.
    reply: Mutex<Option<oneshot::Sender<Answer>>>,
    /// Whether something was heard of it since the last look.
    pub(super) stirred: AtomicBool,
}

impl Hub {
    pub(super) fn new(
        link: Arc<dyn Link>,
        ownership: Ownership,
        tasks: Tasks,
        changed: Arc<Notify>,
    ) -> Arc<Self> {
        Arc::new(Self {
            link,
            ownership,
            tasks,
            closed: CancellationToken::new(),
            changed,
            standing: CancellationToken::new(),
            calls: Mutex::default(),
            listeners: Mutex::default(),
            questions: AtomicUsize::new(0),
        })
    }

    /// A request begins.
    pub(super) fn begin(&self, id: u64, client: Arc<dyn ClientSide>, origin: Origin) {
        let (reply, stirred) = (Mutex::default(), AtomicBool::new(false));
        lock(&self.calls).insert(id, Arc::new(Call { client, origin, reply, stirred }));
    }

    /// A request is over.
    pub(super) fn end(&self, id: u64) {
        lock(&self.calls).remove(&id);
    }

    pub(super) fn call(&self, id: u64) -> Option<Arc<Call>> {
        lock(&self.calls).get(&id).cloned()
    }

    /// Where the answer to a request will arrive that is heard on a stream for everything.
    pub(super) fn expect(&self, id: u64) -> Option<oneshot::Receiver<Answer>> {
        let (sender, receiver) = oneshot::channel();
        *lock(&self.call(id)?.reply) = Some(sender);
        Some(receiver)
    }

    /// Hands an answer to whoever waits for it.
    pub(super) fn settle(&self, id: u64, answer: Answer) {
        let reply = self.call(id).and_then(|call| lock(&call.reply).take());
        if let Some(reply) = reply {
            // Whoever waited may have given up in the meantime.
            let _ = reply.send(answer);
        }
    }

    /// No answer will come any more.
    pub(super) fn fail_all(&self, error: &LinkError) {
        let ids: Vec<u64> = lock(&self.calls).keys().copied().collect();
        for id in ids {
            self.settle(id, Err(error.clone()));
        }
    }

    /// Adds somebody who hears what belongs to no request; says if the session had nobody yet.
    pub(super) fn add_listener(&self, session: &str, client: &Arc<dyn ClientSide>) -> bool {
        let mut listeners = lock(&self.listeners);
        if listeners.contains_key(session) {
            return false;
        }
        listeners.insert(session.to_owned(), Arc::clone(client)).is_none()
    }

    /// A session is over.
    pub(super) fn remove_listener(&self, session: &str) {
        lock(&self.listeners).remove(session);
    }

    fn listeners(&self) -> Vec<Arc<dyn ClientSide>> {
        lock(&self.listeners).values().cloned().collect()
    }

    /// Tells everybody who listens; for what was subscribed to on their behalf.
    pub(super) async fn broadcast(&self, message: Box<RawValue>) {
        for client in self.listeners() {
            let _ = tokio::time::timeout(PATIENCE, client.notify(message.clone())).await;
        }
    }

    /// Whether the server waits for its client.
    pub(super) fn has_questions(&self) -> bool {
        self.questions.load(Ordering::Relaxed) > 0
    }

    /// Takes a message of the server that is not the answer to a request on a stream of its own.
    pub(super) async fn hear(self: &Arc<Self>, message: Box<RawValue>, heard: Heard) {
        match Incoming::read(&message) {
            Ok(Incoming::Request { id, method }) => {
                let id = id.to_owned();
                self.answer(message, &id, &method, heard);
            }
            Ok(Incoming::Notification { method, params }) => {
                self.pass_on(&message, &method, params, heard).await;
            }
            Ok(Incoming::Response { id: Some(id), .. }) if heard == Heard::Standing => {
                self.settle(id, Ok(message));
            }
            Ok(Incoming::Response { .. }) => {
                tracing::debug!("a server answered what was not asked");
            }
            Err(error) => tracing::debug!(%error, "a server said something unintelligible"),
        }
    }

    async fn pass_on(
        &self,
        message: &RawValue,
        method: &str,
        params: Option<&RawValue>,
        heard: Heard,
    ) {
        if method.ends_with("/list_changed") {
            self.changed.notify_one();
        }
        let call = match (method, heard) {
            ("notifications/progress", _) => {
                message::progress_token(params).and_then(|id| self.call(id))
            }
            (_, Heard::During(id)) => self.call(id),
            (_, Heard::Standing) => None,
        };
        if let Some(call) = call {
            call.stirred.store(true, Ordering::Relaxed);
            let renamed = message::for_client(method, params, &call.origin);
            let renamed = renamed.unwrap_or_else(|| message.to_owned());
            self.tell(&call.client, renamed, heard).await;
        } else if method != "notifications/progress" {
            for client in self.audience(method) {
                self.tell(&client, message.to_owned(), heard).await;
            }
        }
    }

    async fn tell(&self, client: &Arc<dyn ClientSide>, message: Box<RawValue>, heard: Heard) {
        match heard {
            // Only this request waits: its client may take its time.
            Heard::During(_) => client.notify(message).await,
            Heard::Standing => {
                let _ = tokio::time::timeout(PATIENCE, client.notify(message)).await;
            }
        }
    }

    /// Who may hear a notification that belongs to no request.
    fn audience(&self, method: &str) -> Vec<Arc<dyn ClientSide>> {
        match method {
            // That a list changed is no secret of anybody.
            method if method.ends_with("/list_changed") => self.listeners(),
            "notifications/resources/updated" => {
                self.listener().or_else(|| self.only_caller()).into_iter().collect()
            }
            _ => self.only_caller().or_else(|| self.listener()).into_iter().collect(),
        }
    }

    /// The client of the only request under way; any of them if all are of one session.
    fn only_caller(&self) -> Option<Arc<dyn ClientSide>> {
        let calls = lock(&self.calls);
        let newest =
            calls.iter().max_by_key(|(id, _)| **id).map(|(_, call)| Arc::clone(&call.client));
        newest.filter(|_| self.ownership == Ownership::Exclusive || calls.len() == 1)
    }

    /// Answers a question of the server, beside everything else.
    fn answer(
        self: &Arc<Self>,
        question: Box<RawValue>,
        id: &RawValue,
        method: &str,
        heard: Heard,
    ) {
        let hub = Arc::clone(self);
        let refuse = |code, text: &str| rpc::error(Some(id), &RpcError::new(code, text));
        if method == "ping" {
            let pong = rpc::result(id, "{}");
            return self.tasks.spawn("upstream-pong", async move { hub.send_back(pong).await });
        }
        let client = match heard {
            Heard::During(call) => self.call(call).map(|call| Arc::clone(&call.client)),
            Heard::Standing => self.only_caller().or_else(|| self.listener()),
        };
        let Some(client) = client else {
            let text = refuse(METHOD_NOT_FOUND, "there is no client to ask");
            return self.tasks.spawn("upstream-refusal", async move { hub.send_back(text).await });
        };
        if self.questions.fetch_add(1, Ordering::Relaxed) >= QUESTIONS {
            self.questions.fetch_sub(1, Ordering::Relaxed);
            let text = refuse(INTERNAL_ERROR, "too many questions at once");
            return self.tasks.spawn("upstream-refusal", async move { hub.send_back(text).await });
        }
        let gone = refuse(INTERNAL_ERROR, "the client is gone, or cannot be asked");
        self.tasks.spawn("upstream-question", async move {
            let _pending = Pending(&hub.questions);
            tokio::select! {
                () = hub.closed.cancelled() => {}
                answer = client.ask(question) => {
                    let text = answer.map_or(gone, |answer| answer.get().to_owned());
                    hub.send_back(text).await;
                }
            }
        });
    }

    /// The one session of the conversation, if it has only one.
    fn listener(&self) -> Option<Arc<dyn ClientSide>> {
        self.listeners().pop().filter(|_| self.ownership == Ownership::Exclusive)
    }

    async fn send_back(&self, text: String) {
        if let Err(error) = self.link.send(&text).await {
            tracing::debug!(?error, "an answer did not reach the server");
        }
    }
}

/// Counts a question until it is answered.
struct Pending<'a>(&'a AtomicUsize);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
