//! Sessions of clients that speak a revision with sessions.
//!
//! Sessions live in memory. Their number is bounded for each token, for each user and in total. A token or user at its limit
//! loses its least recently used session; at the total limit no session is opened. A client whose session was removed
//! gets a 404 and opens another.
//!
//! Invariant: a session is found only with the token that opened it, at the address where it was
//! opened.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cynode_domain::ids::UserId;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::identity::TokenHash;
use crate::options::GatewayOptions;
use cynode_upstream::interface::ClientDescription;
use cynode_upstream::interface::ClientUnreachable;
use cynode_upstream::interface::SessionKey;
use cynode_upstream::rpc;
use cynode_upstream::rpc::RawFields;

/// Messages that are buffered for a slow client before its stream is closed.
const STREAM_BUFFER: usize = 256;

pub(crate) struct GatewaySessions {
    open: Mutex<HashMap<String, Arc<GatewaySession>>>,
    per_token_limit: usize,
    per_user_limit: usize,
    total_limit: usize,
    idle: Duration,
}

/// Why a session could not be opened. No session was removed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenSessionError {
    /// The total limit is reached, and no session is idle.
    #[error("too many sessions; try again later")]
    LimitReached,
    /// The system has no randomness for the id.
    #[error("the session id cannot be generated")]
    NoRandomness,
}

/// One client session.
pub(crate) struct GatewaySession {
    /// The `Mcp-Session-Id`.
    pub(crate) id: String,
    owner: TokenHash,
    user: UserId,
    /// The server slug at `/mcp/<server>`; `None` at `/mcp`.
    server_slug: Option<String>,
    pub(crate) client_description: Arc<ClientDescription>,
    last_used: Mutex<Instant>,
    /// Client requests in flight, by their id.
    calls: Mutex<HashMap<String, CancellationToken>>,
    /// Requests to the client that await a response, by the gateway's id.
    pending_requests: Mutex<HashMap<u64, oneshot::Sender<Box<RawValue>>>>,
    next_request_id: AtomicU64,
    /// The stream for messages that belong to no request.
    stream: Mutex<Option<mpsc::Sender<Box<RawValue>>>>,
}

impl GatewaySessions {
    pub(crate) fn new(options: &GatewayOptions) -> Self {
        Self {
            open: Mutex::default(),
            per_token_limit: options.sessions_per_token as usize,
            per_user_limit: options.sessions_per_user as usize,
            total_limit: options.sessions as usize,
            idle: Duration::from_secs(options.session_idle_seconds),
        }
    }

    /// Opens a session. Returns it and the removed sessions, whose upstream connections the caller must close: idle ones,
    /// and those that the limits of the token and of the user evicted.
    pub(crate) fn open(
        &self,
        (owner, user): (TokenHash, UserId),
        server_slug: Option<String>,
        client_description: ClientDescription,
    ) -> Result<(Arc<GatewaySession>, Vec<Arc<GatewaySession>>), OpenSessionError> {
        // Before any session is removed.
        let id = generate_session_id().ok_or(OpenSessionError::NoRandomness)?;
        let mut open = lock(&self.open);
        let mut ended = remove_if(&mut open, |session| session.idle_for() > self.idle);
        ended.extend(evict(&mut open, self.per_token_limit, |session| session.owner == owner));
        ended.extend(evict(&mut open, self.per_user_limit, |session| session.user == user));
        if open.len() >= self.total_limit {
            return Err(OpenSessionError::LimitReached);
        }
        let session =
            Arc::new(GatewaySession::new(id, (owner, user), server_slug, client_description));
        open.insert(session.id.clone(), Arc::clone(&session));
        Ok((session, ended))
    }

    /// The session with this id, if it belongs to this token and address.
    pub(crate) fn get(
        &self,
        id: &str,
        owner: &TokenHash,
        server_slug: Option<&str>,
    ) -> Option<Arc<GatewaySession>> {
        let session = lock(&self.open).get(id).cloned()?;
        if session.owner != *owner || session.server_slug.as_deref() != server_slug {
            return None;
        }
        *lock(&session.last_used) = Instant::now();
        Some(session)
    }

