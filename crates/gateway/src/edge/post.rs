//! `POST /mcp`: one message.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use cynode_domain::ids::TraceId;
use cynode_domain::policy::{ErrorKind, Stage};
use cynode_ops::audit::CallRecord;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use tracing::error;

use super::dispatch::Asked;
use super::{answer, guard, metadata};
use crate::Gateway;
use crate::identity::{Identity, TokenHash};
use crate::invoke::cut;
use crate::pipeline;
use crate::protocol::{self, Meta};
use crate::rejections::Reason;
use crate::rpc::{self, Fields, INTERNAL_ERROR, INVALID_REQUEST, Message, RpcError};
use crate::seams::ClientAbout;
use crate::sessions::Session;
use crate::snapshot::Tool;

/// What a message may hold beside its arguments.
const ENVELOPE_BYTES: u64 = 64 * 1024;

/// One request of one caller, before its message is read.
pub(super) struct Knock {
    pub(super) gateway: Gateway,
    pub(super) token: TokenHash,
    pub(super) who: Arc<Identity>,
    /// The server whose own names are meant.
    pub(super) face: Option<String>,
    pub(super) headers: HeaderMap,
}

impl Knock {
    /// Counts this request among those that are rejected without a record of their own.
    pub(super) fn reject(&self, reason: Reason) {
        self.gateway.inner.reject(reason, Some(&self.who));
    }
}

pub(super) async fn post(
    State(gateway): State<Gateway>,
    face: Option<Path<String>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let options = &gateway.inner.options;
    if let Err(refusal) = guard::check(&headers, options) {
        gateway.inner.reject(Reason::ForeignHost, None);
        return *refusal;
    }
    let limit = usize::try_from(options.max_request_bytes + ENVELOPE_BYTES).unwrap_or(usize::MAX);
    let Ok(body) = axum::body::to_bytes(body, limit).await else {
        gateway.inner.reject(Reason::PayloadTooLarge, None);
        let text = format!("the message is longer than {limit} bytes, or was cut off");
        return answer::refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            &RpcError::new(INVALID_REQUEST, text),
        );
    };
    let face = face.map(|Path(slug)| slug);
    let knock = match admit(gateway, face, headers, Some(&body)).await {
        Ok(knock) => knock,
        Err(refusal) => return *refusal,
    };
    if !is_json(&knock.headers) {
        knock.reject(Reason::UnsupportedMediaType);
        let error = RpcError::new(INVALID_REQUEST, "Content-Type must be application/json");
        return answer::refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    match Message::read(&body) {
        Ok(Message::Request { id, method, params }) => request(&knock, id, &method, params).await,
        Ok(Message::Notification { method }) => notification(&knock, &method, &body).await,
        Ok(Message::Response { id }) => response(&knock, id, &body),
        Err((id, error)) => {
            knock.reject(Reason::MalformedMessage);
            answer::json(StatusCode::BAD_REQUEST, rpc::error(id, &error))
        }
    }
}

/// Lets a caller in whose token is good and who does not ask too often.
pub(super) async fn admit(
    gateway: Gateway,
    face: Option<String>,
    headers: HeaderMap,
    body: Option<&Bytes>,
) -> Result<Knock, Box<Response>> {
    let identified = match guard::bearer(&headers) {
        Some(token) => gateway.inner.identify(token).await,
        None => Ok(None),
    };
    let (token, who) = match identified {
        Ok(Some(known)) => known,
        Ok(None) => {
            return Err(Box::new(turn_away(&gateway, face.as_deref(), &headers, body).await));
        }
        Err(fault) => {
            error!(error = &fault as &dyn std::error::Error, "a token could not be checked");
            let error =
                RpcError::new(INTERNAL_ERROR, "tokens cannot be checked now: try again shortly");
            return Err(Box::new(answer::refusal(StatusCode::SERVICE_UNAVAILABLE, &error)));
        }
    };
    if gateway.inner.limits.admits(&token) {
        Ok(Knock { gateway, token, who, face, headers })
    } else {
        gateway.inner.reject(Reason::TooManyRequests, Some(&who));
        Err(Box::new(too_often()))
    }
}

