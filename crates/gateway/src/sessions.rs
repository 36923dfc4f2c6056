//! Sessions of clients that speak a revision with sessions.
//!
//! They live in memory and are bounded: in all, and for each token. A token that opens too many
//! loses the one it used least recently; a client whose session is gone is told so (404) and opens
//! another.
//!
//! Invariant: a session is found only by the token that opened it, at the address it was opened at.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::identity::TokenHash;
use crate::options::GatewayOptions;
use crate::rpc::{self, Fields};
use crate::seams::{ClientAbout, Gone, SessionKey};

/// How many messages wait for a client that listens slowly before the oldest stream is given up.
const WAITING: usize = 256;

/// The sessions of one gateway.
pub(crate) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    per_token: usize,
    in_all: usize,
    idle: Duration,
}

/// There are too many sessions, and none of them is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// One client's conversation.
pub(crate) struct Session {
    /// What the client presents to be recognised.
    pub(crate) id: String,
    /// Whose it is.
    owner: TokenHash,
    /// Where it was opened: at one server, or at all of them.
    face: Option<String>,
    /// What the client told of itself.
    pub(crate) about: Arc<ClientAbout>,
    used: Mutex<Instant>,
    /// Requests of the client that are under way, by their id.
    calls: Mutex<HashMap<String, CancellationToken>>,
    /// Requests to the client that wait for an answer, by the id we gave them.
    asks: Mutex<HashMap<u64, oneshot::Sender<Box<RawValue>>>>,
    next_ask: AtomicU64,
    /// The stream on which the client hears what belongs to no request.
    stream: Mutex<Option<mpsc::Sender<Box<RawValue>>>>,
}

impl Sessions {
    pub(crate) fn new(options: &GatewayOptions) -> Self {
        Self {
            open: Mutex::default(),
            per_token: options.sessions_per_token as usize,
            in_all: options.sessions as usize,
            idle: Duration::from_secs(options.session_idle_seconds),
        }
    }

    /// Opens a session; gives along the one that had to go for it.
    pub(crate) fn open(
        &self,
        owner: TokenHash,
        face: Option<String>,
        about: ClientAbout,
    ) -> Result<(Arc<Session>, Vec<Arc<Session>>), Full> {
        let mut open = lock(&self.open);
        let mut ended = remove_if(&mut open, |session| session.idle_for() > self.idle);
        let own = |session: &&Arc<Session>| session.owner == owner;
        if open.values().filter(own).count() >= self.per_token {
            let oldest = open.values().filter(own).max_by_key(|session| session.idle_for());
            let oldest = oldest.map(|session| session.id.clone());
            ended.extend(oldest.and_then(|id| open.remove(&id)));
        }
        if open.len() >= self.in_all {
            return Err(Full);
        }
        let session = Arc::new(Session::new(owner, face, about).ok_or(Full)?);
        open.insert(session.id.clone(), Arc::clone(&session));
        Ok((session, ended))
    }

    /// The session with this id, if it is this token's and of this address.
    pub(crate) fn get(
        &self,
        id: &str,
        owner: &TokenHash,
        face: Option<&str>,
    ) -> Option<Arc<Session>> {
        let session = lock(&self.open).get(id).cloned()?;
        if session.owner != *owner || session.face.as_deref() != face {
            return None;
        }
        *lock(&session.used) = Instant::now();
        Some(session)
    }

    /// Ends a session.
    pub(crate) fn close(&self, session: &Session) {
        lock(&self.open).remove(&session.id);
        session.end();
    }

    /// Ends sessions that nobody used for long.
    pub(crate) fn sweep(&self) -> Vec<Arc<Session>> {
        remove_if(&mut lock(&self.open), |session| session.idle_for() > self.idle)
    }

    /// Tells every listening client.
    pub(crate) fn tell_all(&self, message: &RawValue) {
        let all: Vec<_> = lock(&self.open).values().cloned().collect();
        for session in all {
            session.tell(message.to_owned());
        }
    }

    /// How many sessions there are.
    pub(crate) fn count(&self) -> usize {
        lock(&self.open).len()
    }
}

