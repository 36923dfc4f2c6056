//! Routes each method to its handler.

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

use super::admission::SharedPermit;
use super::client::{RequestClient, SessionClient};
use super::response::{self, EventStreamSource};
use super::{payload_log, subscriptions};
use crate::gateway::GatewayInner;
use crate::identity::Identity;
use crate::identity::TokenHash;
use crate::invoke::GatewayCall;
use crate::relay;
use crate::relay::ServerRequest;
use crate::sessions::GatewaySession;
use cynode_upstream::interface::ClientDescription;
use cynode_upstream::interface::SessionKey;
use cynode_upstream::interface::UpstreamClient;
use cynode_upstream::protocol;
use cynode_upstream::rpc;
use cynode_upstream::rpc::METHOD_NOT_FOUND;
use cynode_upstream::rpc::RawFields;
use cynode_upstream::rpc::RpcError;

/// Messages of a server that are buffered for a slow client; then the server is blocked.
const MESSAGE_BUFFER: usize = 64;
/// After this delay a response becomes a stream, so that proxies do not close the connection.
const STREAM_AFTER: Duration = Duration::from_secs(10);

/// A message with its authenticated sender.
pub(super) struct DispatchedMessage {
    pub(super) inner: Arc<GatewayInner>,
    pub(super) token: TokenHash,
    pub(super) identity: Arc<Identity>,
    /// The slug of the server at `/mcp/<server>`; `None` at `/mcp`.
    pub(super) server_slug: Option<String>,
    /// `None` in the revision without sessions.
    pub(super) session: Option<Arc<GatewaySession>>,
    pub(super) client_description: Arc<ClientDescription>,
    pub(super) accepts_stream: bool,
    /// Held until the call has ended.
    pub(super) permit: Option<SharedPermit>,
}

