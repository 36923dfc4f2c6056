//! What a client with a session expects of a server that keeps none.
//!
//! Such a server knows no `ping`, no log level and no subscriptions of a session, and instead of
//! asking its client it answers that it needs input. All of it is done here on its behalf.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, Nobody};
use super::era::{Era, own_meta};
use super::hub::{Hub, lock, next_id};
use super::message::{Asked, Body, Incoming, Origin, Outgoing, rebuild};
use crate::protocol::STATELESS;
use crate::rpc::{self, Fields};
use crate::seams::{ClientAbout, ClientSide, Upstream as _, UpstreamError};

/// How often a server may ask for input before it must answer.
const ROUNDS: usize = 16;
/// How long to wait before listening again to a server that stopped speaking.
const PAUSE: Duration = Duration::from_secs(5);

/// What is kept for a server that keeps nothing.
#[derive(Default)]
pub(super) struct Kept {
    /// The log level, as JSON.
    log_level: Mutex<Option<String>>,
    resources: Mutex<BTreeSet<String>>,
    /// Ends the present subscription.
    listening: Mutex<Option<CancellationToken>>,
    /// Whether nothing is waited for any longer before requests are made.
    is_settled: AtomicBool,
}

impl Kept {
    pub(super) fn log_level(&self) -> Option<String> {
        lock(&self.log_level).clone()
    }
}