fn remove_if(
    open: &mut HashMap<String, Arc<Session>>,
    is_over: impl Fn(&Session) -> bool,
) -> Vec<Arc<Session>> {
    let mut ended = vec![];
    open.retain(|_, session| {
        let is_over = is_over(session);
        if is_over {
            session.end();
            ended.push(Arc::clone(session));
        }
        !is_over
    });
    ended
}

impl Session {
    /// Nothing if the system has no randomness to give.
    fn new(owner: TokenHash, face: Option<String>, about: ClientAbout) -> Option<Self> {
        let mut bits = [0_u8; 32];
        getrandom::fill(&mut bits).ok()?;
        Some(Self {
            id: hex::encode(bits),
            owner,
            face,
            about: Arc::new(about),
            used: Mutex::new(Instant::now()),
            calls: Mutex::default(),
            asks: Mutex::default(),
            next_ask: AtomicU64::new(1),
            stream: Mutex::default(),
        })
    }

    /// How servers behind us know this conversation.
    pub(crate) fn key(&self) -> SessionKey {
        SessionKey { id: self.id.clone(), is_stateless: false }
    }

    fn idle_for(&self) -> Duration {
        // A client that listens or waits for an answer is not idle.
        let listens = lock(&self.stream).as_ref().is_some_and(|stream| !stream.is_closed());
        if listens || !lock(&self.calls).is_empty() {
            Duration::ZERO
        } else {
            lock(&self.used).elapsed()
        }
    }

    /// Withdraws everything under way.
    fn end(&self) {
        for (_, call) in lock(&self.calls).drain() {
            call.cancel();
        }
        lock(&self.asks).clear();
        lock(&self.stream).take();
    }

    /// Notes a request that is under way; it is forgotten when the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>, id: &RawValue, cancel: CancellationToken) -> UnderWay {
        lock(&self.calls).insert(id.get().to_owned(), cancel);
        UnderWay { session: Arc::clone(self), id: id.get().to_owned() }
    }

    /// Withdraws a request.
    pub(crate) fn cancel(&self, id: &RawValue) {
        if let Some(call) = lock(&self.calls).get(id.get()) {
            call.cancel();
        }
    }

    /// Opens the stream of what belongs to no request; an earlier one ends.
    pub(crate) fn listen(&self) -> mpsc::Receiver<Box<RawValue>> {
        let (sender, receiver) = mpsc::channel(WAITING);
        *lock(&self.stream) = Some(sender);
        receiver
    }

    /// Tells the client something that belongs to no request. One that does not keep up is cut off,
    /// and will look again.
    pub(crate) fn tell(&self, message: Box<RawValue>) {
        let mut stream = lock(&self.stream);
        if stream.as_ref().is_some_and(|sender| sender.try_send(message).is_err()) {
            *stream = None;
        }
    }

    /// Asks the client: sends `request` with an id of ours through `send`, waits for the answer and
    /// gives it with the id it had.
    pub(crate) async fn ask(
        &self,
        request: &RawValue,
        send: &mpsc::Sender<Box<RawValue>>,
    ) -> Result<Box<RawValue>, Gone> {
        let fields = Fields::read(request).map_err(|_| Gone)?;
        let (id, method) = (fields.get("id").ok_or(Gone)?, fields.text("method").ok_or(Gone)?);
        let params = fields.get("params").map_or("{}", RawValue::get);
        let ours = self.next_ask.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        lock(&self.asks).insert(ours, sender);
        let _forget = Forget { session: self, ask: ours };
        send.send(rpc::request(&ours.to_string(), &method, params)).await.map_err(|_| Gone)?;
        let answer = receiver.await.map_err(|_| Gone)?;
        let answer = Fields::read(&answer).map_err(|_| Gone)?;
        let (name, value) = match (answer.get("result"), answer.get("error")) {
            (Some(result), None) => ("result", result),
            (None, Some(error)) => ("error", error),
            _ => return Err(Gone),
        };
        Ok(rpc::raw(format!(r#"{{"jsonrpc":"2.0","id":{},"{name}":{}}}"#, id.get(), value.get())))
    }

    /// Asks the client on the stream of what belongs to no request.
    pub(crate) async fn ask_aside(&self, request: &RawValue) -> Result<Box<RawValue>, Gone> {
        let stream = lock(&self.stream).clone().ok_or(Gone)?;
        self.ask(request, &stream).await
    }

    /// Takes the client's answer to a request of ours; whether one was waiting.
    pub(crate) fn answered(&self, id: &RawValue, answer: Box<RawValue>) -> bool {
        let waiting = id.get().parse().ok().and_then(|id: u64| lock(&self.asks).remove(&id));
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }
}

/// A request that is under way.
pub(crate) struct UnderWay {
    session: Arc<Session>,
    id: String,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        lock(&self.session.calls).remove(&self.id);
        *lock(&self.session.used) = Instant::now();
    }
}

struct Forget<'a> {
    session: &'a Session,
    ask: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(&self.session.asks).remove(&self.ask);
    }
}