    pub(crate) fn close(&self, session: &GatewaySession) {
        lock(&self.open).remove(&session.id);
        session.cancel_all();
    }

    /// Removes and returns idle sessions.
    pub(crate) fn remove_idle(&self) -> Vec<Arc<GatewaySession>> {
        remove_if(&mut lock(&self.open), |session| session.idle_for() > self.idle)
    }

    /// Sends a message to every client with an open stream.
    pub(crate) fn broadcast(&self, message: &RawValue) {
        let all: Vec<_> = lock(&self.open).values().cloned().collect();
        for session in all {
            session.send_notification(message.to_owned());
        }
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.open).len()
    }
}

/// Removes the least recently used of the matching sessions if they have reached the limit, and cancels its requests.
fn evict(
    open: &mut HashMap<String, Arc<GatewaySession>>,
    limit: usize,
    matches: impl Fn(&GatewaySession) -> bool,
) -> Option<Arc<GatewaySession>> {
    let own = || open.values().filter(|session| matches(session));
    if own().count() < limit {
        return None;
    }
    let oldest = own().max_by_key(|session| session.idle_for())?.id.clone();
    open.remove(&oldest).inspect(|session| session.cancel_all())
}

/// `None` if the system has no randomness.
fn generate_session_id() -> Option<String> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits).ok()?;
    Some(hex::encode(bits))
}

fn remove_if(
    open: &mut HashMap<String, Arc<GatewaySession>>,
    is_over: impl Fn(&GatewaySession) -> bool,
) -> Vec<Arc<GatewaySession>> {
    let mut ended = vec![];
    open.retain(|_, session| {
        let is_over = is_over(session);
        if is_over {
            session.cancel_all();
            ended.push(Arc::clone(session));
        }
        !is_over
    });
    ended
}

impl GatewaySession {
    fn new(
        id: String,
        (owner, user): (TokenHash, UserId),
        server_slug: Option<String>,
        client_description: ClientDescription,
    ) -> Self {
        Self {
            id,
            owner,
            user,
            server_slug,
            client_description: Arc::new(client_description),
            last_used: Mutex::new(Instant::now()),
            calls: Mutex::default(),
            pending_requests: Mutex::default(),
            next_request_id: AtomicU64::new(1),
            stream: Mutex::default(),
        }
    }

    /// Identifies this session to upstream servers.
    pub(crate) fn key(&self) -> SessionKey {
        SessionKey { id: self.id.clone(), is_stateless: false }
    }

    fn idle_for(&self) -> Duration {
        // A client with an open stream or a request in flight is not idle.
        let listens = lock(&self.stream).as_ref().is_some_and(|stream| !stream.is_closed());
        if listens || !lock(&self.calls).is_empty() {
            Duration::ZERO
        } else {
            lock(&self.last_used).elapsed()
        }
    }

    /// Cancels every request in flight, in both directions, and ends the stream.
    fn cancel_all(&self) {
        for (_, call) in lock(&self.calls).drain() {
            call.cancel();
        }
        lock(&self.pending_requests).clear();
        lock(&self.stream).take();
    }

    /// Registers a request in flight until the guard is dropped.
    pub(crate) fn register_request(
        self: &Arc<Self>,
        id: &RawValue,
        cancel: CancellationToken,
    ) -> InFlightGuard {
        lock(&self.calls).insert(id.get().to_owned(), cancel);
        InFlightGuard { session: Arc::clone(self), id: id.get().to_owned() }
    }

    /// Cancels a request.
    pub(crate) fn cancel_request(&self, id: &RawValue) {
        if let Some(call) = lock(&self.calls).get(id.get()) {
            call.cancel();
        }
    }

    /// Opens the stream for messages that belong to no request; an earlier one ends.
    pub(crate) fn open_stream(&self) -> mpsc::Receiver<Box<RawValue>> {
        let (sender, receiver) = mpsc::channel(STREAM_BUFFER);
        *lock(&self.stream) = Some(sender);
        receiver
    }

    /// Sends a message that belongs to no request. If the client does not keep up, its stream is
    /// closed; it must reload on reconnect.
    pub(crate) fn send_notification(&self, message: Box<RawValue>) {
        let mut stream = lock(&self.stream);
        if stream.as_ref().is_some_and(|sender| sender.try_send(message).is_err()) {
            *stream = None;
        }
    }

