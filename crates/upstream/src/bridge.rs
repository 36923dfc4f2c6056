//! Emulates session features on a stateless server for a client with a session.
//!
//! A stateless server has no `ping`, no log level and no resource subscriptions per session, and
//! returns `input_required` results instead of sending requests to its client. This module provides
//! all of these.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::conversation::{NullClient, UpstreamSession};
use super::handshake::{RevisionKind, gateway_meta};
use super::message::{
    ClientRequestIds, OutgoingRequest, ParsedClientRequest, ResponseBody, ServerMessage,
    render_with_changes,
};
use super::message_router::{MessageRouter, lock, next_id};
use crate::interface::ClientDescription;
use crate::interface::Upstream as _;
use crate::interface::UpstreamClient;
use crate::interface::UpstreamError;
use crate::protocol::STATELESS;
use crate::rpc;
use crate::rpc::RawFields;

/// Limit on `input_required` rounds of one request.
const MAX_INPUT_ROUNDS: usize = 16;
/// Delay before a subscription stream that ended is reopened.
const RESUBSCRIBE_DELAY: Duration = Duration::from_secs(5);

/// Session state that a stateless server does not keep.
#[derive(Default)]
pub(super) struct BridgedSessionState {
    /// The log level, as JSON.
    log_level: Mutex<Option<String>>,
    resources: Mutex<BTreeSet<String>>,
    /// Cancels the current subscription.
    listening: Mutex<Option<CancellationToken>>,
    /// Whether requests no longer wait for the standing stream.
    is_settled: AtomicBool,
}

impl BridgedSessionState {
    pub(super) fn log_level(&self) -> Option<String> {
        lock(&self.log_level).clone()
    }
}

/// The local result of a request that a stateless server does not support.
pub(super) fn answer_locally(
    conversation: &UpstreamSession,
    request: &ParsedClientRequest<'_>,
) -> Option<&'static str> {
    if conversation.revision_kind != RevisionKind::Stateless {
        return None;
    }
    let kept = &conversation.bridge_state;
    let param = |name: &str| RawFields::read(request.params?).ok()?.get(name);
    let text = |name: &str| serde_json::from_str::<String>(param(name)?.get()).ok();
    match request.method.as_str() {
        "ping" => {}
        "logging/setLevel" => {
            *lock(&kept.log_level) = param("level").map(|level| level.get().to_owned());
        }
        "resources/subscribe" => {
            lock(&kept.resources).insert(text("uri")?);
            start_listening(conversation);
        }
        "resources/unsubscribe" => {
            lock(&kept.resources).remove(&text("uri")?);
            start_listening(conversation);
        }
        _ => return None,
    }
    Some("{}")
}

/// Starts to receive messages outside of requests; restarts the stream when the subscriptions
/// changed.
pub(super) fn start_listening(conversation: &UpstreamSession) {
    let router = Arc::clone(&conversation.router);
    let stop = router.closed.child_token();
    let is_stateless = conversation.revision_kind == RevisionKind::Stateless;
    {
        let mut listening = lock(&conversation.bridge_state.listening);
        match listening.take() {
            // The standing stream of a session carries every notification already.
            Some(present) if !is_stateless => return *listening = Some(present),
            Some(present) => present.cancel(),
            None => {}
        }
        *listening = Some(stop.clone());
    }
    let wishes = subscription_filter(conversation);
    conversation.router.tasks.spawn("upstream-listen", async move {
        let listening = async {
            if is_stateless {
                run_subscription(&router, &wishes).await;
            } else {
                router.link.listen(&router).await;
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = listening => {}
        }
        router.standing_stream.cancel();
    });
}

/// Waits, within a limit, for the standing stream of a session: a server may send requests on it as
/// soon as it has received one, and messages sent before the stream is open are lost.
pub(super) async fn await_standing_stream(conversation: &UpstreamSession) {
    let kept = &conversation.bridge_state;
    if conversation.revision_kind == RevisionKind::Stateless
        || kept.is_settled.load(Ordering::Acquire)
    {
        return;
    }
    if lock(&kept.listening).is_some() {
        let there = conversation.router.standing_stream.cancelled();
        let _ =
            tokio::time::timeout(conversation.router.link.standing_stream_timeout(), there).await;
        kept.is_settled.store(true, Ordering::Release);
    }
}

fn subscription_filter(conversation: &UpstreamSession) -> Value {
    let able: Value =
        serde_json::from_str(conversation.about().capabilities.get()).unwrap_or_default();
    let mut wishes = Map::new();
    for (list, wish) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if able[list]["listChanged"] == true {
            wishes.insert(wish.to_owned(), true.into());
        }
    }
    let resources = lock(&conversation.bridge_state.resources);
    if !resources.is_empty() {
        wishes.insert("resourceSubscriptions".to_owned(), json!(*resources));
    }
    wishes.into()
}

