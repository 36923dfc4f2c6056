//! One open conversation with a server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::UpstreamOptions;
use super::bridge;
use super::era::{Era, Greeting, GreetingError, Met};
use super::gate::Gate;
use super::hub::{Hub, lock, next_id};
use super::link::LinkError;
use super::message::{self, Asked, Body, Incoming, Origin, Told};
use crate::rpc;
use crate::seams::{ClientAbout, ClientSide, Gone, ServerAbout, Upstream, UpstreamError};

/// A conversation with a server, of one session or shared.
pub(super) struct Conversation {
    pub(super) hub: Arc<Hub>,
    pub(super) era: Era,
    about: ServerAbout,
    gate: Arc<Gate>,
    options: Arc<UpstreamOptions>,
    /// Whom the server was told it speaks with; said again when it forgets the session.
    client: ClientAbout,
    /// How often the server forgot the session.
    generation: AtomicU64,
    reopening: tokio::sync::Mutex<()>,
    used: Mutex<Instant>,
    /// What a client asked of a server that keeps nothing between requests.
    pub(super) kept: bridge::Kept,
}

impl Conversation {
    /// Greets the server on behalf of `client`.
    pub(super) async fn open(
        hub: Arc<Hub>,
        gate: Arc<Gate>,
        options: &Arc<UpstreamOptions>,
        client: &ClientAbout,
        greeting: Greeting,
    ) -> Result<Self, GreetingError> {
        let met = greet(&hub, options, client, greeting).await?;
        Ok(Self {
            hub,
            era: met.era,
            about: met.about,
            gate,
            options: Arc::clone(options),
            client: client.clone(),
            generation: AtomicU64::new(0),
            reopening: tokio::sync::Mutex::default(),
            used: Mutex::new(Instant::now()),
            kept: bridge::Kept::default(),
        })
    }

    /// Whether it can still be used.
    pub(super) fn is_open(&self) -> bool {
        !self.hub.closed.is_cancelled() && self.hub.link.is_open()
    }

    /// How long nothing was asked.
    pub(super) fn idle_for(&self) -> Duration {
        lock(&self.used).elapsed()
    }

    /// From now on, what the server says outside of requests goes to `client`.
    pub(super) fn attach(&self, session: &str, client: &Arc<dyn ClientSide>) {
        if self.hub.add_listener(session, client) {
            bridge::listen(self);
        }
    }

    /// Ends it; what is under way fails.
    pub(super) async fn close(&self) {
        self.hub.closed.cancel();
        self.hub.fail_all(&LinkError::unavailable("the conversation was ended"));
        self.hub.link.close().await;
    }

    /// Sends one request and waits for its answer, whoever the server is.
    pub(super) async fn ask(
        &self,
        asked: &Asked<'_>,
        client: &Arc<dyn ClientSide>,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        for _ in 0..2 {
            let generation = self.generation.load(Ordering::Acquire);
            match self.attempt(asked, client, cancel).await {
                Err(LinkError::Stale) => self.reopen(generation).await?,
                answer => return answer.map_err(UpstreamError::from),
            }
        }
        Err(LinkError::Stale.into())
    }

    async fn attempt(
        &self,
        asked: &Asked<'_>,
        client: &Arc<dyn ClientSide>,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, LinkError> {
        let told = Told { about: client.about(), log_level: self.kept.log_level() };
        let (request, origin) = asked.outgoing(next_id(), &self.era, &told);
        self.hub.begin(request.id, Arc::clone(client), origin.clone());
        let mut underway = Underway {
            hub: &self.hub,
            id: request.id,
            is_wanted: true,
            abandoned: Some((&self.gate, cancel)),
        };
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(LinkError::Failed(UpstreamError::Canceled)),
            answer = self.hub.link.exchange(&request, &self.hub) => {
                self.gate.judge(&answer);
                // A server that was merely slow still works on it.
                underway.is_wanted =
                    matches!(answer, Err(LinkError::Failed(UpstreamError::Timeout)));
                answer
            }
            () = self.hub.closed.cancelled() => {
                Err(LinkError::unavailable("the conversation was ended"))
            }
        };
        underway.abandoned = None;
        for_client(&answer?, &origin)
    }

    /// The server forgot the session: opens another, once for all requests that found out.
    async fn reopen(&self, generation: u64) -> Result<(), UpstreamError> {
        let _only = self.reopening.lock().await;
        if self.generation.load(Ordering::Acquire) != generation {
            return Ok(());
        }
        tracing::info!("a server forgot a session; it is opened again");
        match greet(&self.hub, &self.options, &self.client, Greeting::Initialize).await {
            Ok(_) => {
                self.generation.fetch_add(1, Ordering::AcqRel);
                Ok(())
            }
            Err(GreetingError::NotSpoken | GreetingError::Unanswered) => {
                Err(LinkError::Stale.into())
            }
            Err(GreetingError::Failed(error)) => Err(error),
        }
    }
}