    /// Sends `request` to the client through `send` under an id of the gateway, waits for the
    /// response and returns it with the original id.
    pub(crate) async fn relay_request_to_client(
        &self,
        request: &RawValue,
        send: &mpsc::Sender<Box<RawValue>>,
    ) -> Result<Box<RawValue>, ClientUnreachable> {
        let fields = RawFields::read(request).map_err(|_| ClientUnreachable)?;
        let (id, method) = (
            fields.get("id").ok_or(ClientUnreachable)?,
            fields.text("method").ok_or(ClientUnreachable)?,
        );
        let params = fields.get("params").map_or("{}", RawValue::get);
        let ours = self.next_request_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        lock(&self.pending_requests).insert(ours, sender);
        let _forget = PendingRequestGuard { session: self, request_id: ours };
        send.send(rpc::request(&ours.to_string(), &method, params))
            .await
            .map_err(|_| ClientUnreachable)?;
        let answer = receiver.await.map_err(|_| ClientUnreachable)?;
        let answer = RawFields::read(&answer).map_err(|_| ClientUnreachable)?;
        let (name, value) = match (answer.get("result"), answer.get("error")) {
            (Some(result), None) => ("result", result),
            (None, Some(error)) => ("error", error),
            _ => return Err(ClientUnreachable),
        };
        Ok(rpc::raw(format!(r#"{{"jsonrpc":"2.0","id":{},"{name}":{}}}"#, id.get(), value.get())))
    }

    /// Sends a request on the stream for messages that belong to no request.
    pub(crate) async fn send_request_on_stream(
        &self,
        request: &RawValue,
    ) -> Result<Box<RawValue>, ClientUnreachable> {
        let stream = lock(&self.stream).clone().ok_or(ClientUnreachable)?;
        self.relay_request_to_client(request, &stream).await
    }

    /// Accepts the client's response; returns whether a request was waiting for it.
    pub(crate) fn resolve_pending_request(&self, id: &RawValue, answer: Box<RawValue>) -> bool {
        let waiting =
            id.get().parse().ok().and_then(|id: u64| lock(&self.pending_requests).remove(&id));
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }
}

/// Guard of a client request in flight.
pub(crate) struct InFlightGuard {
    session: Arc<GatewaySession>,
    id: String,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        lock(&self.session.calls).remove(&self.id);
        *lock(&self.session.last_used) = Instant::now();
    }
}

struct PendingRequestGuard<'a> {
    session: &'a GatewaySession,
    request_id: u64,
}

impl Drop for PendingRequestGuard<'_> {
    fn drop(&mut self) {
        lock(&self.session.pending_requests).remove(&self.request_id);
    }
}