fn too_often() -> Response {
    let error = RpcError::new(INVALID_REQUEST, "too many requests: wait a moment");
    let mut response = answer::refusal(StatusCode::TOO_MANY_REQUESTS, &error);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A tool call without a good token is put on record like any other refusal, other requests in sum.
async fn turn_away(
    gateway: &Gateway,
    face: Option<&str>,
    headers: &HeaderMap,
    body: Option<&Bytes>,
) -> Response {
    let (kind, reason) = match guard::bearer(headers) {
        None => (ErrorKind::MissingBearer, "send a token as `Authorization: Bearer …`"),
        Some(_) => (ErrorKind::InvalidAgentToken, "the token is unknown, expired or revoked"),
    };
    if let Some(tool) = body.and_then(|body| called(body, face)) {
        if !gateway.inner.limits.admits_stranger() {
            gateway.inner.reject(Reason::TooManyRequests, None);
            return too_often();
        }
        let record = CallRecord {
            agent: None,
            token: None,
            user: None,
            groups: vec![],
            roles: vec![],
            project: None,
            task: None,
            run: None,
            job: None,
            tool,
            server: "unknown".to_owned(),
            stage: Stage::Authenticate,
            error_type: Some(kind),
            origin: "gateway".to_owned(),
            request_id: TraceId::generate().to_string(),
        };
        if let Err(fault) = gateway.inner.backend.deny(record).await {
            error!(error = &fault as &dyn std::error::Error, "a refusal could not be recorded");
        }
    } else {
        gateway.inner.reject(Reason::Unauthenticated, None);
    }
    metadata::unauthorized(headers, &gateway.inner.options, reason)
}

/// The tool that a message calls, if it calls one.
fn called(body: &Bytes, face: Option<&str>) -> Option<String> {
    let Ok(Message::Request { method, params, .. }) = Message::read(body) else {
        return None;
    };
    if method != "tools/call" {
        return None;
    }
    let name = Fields::read(params?).ok()?.text("name")?;
    Some(cut(&face.map_or_else(|| name.to_string(), |slug| format!("{slug}.{name}"))))
}

async fn request(
    knock: &Knock,
    id: &RawValue,
    method: &str,
    params: Option<&RawValue>,
) -> Response {
    let meta = Meta::of(params);
    if protocol::is_stateless(&knock.headers, method, meta.as_ref()) {
        if let Err(error) = protocol::check_stateless(&knock.headers, method, params, meta.as_ref())
        {
            knock.reject(Reason::HeaderMismatch);
            // Every fault found here is a malformed request.
            return answer::json(StatusCode::BAD_REQUEST, rpc::error(Some(id), &error));
        }
        if let Err(fault) = mirrored(knock, method, params) {
            knock.reject(Reason::HeaderMismatch);
            let error = RpcError::new(rpc::HEADER_MISMATCH, fault);
            return answer::json(StatusCode::BAD_REQUEST, rpc::error(Some(id), &error));
        }
        let about = about_stateless(&meta.unwrap_or_default());
        return asked(knock, None, Arc::new(about)).stateless(id, method, params).await;
    }
    if method == "initialize" {
        return super::session::initialize(knock, id, params).await;
    }
    match find_session(knock) {
        Ok(session) => {
            let about = Arc::clone(&session.about);
            asked(knock, Some(session), about).in_session(id, method, params).await
        }
        Err((status, error)) => answer::json(status, rpc::error(Some(id), &error)),
    }
}

/// Whether headers repeat the arguments that the called tool wants repeated. For a tool that the
/// caller cannot see there is nothing to be said; the call is refused later.
fn mirrored(knock: &Knock, method: &str, params: Option<&RawValue>) -> Result<(), String> {
    let snapshot = knock.gateway.inner.snapshot();
    let Some(params) = params.filter(|_| snapshot.has_mirrored && method == "tools/call") else {
        return Ok(());
    };
    let fields = Fields::read(params).unwrap_or_default();
    let name = fields.text("name").unwrap_or_default();
    let tool = match &knock.face {
        Some(slug) => snapshot.tool(&format!("{slug}.{name}")),
        None => snapshot.tool(&name),
    };
    let is_seen = |tool: &&Arc<Tool>| {
        !tool.mirrored.is_empty() && pipeline::is_visible(&snapshot, &knock.who, tool)
    };
    let Some(tool) = tool.filter(is_seen) else { return Ok(()) };
    // Arguments that cannot be read are refused for that, later.
    let arguments = fields.get("arguments").and_then(|raw| rpc::read_strictly(raw).ok());
    let arguments = arguments.unwrap_or_default();
    tool.mirrored.iter().try_for_each(|one| one.agrees(&knock.headers, &arguments))
}

async fn notification(knock: &Knock, method: &str, body: &Bytes) -> Response {
    match find_session(knock) {
        Ok(session) => {
            let about = Arc::clone(&session.about);
            asked(knock, Some(session), about).notified(method, body).await;
            StatusCode::ACCEPTED.into_response()
        }
        // The revision without sessions has no notifications of clients; they are taken and ignored.
        Err(_) if protocol::version_header(&knock.headers) == Some(protocol::STATELESS) => {
            StatusCode::ACCEPTED.into_response()
        }
        Err((status, error)) => answer::refusal(status, &error),
    }
}

fn response(knock: &Knock, id: &RawValue, body: &Bytes) -> Response {
    match find_session(knock) {
        Ok(session) => {
            let text = String::from_utf8_lossy(body).into_owned();
            if session.answered(id, rpc::raw(text)) {
                StatusCode::ACCEPTED.into_response()
            } else {
                let error = RpcError::new(INVALID_REQUEST, "nobody waits for this response");
                answer::refusal(StatusCode::BAD_REQUEST, &error)
            }
        }
        Err((status, error)) => answer::refusal(status, &error),
    }
}

/// The session that a request names.
pub(super) fn find_session(knock: &Knock) -> Result<Arc<Session>, (StatusCode, RpcError)> {
    let found = session_of(knock);
    if found.is_err() && protocol::version_header(&knock.headers) != Some(protocol::STATELESS) {
        knock.reject(Reason::WrongSession);
    }
    found
}

fn session_of(knock: &Knock) -> Result<Arc<Session>, (StatusCode, RpcError)> {
    let refuse = |status, text: &str| Err((status, RpcError::new(INVALID_REQUEST, text)));
    let version = protocol::version_header(&knock.headers);
    if let Some(unknown) = version.filter(|version| !protocol::VERSIONS.contains(version)) {
        return Err((StatusCode::BAD_REQUEST, protocol::unsupported(unknown)));
    }
    let Some(id) = knock.headers.get(protocol::SESSION_HEADER) else {
        return refuse(StatusCode::BAD_REQUEST, "Mcp-Session-Id is missing: send initialize first");
    };
    let id = id.to_str().unwrap_or_default();
    match knock.gateway.inner.sessions.get(id, &knock.token, knock.face.as_deref()) {
        Some(session) => Ok(session),
        None => refuse(StatusCode::NOT_FOUND, "there is no such session: send initialize again"),
    }
}

fn asked(knock: &Knock, session: Option<Arc<Session>>, about: Arc<ClientAbout>) -> Asked {
    Asked {
        inner: Arc::clone(&knock.gateway.inner),
        token: knock.token,
        who: Arc::clone(&knock.who),
        face: knock.face.clone(),
        session,
        about,
        takes_stream: takes_stream(&knock.headers),
    }
}

fn about_stateless(meta: &Meta<'_>) -> ClientAbout {
    let empty: Cow<'_, RawValue> = Cow::Owned(rpc::raw("{}".to_owned()));
    ClientAbout {
        version: protocol::STATELESS.to_owned(),
        capabilities: meta.capabilities.map_or(empty, Cow::Borrowed).into_owned(),
        info: meta.info.map(ToOwned::to_owned),
    }
}

pub(super) fn takes_stream(headers: &HeaderMap) -> bool {
    let accepts =
        |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("text/event-stream"));
    headers.get_all(ACCEPT).iter().any(accepts)
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
