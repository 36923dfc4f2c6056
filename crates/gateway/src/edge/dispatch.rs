//! Which method is answered by whom.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use cynode_domain::ids::TraceId;
use http::StatusCode;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::answer::{self, Events};
use super::client::{Listener, Requester};
use super::{listen, payload};
use crate::gateway::Inner;
use crate::identity::{Identity, TokenHash};
use crate::invoke::Call;
use crate::protocol;
use crate::relay::{self, Visitor};
use crate::rpc::{self, Fields, METHOD_NOT_FOUND, RpcError};
use crate::seams::{ClientAbout, ClientSide, SessionKey};
use crate::sessions::Session;

/// How many messages of a server wait for a client that reads slowly; then the server waits.
const WAITING: usize = 64;
/// After this long an answer becomes a stream, so that nobody on the way takes it for dead.
const STREAM_AFTER: Duration = Duration::from_secs(10);

/// A message, and everything known about who sent it.
pub(super) struct Asked {
    pub(super) inner: Arc<Inner>,
    pub(super) token: TokenHash,
    pub(super) who: Arc<Identity>,
    /// The server whose own names are meant.
    pub(super) face: Option<String>,
    /// The session; none in the revision without sessions.
    pub(super) session: Option<Arc<Session>>,
    pub(super) about: Arc<ClientAbout>,
    pub(super) takes_stream: bool,
}