/// No holder of these locks can leave a partial change behind, so a poisoned lock is usable.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::hash_token;

    fn about() -> ClientDescription {
        let capabilities = rpc::raw("{}".to_owned());
        ClientDescription { version: "2025-11-25".to_owned(), capabilities, info: None }
    }

    /// A token; all tokens belong to one user.
    fn caller(token: &str) -> (TokenHash, UserId) {
        (hash_token(token), UserId::from_uuid(uuid::Uuid::nil()))
    }

    fn sessions(per_token: u32, in_all: u32) -> GatewaySessions {
        let limits = GatewayOptions {
            sessions_per_token: per_token,
            sessions: in_all,
            ..Default::default()
        };
        GatewaySessions::new(&limits)
    }

    #[test]
    fn a_session_is_found_only_by_its_token_and_at_its_address() {
        let sessions = sessions(9, 9);
        let (session, _) = sessions.open(caller("a"), Some("files".to_owned()), about()).unwrap();

        assert!(sessions.get(&session.id, &hash_token("a"), Some("files")).is_some());
        assert!(sessions.get(&session.id, &hash_token("b"), Some("files")).is_none());
        assert!(sessions.get(&session.id, &hash_token("a"), None).is_none());
        sessions.close(&session);
        assert!(sessions.get(&session.id, &hash_token("a"), Some("files")).is_none());
    }

    #[test]
    fn a_token_with_too_many_sessions_loses_the_one_it_used_least_recently() {
        let sessions = sessions(2, 9);
        let (first, _) = sessions.open(caller("a"), None, about()).unwrap();
        let (second, _) = sessions.open(caller("a"), None, about()).unwrap();
        sessions.get(&first.id, &hash_token("a"), None).unwrap();

        let (_, ended) = sessions.open(caller("a"), None, about()).unwrap();

        assert_eq!(ended.iter().map(|session| &session.id).collect::<Vec<_>>(), [&second.id]);
        assert_eq!(sessions.count(), 2);
    }

    #[test]
    fn a_user_with_many_tokens_does_not_fill_all_sessions() {
        let limits = GatewayOptions { sessions_per_user: 3, sessions: 4, ..Default::default() };
        let sessions = GatewaySessions::new(&limits);
        for token in 0..9 {
            sessions.open(caller(&token.to_string()), None, about()).unwrap();
        }
        assert_eq!(sessions.count(), 3);

        let other = (hash_token("other"), UserId::generate());
        let (kept, ended) = sessions.open(other, None, about()).unwrap();

        assert!(ended.is_empty());
        sessions.open(caller("9"), None, about()).unwrap();
        assert!(sessions.get(&kept.id, &hash_token("other"), None).is_some());
    }

    #[test]
    fn sessions_are_bounded_in_all() {
        let sessions = sessions(9, 1);
        sessions.open(caller("a"), None, about()).unwrap();

        assert_eq!(
            sessions.open(caller("b"), None, about()).err(),
            Some(OpenSessionError::LimitReached)
        );
    }

    #[tokio::test]
    async fn an_answer_of_the_client_finds_its_question_and_gets_its_id_back() {
        let sessions = sessions(9, 9);
        let (session, _) = sessions.open(caller("a"), None, about()).unwrap();
        let (sender, mut receiver) = mpsc::channel(1);
        let question = rpc::request("\"q\"", "sampling/createMessage", r#"{"n":1}"#);
        let client = async {
            let sent: Box<RawValue> = receiver.recv().await.unwrap();
            assert_eq!(
                sent.get(),
                r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"n":1}}"#
            );
            let answer = rpc::raw(r#"{"jsonrpc":"2.0","id":1,"result":{"x":2}}"#.to_owned());
            assert!(session.resolve_pending_request(&rpc::raw("1".to_owned()), answer.clone()));
            assert!(
                !session.resolve_pending_request(&rpc::raw("1".to_owned()), answer),
                "only once"
            );
        };

        let (answer, ()) =
            tokio::join!(session.relay_request_to_client(&question, &sender), client);

        assert_eq!(answer.unwrap().get(), r#"{"jsonrpc":"2.0","id":"q","result":{"x":2}}"#);
    }

    #[tokio::test]
    async fn evicting_a_busy_session_cancels_its_requests_in_both_directions() {
        let sessions = sessions(1, 9);
        let (session, _) = sessions.open(caller("a"), None, about()).unwrap();
        let (cancel, id) = (CancellationToken::new(), rpc::raw("7".to_owned()));
        let _call = session.register_request(&id, cancel.clone());
        let mut stream = session.open_stream();
        let question = rpc::request("\"q\"", "sampling/createMessage", "{}");
        let evict = async {
            stream.recv().await.unwrap();
            sessions.open(caller("a"), None, about()).unwrap();
            assert!(cancel.is_cancelled());
        };

        let (answer, ()) = tokio::join!(session.send_request_on_stream(&question), evict);

        assert!(
            answer.is_err(),
            "the upstream's request does not wait for a client without a session"
        );
        assert!(stream.recv().await.is_none());
    }

    #[tokio::test]
    async fn ending_a_session_withdraws_what_is_under_way() {
        let sessions = sessions(9, 9);
        let (session, _) = sessions.open(caller("a"), None, about()).unwrap();
        let (cancel, id) = (CancellationToken::new(), rpc::raw("7".to_owned()));
        let _call = session.register_request(&id, cancel.clone());
        let mut stream = session.open_stream();

        sessions.close(&session);

        assert!(cancel.is_cancelled());
        assert!(stream.recv().await.is_none());
    }
}
