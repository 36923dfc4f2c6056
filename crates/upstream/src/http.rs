//! Servers over Streamable HTTP.
//!
//! Start at [`HttpLink`]. Each request is a POST; its response is a JSON body, or a stream that may
//! carry other messages before the response.

mod endpoint;
mod plain;
mod stream;
mod transport;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode};
use serde_json::value::RawValue;

pub(super) use endpoint::HttpEndpoint;
use endpoint::SessionHeaders;
use transport::{OutgoingHttpRequest, UpstreamHttpResponse};

use super::handshake::RevisionKind;
use super::link::{UpstreamLink, UpstreamLinkError};
use super::message::{OutgoingRequest, ResponseBody, ServerMessage};
use super::message_router::{MessageRouter, lock};
use crate::protocol::SESSION_HEADER;
use crate::rpc::HEADER_MISMATCH;
use crate::rpc::RawFields;

/// The link of one upstream session over HTTP.
pub(super) struct HttpLink {
    endpoint: Arc<HttpEndpoint>,
    /// Session and version headers of requests.
    session_headers: ArcSwap<SessionHeaders>,
    /// The session id returned by the last handshake.
    handshake_session: Mutex<Option<HeaderValue>>,
}

impl HttpLink {
    pub(super) fn new(endpoint: Arc<HttpEndpoint>) -> Self {
        Self {
            endpoint,
            session_headers: ArcSwap::from_pointee(SessionHeaders::default()),
            handshake_session: Mutex::default(),
        }
    }

    fn headers_for(&self, method: &str) -> Arc<SessionHeaders> {
        match method {
            "initialize" => Arc::new(SessionHeaders::default()),
            "server/discover" => Arc::new(SessionHeaders::stateless()),
            _ => self.session_headers.load_full(),
        }
    }

    /// Reads a response that is not a stream.
    async fn read(
        &self,
        response: UpstreamHttpResponse,
        session_headers: &SessionHeaders,
        router: Option<&Arc<MessageRouter>>,
    ) -> Result<Box<RawValue>, UpstreamLinkError> {
        let status = response.status();
        let body = self.endpoint.read_body(response, router).await?;
        if status.is_success() {
            let text = String::from_utf8(body)
                .map_err(|_| UpstreamLinkError::protocol("it is not UTF-8"))?;
            return RawValue::from_string(text)
                .map_err(|error| UpstreamLinkError::protocol(format!("invalid JSON: {error}")));
        }
        let message = std::str::from_utf8(&body)
            .ok()
            .and_then(|text| RawValue::from_string(text.to_owned()).ok());
        match message.filter(|message| is_error(message)) {
            Some(message) if is_session_lost(status, session_headers, &message) => {
                tracing::debug!(status = status.as_u16(), "upstream session lost");
                Err(UpstreamLinkError::SessionLost)
            }
            Some(message) if may_carry_response(status) => Ok(message),
            _ if status == StatusCode::NOT_FOUND && session_headers.session.is_some() => {
                Err(UpstreamLinkError::SessionLost)
            }
            _ => Err(UpstreamLinkError::Rejected { status: status.as_u16() }),
        }
    }
}

/// Whether a response with an HTTP error status may carry a JSON-RPC response.
fn may_carry_response(status: StatusCode) -> bool {
    let is_auth_or_rate_limit = matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    );
    status.is_client_error() && !is_auth_or_rate_limit
}

fn is_error(message: &RawValue) -> bool {
    matches!(
        ServerMessage::read(message),
        Ok(ServerMessage::Response { body: ResponseBody::Error(_), .. })
    )
}

/// Servers report a lost session with 404; some use 400 and mention the session in the message.
fn is_session_lost(
    status: StatusCode,
    session_headers: &SessionHeaders,
    message: &RawValue,
) -> bool {
    if session_headers.session.is_none() {
        return false;
    }
    let Ok(ServerMessage::Response { id: None, body: ResponseBody::Error(error) }) =
        ServerMessage::read(message)
    else {
        return status == StatusCode::NOT_FOUND;
    };
    let text =
        RawFields::read(error).ok().and_then(|fields| fields.text("message")).unwrap_or_default();
    status == StatusCode::NOT_FOUND
        || status == StatusCode::BAD_REQUEST && text.to_lowercase().contains("session")
}

#[async_trait]
impl UpstreamLink for HttpLink {
    async fn exchange(
        &self,
        request: &OutgoingRequest,
        router: &Arc<MessageRouter>,
    ) -> Result<Box<RawValue>, UpstreamLinkError> {
        let session_headers = self.headers_for(&request.method);
        let response = self.endpoint.post(&session_headers, &request.text, Some(request)).await?;
        if request.method == "initialize" {
            *lock(&self.handshake_session) = response.headers().get(SESSION_HEADER).cloned();
        }
        if response.status().is_success() && stream::is_stream(&response) {
            return stream::read_until_response(
                &self.endpoint,
                &session_headers,
                response,
                (request, router),
            )
            .await;
        }
        let message = self.read(response, &session_headers, Some(router)).await?;
        match ServerMessage::read(&message) {
            Ok(ServerMessage::Response { id, body }) if id.is_none_or(|id| id == request.id) => {
                if body.error_code() == Some(HEADER_MISMATCH.into()) {
                    // The mirrored arguments may have changed since the tools were read.
                    router.changed.notify_one();
                }
                Ok(message)
            }
            Ok(_) => Err(UpstreamLinkError::protocol("its response has the wrong id")),
            Err(error) => Err(UpstreamLinkError::Failed(error)),
        }
    }

    async fn send(&self, message: &str) -> Result<(), UpstreamLinkError> {
        let session_headers = self.session_headers.load_full();
        let response = self.endpoint.post(&session_headers, message, None).await?;
        if response.status().is_success() {
            return Ok(());
        }
        self.read(response, &session_headers, None).await.map(drop)
    }

    fn apply_revision(&self, revision_kind: &RevisionKind) {
        let session_headers = match revision_kind {
            RevisionKind::Session { version } => SessionHeaders {
                session: lock(&self.handshake_session).take(),
                version: HeaderValue::from_str(version).ok(),
                is_stateless: false,
            },
            RevisionKind::Stateless => SessionHeaders::stateless(),
        };
        self.session_headers.store(Arc::new(session_headers));
    }

    async fn listen(&self, router: &Arc<MessageRouter>) {
        if !self.session_headers.load().is_stateless {
            stream::keep_standing_stream(&self.endpoint, &self.session_headers, router).await;
        }
    }

    fn standing_stream_timeout(&self) -> Duration {
        self.endpoint.options.standing_stream_timeout
    }

    fn needs_cancel_notification(&self) -> bool {
        !self.session_headers.load().is_stateless
    }

    fn is_open(&self) -> bool {
        true
    }

    async fn close(&self) {
        let session_headers = self.session_headers.load_full();
        if session_headers.session.is_some() {
            // Best effort: a server may reject the deletion of a session.
            let headers = self.endpoint.request_headers(&session_headers);
            let wanted =
                OutgoingHttpRequest { method: Method::DELETE, headers, body: Bytes::new() };
            let _ = self.endpoint.send(wanted).await;
        }
    }
}