/// Subscribes to a stateless server, and resubscribes until it rejects the subscription.
async fn run_subscription(router: &Arc<MessageRouter>, wishes: &Value) {
    if wishes.as_object().is_none_or(Map::is_empty) {
        return;
    }
    loop {
        let id = next_id();
        let params = json!({ "notifications": wishes, "_meta": gateway_meta() }).to_string();
        let method = "subscriptions/listen";
        let text = rpc::request(&id.to_string(), method, &params).get().to_owned();
        let request = OutgoingRequest { id, method: method.to_owned(), name: None, text };
        let audience = Arc::new(SubscriptionForwarder {
            router: Arc::clone(router),
            client_description: gateway_client_info(),
        });
        router.register_call(
            id,
            audience,
            ClientRequestIds { id: RawValue::NULL.to_owned(), token: None },
        );
        let answer = router.link.exchange(&request, router).await;
        router.remove_call(id);
        let refused = answer.as_deref().ok().and_then(|answer| match ServerMessage::read(answer) {
            Ok(ServerMessage::Response { body, .. }) => body.error_code(),
            _ => None,
        });
        if refused.is_some() {
            return;
        }
        tokio::time::sleep(RESUBSCRIBE_DELAY).await;
    }
}

fn gateway_client_info() -> ClientDescription {
    let capabilities = rpc::raw("{}".to_owned());
    ClientDescription { version: STATELESS.to_owned(), capabilities, info: None }
}

/// Forwards notifications of a subscription to the session it was opened for.
struct SubscriptionForwarder {
    router: Arc<MessageRouter>,
    client_description: ClientDescription,
}

#[async_trait::async_trait]
impl UpstreamClient for SubscriptionForwarder {
    fn about(&self) -> &ClientDescription {
        &self.client_description
    }

    async fn notify(&self, message: Box<RawValue>) {
        if !message.get().contains("notifications/subscriptions/acknowledged") {
            self.router.broadcast(message).await;
        }
    }

    async fn ask(
        &self,
        request: Box<RawValue>,
    ) -> Result<Box<RawValue>, crate::interface::ClientUnreachable> {
        NullClient(self.client_description.clone()).ask(request).await
    }
}

/// While the server requires input, requests it from the client and retries the call.
pub(super) async fn resolve_input_requests(
    conversation: &UpstreamSession,
    request: &ParsedClientRequest<'_>,
    mut answer: Box<RawValue>,
    client: &Arc<dyn UpstreamClient>,
    cancel: &CancellationToken,
) -> Result<Box<RawValue>, UpstreamError> {
    let is_bridged = conversation.revision_kind == RevisionKind::Stateless
        && client.about().version != STATELESS;
    for _ in 0..MAX_INPUT_ROUNDS {
        let Some(wanted) = is_bridged.then(|| parse_input_required(&answer)).flatten() else {
            return Ok(answer);
        };
        let mut inputs = Map::new();
        for (name, question) in wanted.questions {
            match request_client_input(client, &question, cancel).await? {
                Ok(input) => inputs.insert(name, input),
                Err(refusal) => {
                    return Ok(ResponseBody::Error(&refusal).render_response(request.id));
                }
            };
        }
        let mut changes = vec![("inputResponses", Some(Value::from(inputs).to_string()))];
        changes.push(("requestState", wanted.state));
        let params =
            request.params.and_then(|params| RawFields::read(params).ok()).unwrap_or_default();
        let params = rpc::raw(render_with_changes(&params, &changes));
        let again = ParsedClientRequest {
            id: request.id,
            method: request.method.clone(),
            params: Some(&params),
        };
        answer = conversation.send_request(&again, client, cancel).await?;
    }
    Err(UpstreamError::Protocol("it requires input again and again".to_owned()))
}

/// An `input_required` result.
struct InputRequired {
    questions: Vec<(String, Value)>,
    /// Opaque JSON, returned to the server unchanged.
    state: Option<String>,
}

fn parse_input_required(answer: &RawValue) -> Option<InputRequired> {
    let Ok(ServerMessage::Response { body: ResponseBody::Result(result), .. }) =
        ServerMessage::read(answer)
    else {
        return None;
    };
    let fields =
        result.get().contains("input_required").then(|| RawFields::read(result).ok())??;
    if fields.text("resultType")? != "input_required" {
        return None;
    }
    let questions: Map<String, Value> = fields
        .get("inputRequests")
        .and_then(|questions| serde_json::from_str(questions.get()).ok())
        .unwrap_or_default();
    let state = fields.get("requestState").map(|state| state.get().to_owned());
    Some(InputRequired { questions: questions.into_iter().collect(), state })
}

/// Sends a server's input request to the client; the inner error is the client's.
async fn request_client_input(
    client: &Arc<dyn UpstreamClient>,
    question: &Value,
    cancel: &CancellationToken,
) -> Result<Result<Value, Box<RawValue>>, UpstreamError> {
    let mut message = json!({ "jsonrpc": "2.0", "id": next_id(), "method": question["method"] });
    if !question["params"].is_null() {
        message["params"] = question["params"].clone();
    }
    let answer = tokio::select! {
        () = cancel.cancelled() => return Err(UpstreamError::Canceled),
        answer = client.ask(rpc::raw(message.to_string())) => answer,
    };
    let gone = |_| {
        UpstreamError::Unavailable(
            "it requires input, but this client cannot answer requests".to_owned(),
        )
    };
    let answer = answer.map_err(gone)?;
    match ServerMessage::read(&answer)? {
        ServerMessage::Response { body: ResponseBody::Result(result), .. } => {
            serde_json::from_str(result.get())
                .map(Ok)
                .map_err(|error| UpstreamError::Protocol(error.to_string()))
        }
        ServerMessage::Response { body: ResponseBody::Error(error), .. } => {
            Ok(Err(error.to_owned()))
        }
        ServerMessage::Request { .. } | ServerMessage::Notification { .. } => {
            Err(UpstreamError::Protocol("the client did not send a response".to_owned()))
        }
    }
}
