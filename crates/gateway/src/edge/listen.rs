//! `subscriptions/listen`: what the revision without sessions has in place of a session's stream.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::answer::{self, Events};
use crate::gateway::Inner;
use crate::protocol::META_SUBSCRIPTION;
use crate::rpc::{self, Fields, INVALID_PARAMS, INVALID_REQUEST, RpcError};

/// Changes that wait for a client that reads slowly; one more and the stream ends.
const WAITING: usize = 16;

/// Opens a stream of changes. Of what can be subscribed to, the gateway itself has changes of the
/// list of tools.
pub(super) fn listen(
    inner: &Arc<Inner>,
    id: &RawValue,
    params: Option<&RawValue>,
    takes_stream: bool,
) -> Response {
    let wanted = params
        .and_then(|params| Fields::read(params).ok())
        .and_then(|fields| fields.get("notifications"))
        .and_then(|raw| Fields::read(raw).ok());
    let Some(wanted) = wanted else {
        let error = RpcError::new(INVALID_PARAMS, "params.notifications must be an object");
        return answer::json(StatusCode::OK, rpc::error(Some(id), &error));
    };
    if !takes_stream {
        let error = RpcError::new(INVALID_REQUEST, "Accept must hold text/event-stream");
        return answer::json(StatusCode::NOT_ACCEPTABLE, rpc::error(Some(id), &error));
    }
    let wants_tools = wanted.get("toolsListChanged").is_some_and(|flag| flag.get() == "true");
    let accepted = if wants_tools { json!({ "toolsListChanged": true }) } else { json!({}) };
    let subscription: Value = serde_json::from_str(id.get()).unwrap_or_default();
    let meta = json!({ META_SUBSCRIPTION: subscription });
    let acknowledged = json!({ "_meta": meta, "notifications": accepted });
    let first = rpc::notification("notifications/subscriptions/acknowledged", &acknowledged);
    let (sender, messages) = mpsc::channel(WAITING);
    let mut changed = inner.changed.subscribe();
    let change = rpc::notification("notifications/tools/list_changed", &json!({ "_meta": meta }));
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
    answer::events(Events { first: Some(first), messages, last: None, guard: None })
}