/// No holder of these locks can leave half a change behind, so a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::hash;

    fn about() -> ClientAbout {
        let capabilities = rpc::raw("{}".to_owned());
        ClientAbout { version: "2025-11-25".to_owned(), capabilities, info: None }
    }

    fn sessions(per_token: u32, in_all: u32) -> Sessions {
        let limits = GatewayOptions {
            sessions_per_token: per_token,
            sessions: in_all,
            ..Default::default()
        };
        Sessions::new(&limits)
    }

    #[test]
    fn a_session_is_found_only_by_its_token_and_at_its_address() {
        let sessions = sessions(9, 9);
        let (session, _) = sessions.open(hash("a"), Some("files".to_owned()), about()).unwrap();

        assert!(sessions.get(&session.id, &hash("a"), Some("files")).is_some());
        assert!(sessions.get(&session.id, &hash("b"), Some("files")).is_none());
        assert!(sessions.get(&session.id, &hash("a"), None).is_none());
        sessions.close(&session);
        assert!(sessions.get(&session.id, &hash("a"), Some("files")).is_none());
    }

    #[test]
    fn a_token_with_too_many_sessions_loses_the_one_it_used_least_recently() {
        let sessions = sessions(2, 9);
        let (first, _) = sessions.open(hash("a"), None, about()).unwrap();
        let (second, _) = sessions.open(hash("a"), None, about()).unwrap();
        sessions.get(&first.id, &hash("a"), None).unwrap();

        let (_, ended) = sessions.open(hash("a"), None, about()).unwrap();

        assert_eq!(ended.iter().map(|session| &session.id).collect::<Vec<_>>(), [&second.id]);
        assert_eq!(sessions.count(), 2);
    }

    #[test]
    fn sessions_are_bounded_in_all() {
        let sessions = sessions(9, 1);
        sessions.open(hash("a"), None, about()).unwrap();

        assert_eq!(sessions.open(hash("b"), None, about()).err(), Some(Full));
    }

    #[tokio::test]
    async fn an_answer_of_the_client_finds_its_question_and_gets_its_id_back() {
        let sessions = sessions(9, 9);
        let (session, _) = sessions.open(hash("a"), None, about()).unwrap();
        let (sender, mut receiver) = mpsc::channel(1);
        let question = rpc::request("\"q\"", "sampling/createMessage", r#"{"n":1}"#);
        let client = async {
            let sent: Box<RawValue> = receiver.recv().await.unwrap();
            assert_eq!(
                sent.get(),
                r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"n":1}}"#
            );
            let answer = rpc::raw(r#"{"jsonrpc":"2.0","id":1,"result":{"x":2}}"#.to_owned());
            assert!(session.answered(&rpc::raw("1".to_owned()), answer.clone()));
            assert!(!session.answered(&rpc::raw("1".to_owned()), answer), "only once");
        };

        let (answer, ()) = tokio::join!(session.ask(&question, &sender), client);

        assert_eq!(answer.unwrap().get(), r#"{"jsonrpc":"2.0","id":"q","result":{"x":2}}"#);
    }

    #[tokio::test]
    async fn ending_a_session_withdraws_what_is_under_way() {
        let sessions = sessions(9, 9);
        let (session, _) = sessions.open(hash("a"), None, about()).unwrap();
        let (cancel, id) = (CancellationToken::new(), rpc::raw("7".to_owned()));
        let _call = session.begin(&id, cancel.clone());
        let mut stream = session.listen();

        sessions.close(&session);

        assert!(cancel.is_cancelled());
        assert!(stream.recv().await.is_none());
    }
}