#[async_trait]
impl Upstream for Conversation {
    fn about(&self) -> &ServerAbout {
        &self.about
    }

    async fn request(
        &self,
        message: Box<RawValue>,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        *lock(&self.used) = Instant::now();
        let asked = Asked::read(&message)?;
        if let Some(result) = bridge::answer_for(self, &asked) {
            return Ok(rpc::raw(rpc::result(asked.id, result)));
        }
        bridge::settle(self).await;
        // What lasts as long as a client likes does not take a turn from the others.
        let is_endless = asked.method == "subscriptions/listen";
        let _turn = if is_endless { None } else { Some(self.gate.turn().await?) };
        self.gate.admit()?;
        let answer = self.ask(&asked, &client, &cancel).await?;
        bridge::fulfil(self, &asked, answer, (&client, &cancel)).await
    }

    async fn notify(&self, message: Box<RawValue>) -> Result<(), UpstreamError> {
        *lock(&self.used) = Instant::now();
        if self.era == Era::Stateless || message.get().contains("notifications/cancelled") {
            // There is nothing left in that revision to notify of, and requests are canceled by
            // whoever made them: the server does not know the client's ids.
            return Ok(());
        }
        Ok(self.hub.link.send(message.get()).await?)
    }
}

/// A whole answer, as the client knows its request.
fn for_client(answer: &RawValue, origin: &Origin) -> Result<Box<RawValue>, LinkError> {
    match Incoming::read(answer) {
        Ok(Incoming::Response { body, .. }) => {
            let renamed = match body {
                Body::Result(result) => message::result_for_client(result, origin),
                Body::Error(_) => None,
            };
            Ok(renamed.as_deref().map_or(body, Body::Result).answer(&origin.id))
        }
        Ok(_) => Err(LinkError::protocol("it answered with no answer")),
        Err(error) => Err(LinkError::Failed(error)),
    }
}

async fn greet(
    hub: &Arc<Hub>,
    options: &UpstreamOptions,
    client: &ClientAbout,
    greeting: Greeting,
) -> Result<Met, GreetingError> {
    let mut answer = say(hub, options, client, greeting).await?;
    if greeting.is_wanted_again(&answer) {
        answer = say(hub, options, client, greeting).await?;
    }
    let met = greeting.learn(&answer)?;
    hub.link.agree(&met.era);
    if greeting == Greeting::Initialize {
        hub.link.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
    }
    Ok(met)
}

/// Says a greeting and waits for the answer.
async fn say(
    hub: &Arc<Hub>,
    options: &UpstreamOptions,
    client: &ClientAbout,
    greeting: Greeting,
) -> Result<Box<RawValue>, GreetingError> {
    let request = greeting.request(next_id(), client);
    let origin = Origin { id: RawValue::NULL.to_owned(), token: None };
    hub.begin(request.id, Arc::new(Nobody(client.clone())), origin);
    let patience = match greeting {
        Greeting::Initialize => options.greeting_timeout,
        Greeting::Discover => options.probe_timeout,
    };
    let answer = tokio::time::timeout(patience, hub.link.exchange(&request, hub)).await;
    hub.end(request.id);
    match (answer, greeting) {
        (Ok(answer), _) => Ok(answer?),
        (Err(_), Greeting::Discover) => {
            if hub.link.abandon() {
                hub.closed.cancel();
            }
            Err(GreetingError::Unanswered)
        }
        (Err(_), Greeting::Initialize) => Err(GreetingError::Failed(UpstreamError::Timeout)),
    }
}

/// A request under way. Dropped before its answer, the server is told not to go on.
struct Underway<'a> {
    hub: &'a Arc<Hub>,
    id: u64,
    is_wanted: bool,
    /// Whom to tell if nobody waits for the answer any longer, although nobody withdrew the request.
    abandoned: Option<(&'a Gate, &'a CancellationToken)>,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.hub.end(self.id);
        if let Some((gate, cancel)) = self.abandoned
            && !cancel.is_cancelled()
            && !self.hub.has_questions()
        {
            gate.abandoned();
        }
        let can_spawn = tokio::runtime::Handle::try_current().is_ok();
        if self.is_wanted && can_spawn && self.hub.link.tells_cancellation() {
            let (hub, id) = (Arc::clone(self.hub), self.id);
            self.hub.tasks.spawn("upstream-cancel", async move {
                let params = serde_json::json!({ "requestId": id, "reason": "canceled" });
                let message = rpc::notification("notifications/cancelled", &params);
                // A server that does not hear this works in vain, no more.
                let _ = hub.link.send(message.get()).await;
            });
        }
    }
}

/// The client of requests that are our own.
pub(super) struct Nobody(pub(super) ClientAbout);

#[async_trait]
impl ClientSide for Nobody {
    fn about(&self) -> &ClientAbout {
        &self.0
    }

    async fn notify(&self, _: Box<RawValue>) {}

    async fn ask(&self, _: Box<RawValue>) -> Result<Box<RawValue>, Gone> {
        Err(Gone)
    }
}