/// The result of a request that such a server would not understand.
pub(super) fn answer_for(conversation: &Conversation, asked: &Asked<'_>) -> Option<&'static str> {
    if conversation.era != Era::Stateless {
        return None;
    }
    let kept = &conversation.kept;
    let param = |name: &str| Fields::read(asked.params?).ok()?.get(name);
    let text = |name: &str| serde_json::from_str::<String>(param(name)?.get()).ok();
    match asked.method.as_str() {
        "ping" => {}
        "logging/setLevel" => {
            *lock(&kept.log_level) = param("level").map(|level| level.get().to_owned());
        }
        "resources/subscribe" => {
            lock(&kept.resources).insert(text("uri")?);
            listen(conversation);
        }
        "resources/unsubscribe" => {
            lock(&kept.resources).remove(&text("uri")?);
            listen(conversation);
        }
        _ => return None,
    }
    Some("{}")
}

/// Begins to hear what the server says outside of requests; again when the wishes changed.
pub(super) fn listen(conversation: &Conversation) {
    let hub = Arc::clone(&conversation.hub);
    let stop = hub.closed.child_token();
    let is_stateless = conversation.era == Era::Stateless;
    {
        let mut listening = lock(&conversation.kept.listening);
        match listening.take() {
            // The standing stream of a session brings everything already.
            Some(present) if !is_stateless => return *listening = Some(present),
            Some(present) => present.cancel(),
            None => {}
        }
        *listening = Some(stop.clone());
    }
    let wishes = wishes(conversation);
    conversation.hub.tasks.spawn("upstream-listen", async move {
        let listening = async {
            if is_stateless { subscribe(&hub, &wishes).await } else { hub.link.listen(&hub).await }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = listening => {}
        }
        hub.standing.cancel();
    });
}

/// Waits a little until the standing stream of a session is there: a server may ask its client on
/// that as soon as it has a request, and what it says before is lost.
pub(super) async fn settle(conversation: &Conversation) {
    let kept = &conversation.kept;
    if conversation.era == Era::Stateless || kept.is_settled.load(Ordering::Acquire) {
        return;
    }
    if lock(&kept.listening).is_some() {
        let there = conversation.hub.standing.cancelled();
        let _ = tokio::time::timeout(conversation.hub.link.standing_timeout(), there).await;
        kept.is_settled.store(true, Ordering::Release);
    }
}

fn wishes(conversation: &Conversation) -> Value {
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
    let resources = lock(&conversation.kept.resources);
    if !resources.is_empty() {
        wishes.insert("resourceSubscriptions".to_owned(), json!(*resources));
    }
    wishes.into()
}

/// Listens to a server without sessions for as long as it does not refuse.
async fn subscribe(hub: &Arc<Hub>, wishes: &Value) {
    if wishes.as_object().is_none_or(Map::is_empty) {
        return;
    }
    loop {
        let id = next_id();
        let params = json!({ "notifications": wishes, "_meta": own_meta() }).to_string();
        let method = "subscriptions/listen";
        let text = rpc::request(&id.to_string(), method, &params).get().to_owned();
        let request = Outgoing { id, method: method.to_owned(), name: None, text };
        let audience = Arc::new(Audience { hub: Arc::clone(hub), about: nobody() });
        hub.begin(id, audience, Origin { id: RawValue::NULL.to_owned(), token: None });
        let answer = hub.link.exchange(&request, hub).await;
        hub.end(id);
        let refused = answer.as_deref().ok().and_then(|answer| match Incoming::read(answer) {
            Ok(Incoming::Response { body, .. }) => body.code(),
            _ => None,
        });
        if refused.is_some() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn nobody() -> ClientAbout {
    let capabilities = rpc::raw("{}".to_owned());
    ClientAbout { version: STATELESS.to_owned(), capabilities, info: None }
}

/// Passes what a subscription brings to the session it was made for.
struct Audience {
    hub: Arc<Hub>,
    about: ClientAbout,
}

#[async_trait::async_trait]
impl ClientSide for Audience {
    fn about(&self) -> &ClientAbout {
        &self.about
    }

    async fn notify(&self, message: Box<RawValue>) {
        if !message.get().contains("notifications/subscriptions/acknowledged") {
            self.hub.broadcast(message).await;
        }
    }

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, crate::seams::Gone> {
        Nobody(self.about.clone()).ask(request).await
    }
}

/// As long as the server needs input, asks the client for it and tries again.
pub(super) async fn fulfil(
    conversation: &Conversation,
    asked: &Asked<'_>,
    mut answer: Box<RawValue>,
    (client, cancel): (&Arc<dyn ClientSide>, &CancellationToken),
) -> Result<Box<RawValue>, UpstreamError> {
    let is_bridged = conversation.era == Era::Stateless && client.about().version != STATELESS;
    for _ in 0..ROUNDS {
        let Some(wanted) = is_bridged.then(|| wanted(&answer)).flatten() else { return Ok(answer) };
        let mut inputs = Map::new();
        for (name, question) in wanted.questions {
            match ask(client, &question, cancel).await? {
                Ok(input) => inputs.insert(name, input),
                Err(refusal) => return Ok(Body::Error(&refusal).answer(asked.id)),
            };
        }
        let mut changes = vec![("inputResponses", Some(Value::from(inputs).to_string()))];
        changes.push(("requestState", wanted.state));
        let params = asked.params.and_then(|params| Fields::read(params).ok()).unwrap_or_default();
        let params = rpc::raw(rebuild(&params, &changes));
        let again = Asked { id: asked.id, method: asked.method.clone(), params: Some(&params) };
        answer = conversation.ask(&again, client, cancel).await?;
    }
    Err(UpstreamError::Protocol("it asks for input without end".to_owned()))
}

/// What a server wants to know before it answers.
struct Wanted {
    questions: Vec<(String, Value)>,
    /// To be given back as it is, as JSON.
    state: Option<String>,
}

fn wanted(answer: &RawValue) -> Option<Wanted> {
    let Ok(Incoming::Response { body: Body::Result(result), .. }) = Incoming::read(answer) else {
        return None;
    };
    let fields = result.get().contains("input_required").then(|| Fields::read(result).ok())??;
    if fields.text("resultType")? != "input_required" {
        return None;
    }
    let questions: Map<String, Value> = fields
        .get("inputRequests")
        .and_then(|questions| serde_json::from_str(questions.get()).ok())
        .unwrap_or_default();
    let state = fields.get("requestState").map(|state| state.get().to_owned());
    Some(Wanted { questions: questions.into_iter().collect(), state })
}

/// Asks a client what a server wants to know; the inner error is the client's.
async fn ask(
    client: &Arc<dyn ClientSide>,
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
    let gone =
        |_| UpstreamError::Unavailable("it asks the client, which cannot be asked".to_owned());
    let answer = answer.map_err(gone)?;
    match Incoming::read(&answer)? {
        Incoming::Response { body: Body::Result(result), .. } => serde_json::from_str(result.get())
            .map(Ok)
            .map_err(|error| UpstreamError::Protocol(error.to_string())),
        Incoming::Response { body: Body::Error(error), .. } => Ok(Err(error.to_owned())),
        Incoming::Request { .. } | Incoming::Notification { .. } => {
            Err(UpstreamError::Protocol("the client answered with no answer".to_owned()))
        }
    }
}
