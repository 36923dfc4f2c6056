//! What only revisions with sessions have: opening one, listening to it, ending it.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answer::{self, Events};
use super::client::Listener;
use super::guard;
use super::post::{Knock, admit, find_session, takes_stream};
use crate::Gateway;
use crate::pipeline;
use crate::protocol;
use crate::rejections::Reason;
use crate::rpc::{self, Fields, INVALID_PARAMS, INVALID_REQUEST, RpcError};
use crate::seams::{ClientAbout, ServerAbout};

/// Opens a session. At the address of one server that server is opened with it, and its
/// capabilities are the answer.
pub(super) async fn initialize(
    knock: &Knock,
    id: &RawValue,
    params: Option<&RawValue>,
) -> Response {
    let fields = params.map(Fields::read).and_then(Result::ok).unwrap_or_default();
    let Some(wanted) = fields.text("protocolVersion") else {
        let error = RpcError::new(INVALID_PARAMS, "params.protocolVersion must be a string");
        return answer::json(StatusCode::OK, rpc::error(Some(id), &error));
    };
    let version = protocol::negotiate(&wanted);
    let about = ClientAbout {
        version: version.to_owned(),
        capabilities: fields
            .get("capabilities")
            .map_or_else(|| rpc::raw("{}".to_owned()), ToOwned::to_owned),
        info: fields.get("clientInfo").map(ToOwned::to_owned),
    };
    let inner = &knock.gateway.inner;
    let Ok((session, ended)) = inner.sessions.open(knock.token, knock.face.clone(), about) else {
        knock.reject(Reason::TooManySessions);
        let error = RpcError::new(INVALID_REQUEST, "there are too many sessions: try again later");
        return answer::json(StatusCode::SERVICE_UNAVAILABLE, rpc::error(Some(id), &error));
    };
    for ended in ended {
        inner.upstreams.close(&ended.key()).await;
    }
    let result = match &knock.face {
        None => own(version),
        Some(slug) => {
            let listener =
                Listener { about: Arc::clone(&session.about), session: Some(Arc::clone(&session)) };
            match open(knock, slug, listener, &session.key()).await {
                Ok(about) => theirs(version, &about),
                Err(error) => {
                    inner.sessions.close(&session);
                    return answer::json(StatusCode::OK, rpc::error(Some(id), &error));
                }
            }
        }
    };
    let mut response = answer::json(StatusCode::OK, rpc::result(id, &result.to_string()));
    if let Ok(value) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(protocol::SESSION_HEADER, value);
    }
    response
}

async fn open(
    knock: &Knock,
    slug: &str,
    listener: Listener,
    key: &crate::seams::SessionKey,
) -> Result<ServerAbout, RpcError> {
    let inner = &knock.gateway.inner;
    let snapshot = inner.snapshot_with(|known| known.server(slug).is_some()).await;
    let server = pipeline::may_open(&snapshot, &knock.who, slug)
        .inspect_err(|_| knock.reject(Reason::ServerDenied))
        .map_err(|denial| pipeline::conceal_server(&snapshot, &knock.who, slug, denial))
        .map_err(|shown| RpcError::new(INVALID_REQUEST, shown.message))?;
    let upstream = inner
        .upstreams
        .open(server.id, key, Arc::new(listener))
        .await
        .map_err(|fault| RpcError::new(rpc::INTERNAL_ERROR, fault.to_string()))?;
    Ok(upstream.about().clone())
}

fn own(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": protocol::own_capabilities(),
        "serverInfo": protocol::server_info(),
        "instructions": "Tools of CyNode and of the servers installed in it. Call help.get for an overview.",
    })
}

fn theirs(version: &str, about: &ServerAbout) -> Value {
    let read =
        |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_else(|_| json!({}));
    let mut result = json!({
        "protocolVersion": version,
        "capabilities": read(&about.capabilities),
        "serverInfo": read(&about.info),
    });
    // The list of tools is ours: it changes with rules and switches, not only with the server.
    if !result["capabilities"]["tools"].is_null() {
        result["capabilities"]["tools"]["listChanged"] = true.into();
    }
    if let Some(instructions) = &about.instructions {
        result["instructions"] = instructions.clone().into();
    }
    result
}

/// Who comes with a verb that only revisions with sessions know.
async fn enter(
    gateway: Gateway,
    face: Option<Path<String>>,
    headers: HeaderMap,
) -> Result<Knock, Box<Response>> {
    guard::check(&headers, &gateway.inner.options)
        .inspect_err(|_| gateway.inner.reject(Reason::ForeignHost, None))?;
    let knock = admit(gateway, face.map(|Path(slug)| slug), headers, None).await?;
    if protocol::version_header(&knock.headers) == Some(protocol::STATELESS) {
        return Err(Box::new(StatusCode::METHOD_NOT_ALLOWED.into_response()));
    }
    Ok(knock)
}

/// `GET /mcp`: the stream of what belongs to no request.
pub(super) async fn get(
    State(gateway): State<Gateway>,
    face: Option<Path<String>>,
    headers: HeaderMap,
) -> Response {
    let knock = match enter(gateway, face, headers).await {
        Ok(knock) => knock,
        Err(refusal) => return *refusal,
    };
    if !takes_stream(&knock.headers) {
        let error = RpcError::new(INVALID_REQUEST, "Accept must hold text/event-stream");
        return answer::refusal(StatusCode::NOT_ACCEPTABLE, &error);
    }
    match find_session(&knock) {
        Ok(session) => {
            let messages = session.listen();
            answer::events(Events { first: None, messages, last: None, guard: None })
        }
        Err((status, error)) => answer::refusal(status, &error),
    }
}

/// `DELETE /mcp`: the session is over.
pub(super) async fn delete(
    State(gateway): State<Gateway>,
    face: Option<Path<String>>,
    headers: HeaderMap,
) -> Response {
    let knock = match enter(gateway, face, headers).await {
        Ok(knock) => knock,
        Err(refusal) => return *refusal,
    };
    match find_session(&knock) {
        Ok(session) => {
            knock.gateway.inner.sessions.close(&session);
            knock.gateway.inner.upstreams.close(&session.key()).await;
            StatusCode::NO_CONTENT.into_response()
        }
        Err((status, error)) => answer::refusal(status, &error),
    }
}