impl Asked {
    /// A request of a revision with sessions.
    pub(super) async fn in_session(
        self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Response {
        match method {
            "ping" => answer::json(StatusCode::OK, rpc::result(id, "{}")),
            // What built-in tools log goes to the log of the process, whatever level is asked for.
            "logging/setLevel" if self.face.is_none() => {
                answer::json(StatusCode::OK, rpc::result(id, "{}"))
            }
            "tools/list" => self.list(id, params),
            "tools/call" => self.call(id, params).await,
            _ if self.face.is_some() && relay::IN_SESSIONS.contains(&method) => {
                self.relay(id, method, params).await
            }
            _ => answer::json(StatusCode::OK, rpc::error(Some(id), &unknown(method))),
        }
    }

    /// A request of the revision without sessions.
    pub(super) async fn stateless(
        self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Response {
        match method {
            "server/discover" => self.discover(id).await,
            "tools/list" => self.list(id, params),
            "tools/call" => self.call(id, params).await,
            "subscriptions/listen" if self.face.is_none() => {
                listen::listen(&self.inner, id, params, self.takes_stream)
            }
            _ if self.face.is_some() && relay::STATELESS.contains(&method) => {
                self.relay(id, method, params).await
            }
            _ => answer::json(StatusCode::NOT_FOUND, rpc::error(Some(id), &unknown(method))),
        }
    }

    /// A notification of a client with a session.
    pub(super) async fn notified(self, method: &str, body: &Bytes) {
        let message = rpc::raw(String::from_utf8_lossy(body).into_owned());
        let Some(session) = &self.session else { return };
        if method == "notifications/cancelled" {
            let fields = Fields::read(&message).unwrap_or_default();
            let params = fields.get("params").and_then(|params| Fields::read(params).ok());
            if let Some(id) = params.and_then(|params| params.get("requestId")) {
                session.cancel(id);
            }
            return;
        }
        if let Some(slug) = self.face.as_deref().filter(|_| method != "notifications/initialized") {
            let key = session.key();
            let visitor =
                Visitor { who: &self.who, slug, session: &key, listener: self.listener() };
            self.inner.relay_notification(visitor, message).await;
        }
    }

    async fn discover(self, id: &RawValue) -> Response {
        let capabilities = match &self.face {
            None => Ok(protocol::own_capabilities()),
            Some(slug) => {
                let key = self.key();
                let visitor =
                    Visitor { who: &self.who, slug, session: &key, listener: self.listener() };
                self.inner.capabilities(visitor).await
            }
        };
        match capabilities {
            Ok(capabilities) => {
                let result = protocol::complete(json!({
                    "supportedVersions": protocol::VERSIONS,
                    "capabilities": capabilities,
                    "ttlMs": protocol::LIST_TTL_MS,
                    "cacheScope": "private",
                }));
                answer::json(StatusCode::OK, rpc::result(id, &result.to_string()))
            }
            Err(error) => answer::json(StatusCode::OK, rpc::error(Some(id), &error)),
        }
    }

    fn list(&self, id: &RawValue, params: Option<&RawValue>) -> Response {
        let cursor = params
            .and_then(|params| Fields::read(params).ok())
            .and_then(|fields| fields.text("cursor"));
        let page = self.inner.list_tools(&self.who, self.face.as_deref(), cursor.as_deref());
        let text = match page {
            Ok(page) => rpc::result(id, &page.render(self.session.is_none())),
            Err(error) => rpc::error(Some(id), &error),
        };
        answer::json(StatusCode::OK, text)
    }

    async fn call(self, id: &RawValue, params: Option<&RawValue>) -> Response {
        let call = self.as_call(id, params);
        let inner = Arc::clone(&self.inner);
        self.run(id, move |client, cancel| async move {
            payload::told(&call);
            let answer = inner.call(&call, client, cancel).await;
            payload::answered(&call, &answer);
            answer
        })
        .await
    }

    async fn relay(self, id: &RawValue, method: &str, params: Option<&RawValue>) -> Response {
        let (call, method) = (self.as_call(id, params), method.to_owned());
        let inner = Arc::clone(&self.inner);
        self.run(id, move |client, cancel| async move {
            inner.relay(&call, &method, client, cancel).await
        })
        .await
    }

    fn as_call(&self, id: &RawValue, params: Option<&RawValue>) -> Call {
        Call {
            who: Arc::clone(&self.who),
            face: self.face.clone(),
            id: id.to_owned(),
            params: params.map_or_else(|| rpc::raw("{}".to_owned()), ToOwned::to_owned),
            is_stateless: self.session.is_none(),
            session: self.key(),
            request_id: self.who.origin.trace.unwrap_or_else(TraceId::generate).to_string(),
            listener: self.listener(),
        }
    }

    fn key(&self) -> SessionKey {
        match &self.session {
            Some(session) => session.key(),
            None => SessionKey { id: hex::encode(self.token), is_stateless: true },
        }
    }

    fn listener(&self) -> Arc<dyn ClientSide> {
        Arc::new(Listener { about: Arc::clone(&self.about), session: self.session.clone() })
    }

    /// Runs `work` beside this request. The answer is one body, unless something is said before it:
    /// then it is a stream. Without a session, a client that goes away withdraws its request.
    async fn run<F>(
        self,
        id: &RawValue,
        work: impl FnOnce(Arc<dyn ClientSide>, CancellationToken) -> F,
    ) -> Response
    where
        F: Future<Output = String> + Send + 'static,
    {
        let (sender, mut messages) = mpsc::channel(WAITING);
        let cancel = CancellationToken::new();
        let under_way = self.session.as_ref().map(|session| session.begin(id, cancel.clone()));
        let is_stateless = self.session.is_none();
        let client = Arc::new(Requester {
            about: self.about,
            stream: self.takes_stream.then_some(sender),
            session: self.session,
        });
        let (done, mut last) = oneshot::channel();
        let work = work(client, cancel.clone());
        self.inner.tasks.spawn("mcp.request", async move {
            let answer = work.await;
            drop(under_way);
            // Nobody may be there to hear it; its outcome is on record all the same.
            let _ = done.send(answer);
        });
        let guard = is_stateless.then(|| cancel.drop_guard());
        let first = tokio::select! {
            biased;
            // What was said before the answer is told before it, even when both are there.
            Some(first) = messages.recv() => Some(first),
            answer = &mut last => {
                if let Some(guard) = guard {
                    guard.disarm();
                }
                return whole(id, answer.ok(), is_stateless);
            }
            () = tokio::time::sleep(STREAM_AFTER), if self.takes_stream => None,
        };
        answer::events(Events { first, messages, last: Some(last), guard })
    }
}

/// An answer in one body.
fn whole(id: &RawValue, answer: Option<String>, is_stateless: bool) -> Response {
    let Some(text) = answer else {
        let error = RpcError::new(rpc::INTERNAL_ERROR, "the request failed on our side");
        return answer::json(StatusCode::OK, rpc::error(Some(id), &error));
    };
    let status = match error_code(&text, id).filter(|_| is_stateless) {
        Some(code) => answer::stateless_status(code),
        None => StatusCode::OK,
    };
    answer::json(status, text)
}

/// The code of an error response of ours.
fn error_code(text: &str, id: &RawValue) -> Option<i32> {
    let error = text
        .strip_prefix(r#"{"jsonrpc":"2.0","id":"#)?
        .strip_prefix(id.get())?
        .strip_prefix(r#","error":"#)?
        .strip_suffix('}')?;
    let error: &RawValue = serde_json::from_str(error).ok()?;
    Fields::read(error).ok()?.get("code")?.get().parse().ok()
}

fn unknown(method: &str) -> RpcError {
    let shown: String = method.chars().filter(|c| !c.is_control()).take(100).collect();
    RpcError::new(METHOD_NOT_FOUND, format!("Method not found: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_an_error_is_found_behind_its_id() {
        let id = rpc::raw("\"a\"".to_owned());

        let text = rpc::error(Some(&id), &unknown("x"));

        assert_eq!(error_code(&text, &id), Some(METHOD_NOT_FOUND));
        assert_eq!(error_code(&rpc::result(&id, "{}"), &id), None);
    }
}