impl DispatchedMessage {
    /// Handles a request of a revision with sessions.
    pub(super) async fn handle_in_session(
        self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Response {
        match method {
            "ping" => response::json_response(StatusCode::OK, rpc::render_result(id, "{}")),
            // Built-in tools log to the process log, so the level has no effect.
            "logging/setLevel" if self.server_slug.is_none() => {
                response::json_response(StatusCode::OK, rpc::render_result(id, "{}"))
            }
            "tools/list" => self.handle_tools_list(id, params),
            "tools/call" => self.handle_tools_call(id, params).await,
            _ if self.server_slug.is_some() && relay::SESSION_METHODS.contains(&method) => {
                self.handle_relay(id, method, params).await
            }
            _ => response::json_response(
                StatusCode::OK,
                rpc::error(Some(id), &unknown_method(method)),
            ),
        }
    }

    /// Handles a request of the revision without sessions.
    pub(super) async fn handle_stateless(
        self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Response {
        match method {
            "server/discover" => self.handle_discover(id).await,
            "tools/list" => self.handle_tools_list(id, params),
            "tools/call" => self.handle_tools_call(id, params).await,
            "subscriptions/listen" if self.server_slug.is_none() => {
                subscriptions::listen(&self.inner, id, params, self.accepts_stream)
            }
            _ if self.server_slug.is_some() && relay::STATELESS_METHODS.contains(&method) => {
                self.handle_relay(id, method, params).await
            }
            _ => response::json_response(
                StatusCode::NOT_FOUND,
                rpc::error(Some(id), &unknown_method(method)),
            ),
        }
    }

    /// Handles a notification of a client with a session.
    pub(super) async fn handle_notification(self, method: &str, body: &Bytes) {
        let message = rpc::raw(String::from_utf8_lossy(body).into_owned());
        let Some(session) = &self.session else { return };
        if method == "notifications/cancelled" {
            let fields = RawFields::read(&message).unwrap_or_default();
            let params = fields.get("params").and_then(|params| RawFields::read(params).ok());
            if let Some(id) = params.and_then(|params| params.get("requestId")) {
                session.cancel_request(id);
            }
            return;
        }
        if let Some(slug) =
            self.server_slug.as_deref().filter(|_| method != "notifications/initialized")
        {
            let key = session.key();
            let visitor = ServerRequest {
                identity: &self.identity,
                slug,
                session: &key,
                listener: self.session_client(),
            };
            self.inner.relay_notification(visitor, message).await;
        }
    }

    async fn handle_discover(self, id: &RawValue) -> Response {
        let capabilities = match &self.server_slug {
            None => Ok(protocol::own_capabilities()),
            Some(slug) => {
                let key = self.session_key();
                let visitor = ServerRequest {
                    identity: &self.identity,
                    slug,
                    session: &key,
                    listener: self.session_client(),
                };
                self.inner.capabilities(visitor).await
            }
        };
        match capabilities {
            Ok(capabilities) => {
                let result = protocol::add_result_type(json!({
                    "supportedVersions": protocol::VERSIONS,
                    "capabilities": capabilities,
                    "ttlMs": protocol::LIST_TTL_MS,
                    "cacheScope": "private",
                }));
                response::json_response(StatusCode::OK, rpc::render_result(id, &result.to_string()))
            }
            Err(error) => response::json_response(StatusCode::OK, rpc::error(Some(id), &error)),
        }
    }

    fn handle_tools_list(&self, id: &RawValue, params: Option<&RawValue>) -> Response {
        let cursor = params
            .and_then(|params| RawFields::read(params).ok())
            .and_then(|fields| fields.text("cursor"));
        let page =
            self.inner.list_tools(&self.identity, self.server_slug.as_deref(), cursor.as_deref());
        let text = match page {
            Ok(page) => rpc::render_result(id, &page.render(self.session.is_none())),
            Err(error) => rpc::error(Some(id), &error),
        };
        response::json_response(StatusCode::OK, text)
    }

    async fn handle_tools_call(self, id: &RawValue, params: Option<&RawValue>) -> Response {
        let call = self.to_call(id, params);
        let inner = Arc::clone(&self.inner);
        self.run_in_background(id, move |client, cancel| async move {
            payload_log::log_arguments(&call);
            let answer = inner.call(&call, client, cancel).await;
            payload_log::log_response(&call, &answer);
            answer
        })
        .await
    }

    async fn handle_relay(
        self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Response {
        let (call, method) = (self.to_call(id, params), method.to_owned());
        let inner = Arc::clone(&self.inner);
        self.run_in_background(id, move |client, cancel| async move {
            inner.relay(&call, &method, client, cancel).await
        })
        .await
    }

    fn to_call(&self, id: &RawValue, params: Option<&RawValue>) -> GatewayCall {
        GatewayCall {
            identity: Arc::clone(&self.identity),
            server_slug: self.server_slug.clone(),
            id: id.to_owned(),
            params: params.map_or_else(|| rpc::raw("{}".to_owned()), ToOwned::to_owned),
            is_stateless: self.session.is_none(),
            session: self.session_key(),
            request_id: self.identity.origin.trace.unwrap_or_else(TraceId::generate).to_string(),
            listener: self.session_client(),
        }
    }

    fn session_key(&self) -> SessionKey {
        match &self.session {
            Some(session) => session.key(),
            None => SessionKey { id: hex::encode(self.token), is_stateless: true },
        }
    }

    fn session_client(&self) -> Arc<dyn UpstreamClient> {
        Arc::new(SessionClient {
            client_description: Arc::clone(&self.client_description),
            session: self.session.clone(),
        })
    }

    /// Runs `work` in a background task. The response is one JSON body, or a stream if a message
    /// precedes it. Without a session, a disconnecting client cancels its request.
    async fn run_in_background<F>(
        self,
        id: &RawValue,
        work: impl FnOnce(Arc<dyn UpstreamClient>, CancellationToken) -> F,
    ) -> Response
    where
        F: Future<Output = String> + Send + 'static,
    {
        let (sender, mut messages) = mpsc::channel(MESSAGE_BUFFER);
        let cancel = CancellationToken::new();
        let under_way =
            self.session.as_ref().map(|session| session.register_request(id, cancel.clone()));
        let is_stateless = self.session.is_none();
        let client = Arc::new(RequestClient {
            client_description: self.client_description,
            stream: self.accepts_stream.then_some(sender),
            session: self.session,
        });
        let (done, mut last) = oneshot::channel();
        let (work, permit) = (work(client, cancel.clone()), self.permit);
        self.inner.tasks.spawn("mcp.request", async move {
            let answer = work.await;
            drop((under_way, permit));
            // The client may have disconnected; the outcome is on record all the same.
            let _ = done.send(answer);
        });
        let guard = is_stateless.then(|| cancel.drop_guard());
        let first = tokio::select! {
            biased;
            // A message before the response is delivered before it, even when both are ready.
            Some(first) = messages.recv() => Some(first),
            answer = &mut last => {
                if let Some(guard) = guard {
                    guard.disarm();
                }
                return render_json_response(id, answer.ok(), is_stateless);
            }
            () = tokio::time::sleep(STREAM_AFTER), if self.accepts_stream => None,
        };
        response::event_stream_response(EventStreamSource {
            first,
            messages,
            last: Some(last),
            guard,
        })
    }
}

/// A response in one JSON body.
fn render_json_response(id: &RawValue, answer: Option<String>, is_stateless: bool) -> Response {
    let Some(text) = answer else {
        let error =
            RpcError::new(rpc::INTERNAL_ERROR, "internal error; the gateway log has the cause");
        return response::json_response(StatusCode::OK, rpc::error(Some(id), &error));
    };
    let status = match error_code(&text, id).filter(|_| is_stateless) {
        Some(code) => response::stateless_status(code),
        None => StatusCode::OK,
    };
    response::json_response(status, text)
}

/// The code of an error response of the gateway.
fn error_code(text: &str, id: &RawValue) -> Option<i32> {
    let error = text
        .strip_prefix(r#"{"jsonrpc":"2.0","id":"#)?
        .strip_prefix(id.get())?
        .strip_prefix(r#","error":"#)?
        .strip_suffix('}')?;
    let error: &RawValue = serde_json::from_str(error).ok()?;
    RawFields::read(error).ok()?.get("code")?.get().parse().ok()
}

fn unknown_method(method: &str) -> RpcError {
    let shown: String = method.chars().filter(|c| !c.is_control()).take(100).collect();
    RpcError::new(METHOD_NOT_FOUND, format!("Method not found: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_an_error_is_found_behind_its_id() {
        let id = rpc::raw("\"a\"".to_owned());

        let text = rpc::error(Some(&id), &unknown_method("x"));

        assert_eq!(error_code(&text, &id), Some(METHOD_NOT_FOUND));
        assert_eq!(error_code(&rpc::render_result(&id, "{}"), &id), None);
    }
}
