//! Servers over streamable HTTP.
//!
//! Start at [`HttpLink`]. Each request is a POST whose answer is a JSON body, or a stream on which
//! the answer comes after whatever else the server has to say.

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

pub(super) use endpoint::Endpoint;
use endpoint::Voice;
use transport::{Answer, Wanted};

use super::era::Era;
use super::hub::{Hub, lock};
use super::link::{Link, LinkError};
use super::message::{Body, Incoming, Outgoing};
use crate::protocol::SESSION_HEADER;
use crate::rpc::{Fields, HEADER_MISMATCH};

/// One conversation over HTTP.
pub(super) struct HttpLink {
    endpoint: Arc<Endpoint>,
    /// How requests introduce themselves.
    voice: ArcSwap<Voice>,
    /// The session that the last greeting opened.
    greeted: Mutex<Option<HeaderValue>>,
}

impl HttpLink {
    pub(super) fn new(endpoint: Arc<Endpoint>) -> Self {
        Self { endpoint, voice: ArcSwap::from_pointee(Voice::default()), greeted: Mutex::default() }
    }

    fn voice_for(&self, method: &str) -> Arc<Voice> {
        match method {
            "initialize" => Arc::new(Voice::default()),
            "server/discover" => Arc::new(Voice::stateless()),
            _ => self.voice.load_full(),
        }
    }

    /// Reads what a request got for an answer that is no stream.
    async fn read(
        &self,
        response: Answer,
        voice: &Voice,
        quiet: Option<&Arc<Hub>>,
    ) -> Result<Box<RawValue>, LinkError> {
        let status = response.status();
        let body = self.endpoint.body(response, quiet).await?;
        if status.is_success() {
            let text =
                String::from_utf8(body).map_err(|_| LinkError::protocol("it is not UTF-8"))?;
            return RawValue::from_string(text)
                .map_err(|error| LinkError::protocol(format!("it is no JSON: {error}")));
        }
        let message = std::str::from_utf8(&body)
            .ok()
            .and_then(|text| RawValue::from_string(text.to_owned()).ok());
        match message.filter(|message| is_error(message)) {
            Some(message) if speaks_of_session(status, voice, &message) => {
                tracing::debug!(status = status.as_u16(), "a server forgot a session");
                Err(LinkError::Stale)
            }
            Some(message) if is_answer(status) => Ok(message),
            _ if status == StatusCode::NOT_FOUND && voice.session.is_some() => {
                Err(LinkError::Stale)
            }
            _ => Err(LinkError::Refused { status: status.as_u16() }),
        }
    }
}

/// Whether an HTTP error is the server's answer to the request, in the protocol's own words.
fn is_answer(status: StatusCode) -> bool {
    let is_about_us = matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    );
    status.is_client_error() && !is_about_us
}

fn is_error(message: &RawValue) -> bool {
    matches!(Incoming::read(message), Ok(Incoming::Response { body: Body::Error(_), .. }))
}

/// A forgotten session is a 404; some servers say 400, and mean it when they speak of sessions.
fn speaks_of_session(status: StatusCode, voice: &Voice, message: &RawValue) -> bool {
    if voice.session.is_none() {
        return false;
    }
    let Ok(Incoming::Response { id: None, body: Body::Error(error) }) = Incoming::read(message)
    else {
        return status == StatusCode::NOT_FOUND;
    };
    let text =
        Fields::read(error).ok().and_then(|fields| fields.text("message")).unwrap_or_default();
    status == StatusCode::NOT_FOUND
        || status == StatusCode::BAD_REQUEST && text.to_lowercase().contains("session")
}

#[async_trait]
impl Link for HttpLink {
    async fn exchange(
        &self,
        request: &Outgoing,
        hub: &Arc<Hub>,
    ) -> Result<Box<RawValue>, LinkError> {
        let voice = self.voice_for(&request.method);
        let response = self.endpoint.post(&voice, &request.text, Some(request)).await?;
        if request.method == "initialize" {
            *lock(&self.greeted) = response.headers().get(SESSION_HEADER).cloned();
        }
        if response.status().is_success() && stream::is_stream(&response) {
            return stream::follow(&self.endpoint, &voice, response, (request, hub)).await;
        }
        let message = self.read(response, &voice, Some(hub)).await?;
        match Incoming::read(&message) {
            Ok(Incoming::Response { id, body }) if id.is_none_or(|id| id == request.id) => {
                if body.code() == Some(HEADER_MISMATCH.into()) {
                    // It may want other arguments repeated than it did when it was looked at.
                    hub.changed.notify_one();
                }
                Ok(message)
            }
            Ok(_) => Err(LinkError::protocol("it answered another request")),
            Err(error) => Err(LinkError::Failed(error)),
        }
    }

    async fn send(&self, message: &str) -> Result<(), LinkError> {
        let voice = self.voice.load_full();
        let response = self.endpoint.post(&voice, message, None).await?;
        if response.status().is_success() {
            return Ok(());
        }
        self.read(response, &voice, None).await.map(drop)
    }

    fn agree(&self, era: &Era) {
        let voice = match era {
            Era::Session { version } => Voice {
                session: lock(&self.greeted).take(),
                version: HeaderValue::from_str(version).ok(),
                is_stateless: false,
            },
            Era::Stateless => Voice::stateless(),
        };
        self.voice.store(Arc::new(voice));
    }

    async fn listen(&self, hub: &Arc<Hub>) {
        if !self.voice.load().is_stateless {
            stream::stand(&self.endpoint, &self.voice, hub).await;
        }
    }

    fn standing_timeout(&self) -> Duration {
        self.endpoint.options.standing_timeout
    }

    fn tells_cancellation(&self) -> bool {
        !self.voice.load().is_stateless
    }

    fn is_open(&self) -> bool {
        true
    }

    async fn close(&self) {
        let voice = self.voice.load_full();
        if voice.session.is_some() {
            // A server that keeps no account of sessions refuses; there is nothing to do about it.
            let headers = self.endpoint.headers_of(&voice);
            let wanted = Wanted { method: Method::DELETE, headers, body: Bytes::new() };
            let _ = self.endpoint.send(wanted).await;
        }
    }
}
