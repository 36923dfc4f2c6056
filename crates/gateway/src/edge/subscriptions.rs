//! `subscriptions/listen`: replaces the session stream in the revision without sessions.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::response::{self, EventStreamSource};
use crate::gateway::GatewayInner;
use cynode_upstream::protocol::META_SUBSCRIPTION;
use cynode_upstream::rpc;
use cynode_upstream::rpc::INVALID_PARAMS;
use cynode_upstream::rpc::INVALID_REQUEST;
use cynode_upstream::rpc::RawFields;
use cynode_upstream::rpc::RpcError;

/// Changes that are buffered for a slow client; one more ends the stream.
const CHANGE_BUFFER: usize = 16;

/// Opens a stream of changes. The gateway itself supports only changes of the tool list.
pub(super) fn listen(
    inner: &Arc<GatewayInner>,
    id: &RawValue,
    params: Option<&RawValue>,
    takes_stream: bool,
) -> Response {
    let wanted = params
        .and_then(|params| RawFields::read(params).ok())
        .and_then(|fields| fields.get("notifications"))
        .and_then(|raw| RawFields::read(raw).ok());
    let Some(wanted) = wanted else {
        let error = RpcError::new(INVALID_PARAMS, "params.notifications must be an object");
        return response::json_response(StatusCode::OK, rpc::error(Some(id), &error));
    };
    if !takes_stream {
        let error = RpcError::new(INVALID_REQUEST, "Accept must include text/event-stream");
        return response::json_response(StatusCode::NOT_ACCEPTABLE, rpc::error(Some(id), &error));
    }
    let wants_tools = wanted.get("toolsListChanged").is_some_and(|flag| flag.get() == "true");
    let accepted = if wants_tools { json!({ "toolsListChanged": true }) } else { json!({}) };
    let subscription: Value = serde_json::from_str(id.get()).unwrap_or_default();
    let meta = json!({ META_SUBSCRIPTION: subscription });
    let acknowledged = json!({ "_meta": meta, "notifications": accepted });
    let first = rpc::render_notification("notifications/subscriptions/acknowledged", &acknowledged);
    let (sender, messages) = mpsc::channel(CHANGE_BUFFER);
    let mut changed = inner.changed.subscribe();
    let change =
        rpc::render_notification("notifications/tools/list_changed", &json!({ "_meta": meta }));
    inner.tasks.spawn("mcp.listen", async move {
        loop {
            tokio::select! {
                changed = changed.changed() => if changed.is_err() { return },
                () = sender.closed() => return,
            }
            if wants_tools && sender.try_send(change.clone()).is_err() {
                return;
            }
        }
    });
    response::event_stream_response(EventStreamSource {
        first: Some(first),
        messages,
        last: None,
        guard: None,
    })
}
