//! One open MCP session with a server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField};
use cynode_runtime::trace_recorder::log_event;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::UpstreamOptions;
use super::admission::ServerAdmission;
use super::bridge;
use super::handshake::{Handshake, HandshakeError, HandshakeOutcome, RevisionKind};
use super::link::UpstreamLinkError;
use super::message::{
    self, ClientRequestIds, ParsedClientRequest, RequestClientMeta, ResponseBody, ServerMessage,
};
use super::message_router::{MessageRouter, lock, next_id};
use crate::interface::ClientDescription;
use crate::interface::ClientUnreachable;
use crate::interface::ServerDescription;
use crate::interface::Upstream;
use crate::interface::UpstreamClient;
use crate::interface::UpstreamError;
use crate::rpc;

/// An MCP session with a server, owned by one client session or shared.
pub(super) struct UpstreamSession {
    pub(super) router: Arc<MessageRouter>,
    pub(super) revision_kind: RevisionKind,
    server_description: ServerDescription,
    gate: Arc<ServerAdmission>,
    options: Arc<UpstreamOptions>,
    /// The client that was announced to the server; announced again when the session is reopened.
    client: ClientDescription,
    /// How many times the server lost the session.
    generation: AtomicU64,
    reopening: tokio::sync::Mutex<()>,
    last_used: Mutex<Instant>,
    /// Session state on behalf of a stateless server.
    pub(super) bridge_state: bridge::BridgedSessionState,
}

impl UpstreamSession {
    /// Performs the handshake on behalf of `client`.
    pub(super) async fn open(
        router: Arc<MessageRouter>,
        gate: Arc<ServerAdmission>,
        options: &Arc<UpstreamOptions>,
        client: &ClientDescription,
        greeting: Handshake,
    ) -> Result<Self, HandshakeError> {
        let met = perform_handshake(&router, options, client, greeting).await?;
        let connected = TraceEntry::new(TraceEventKind::BackendConnected);
        let connected = connected.with(TraceField::Backend, "mcp");
        let connected = connected.with(TraceField::BackendPurpose, "tools");
        log_event(None, TraceActor::Orchestrator, &connected);
        Ok(Self {
            router,
            revision_kind: met.revision_kind,
            server_description: met.server_description,
            gate,
            options: Arc::clone(options),
            client: client.clone(),
            generation: AtomicU64::new(0),
            reopening: tokio::sync::Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            bridge_state: bridge::BridgedSessionState::default(),
        })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.router.closed.is_cancelled() && self.router.link.is_open()
    }

    /// Time since the last request.
    pub(super) fn idle_for(&self) -> Duration {
        lock(&self.last_used).elapsed()
    }

    /// Delivers server messages outside of requests to `client` from now on.
    pub(super) fn attach(&self, session: &str, client: &Arc<dyn UpstreamClient>) {
        if self.router.add_listener(session, client) {
            bridge::start_listening(self);
        }
    }

    /// Closes the session; requests in flight fail.
    pub(super) async fn close(&self) {
        self.router.closed.cancel();
        self.router.fail_all(&UpstreamLinkError::unavailable("the connection to it was closed"));
        self.router.link.close().await;
    }

    /// Sends one request and waits for its response; reopens the session if the server lost it.
    pub(super) async fn send_request(
        &self,
        request: &ParsedClientRequest<'_>,
        client: &Arc<dyn UpstreamClient>,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        for _ in 0..2 {
            let generation = self.generation.load(Ordering::Acquire);
            match self.try_request(request, client, cancel).await {
                Err(UpstreamLinkError::SessionLost) => self.reopen_session(generation).await?,
                answer => return answer.map_err(UpstreamError::from),
            }
        }
        Err(UpstreamLinkError::SessionLost.into())
    }

    async fn try_request(
        &self,
        request: &ParsedClientRequest<'_>,
        client: &Arc<dyn UpstreamClient>,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamLinkError> {
        let meta = RequestClientMeta {
            client_description: client.about(),
            log_level: self.bridge_state.log_level(),
        };
        let (request, origin) = request.to_outgoing_request(next_id(), &self.revision_kind, &meta);
        self.router.register_call(request.id, Arc::clone(client), origin.clone());
        let mut underway = InFlightRequest {
            router: &self.router,
            id: request.id,
            is_wanted: true,
            abandoned: Some((&self.gate, cancel)),
        };
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(UpstreamLinkError::Failed(UpstreamError::Canceled)),
            answer = self.router.link.exchange(&request, &self.router) => {
                self.gate.record_outcome(&answer);
                // A server that was merely slow still works on the request, so it is canceled
                // there.
                underway.is_wanted =
                    matches!(answer, Err(UpstreamLinkError::Failed(UpstreamError::Timeout)));
                answer
            }
            () = self.router.closed.cancelled() => {
                Err(UpstreamLinkError::unavailable("the connection to it was closed"))
            }
        };
        underway.abandoned = None;
        restore_client_ids(&answer?, &origin)
    }

    /// Reopens a session that the server lost, once for all requests that found out.
    async fn reopen_session(&self, generation: u64) -> Result<(), UpstreamError> {
        let _only = self.reopening.lock().await;
        if self.generation.load(Ordering::Acquire) != generation {
            return Ok(());
        }
        tracing::info!("upstream session lost, reopening");
        match perform_handshake(&self.router, &self.options, &self.client, Handshake::Initialize)
            .await
        {
            Ok(_) => {
                self.generation.fetch_add(1, Ordering::AcqRel);
                Ok(())
            }
            Err(HandshakeError::Unsupported | HandshakeError::Unanswered) => {
                Err(UpstreamLinkError::SessionLost.into())
            }
            Err(HandshakeError::Failed(error)) => Err(error),
        }
    }
}

#[async_trait]
impl Upstream for UpstreamSession {
    fn about(&self) -> &ServerDescription {
        &self.server_description
    }

    async fn request(
        &self,
        message: Box<RawValue>,
        client: Arc<dyn UpstreamClient>,
        cancel: CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        *lock(&self.last_used) = Instant::now();
        let request = ParsedClientRequest::read(&message)?;
        if let Some(result) = bridge::answer_locally(self, &request) {
            return Ok(rpc::raw(rpc::render_result(request.id, result)));
        }
        bridge::await_standing_stream(self).await;
        // An unbounded stream does not occupy a request permit.
        let is_endless = request.method == "subscriptions/listen";
        let _turn = if is_endless { None } else { Some(self.gate.acquire_permit().await?) };
        self.gate.admit()?;
        let answer = self.send_request(&request, &client, &cancel).await?;
        bridge::resolve_input_requests(self, &request, answer, &client, &cancel).await
    }

    async fn notify(&self, message: Box<RawValue>) -> Result<(), UpstreamError> {
        *lock(&self.last_used) = Instant::now();
        if self.revision_kind == RevisionKind::Stateless
            || message.get().contains("notifications/cancelled")
        {
            // The stateless revision has no client notifications, and the gateway cancels requests
            // itself: the server does not know the client's ids.
            return Ok(());
        }
        Ok(self.router.link.send(message.get()).await?)
    }
}

/// The response under the client's own request id.
fn restore_client_ids(
    answer: &RawValue,
    origin: &ClientRequestIds,
) -> Result<Box<RawValue>, UpstreamLinkError> {
    match ServerMessage::read(answer) {
        Ok(ServerMessage::Response { body, .. }) => {
            let renamed = match body {
                ResponseBody::Result(result) => message::restore_result_ids(result, origin),
                ResponseBody::Error(_) => None,
            };
            Ok(renamed.as_deref().map_or(body, ResponseBody::Result).render_response(&origin.id))
        }
        Ok(_) => Err(UpstreamLinkError::protocol("it did not send a response")),
        Err(error) => Err(UpstreamLinkError::Failed(error)),
    }
}

async fn perform_handshake(
    router: &Arc<MessageRouter>,
    options: &UpstreamOptions,
    client: &ClientDescription,
    greeting: Handshake,
) -> Result<HandshakeOutcome, HandshakeError> {
    let mut answer = send_handshake(router, options, client, greeting).await?;
    if greeting.should_retry(&answer) {
        answer = send_handshake(router, options, client, greeting).await?;
    }
    let met = greeting.parse_response(&answer)?;
    router.link.apply_revision(&met.revision_kind);
    if greeting == Handshake::Initialize {
        router.link.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
    }
    Ok(met)
}

/// Sends a handshake request and waits for the response.
async fn send_handshake(
    router: &Arc<MessageRouter>,
    options: &UpstreamOptions,
    client: &ClientDescription,
    greeting: Handshake,
) -> Result<Box<RawValue>, HandshakeError> {
    let request = greeting.request(next_id(), client);
    let origin = ClientRequestIds { id: RawValue::NULL.to_owned(), token: None };
    router.register_call(request.id, Arc::new(NullClient(client.clone())), origin);
    let patience = match greeting {
        Handshake::Initialize => options.greeting_timeout,
        Handshake::Discover => options.probe_timeout,
    };
    let answer = tokio::time::timeout(patience, router.link.exchange(&request, router)).await;
    router.remove_call(request.id);
    match (answer, greeting) {
        (Ok(answer), _) => Ok(answer?),
        (Err(_), Handshake::Discover) => {
            if router.link.abandon_handshake() {
                router.closed.cancel();
            }
            Err(HandshakeError::Unanswered)
        }
        (Err(_), Handshake::Initialize) => Err(HandshakeError::Failed(UpstreamError::Timeout)),
    }
}

/// A request in flight. Dropped before its response, it sends a cancellation to the server.
struct InFlightRequest<'a> {
    router: &'a Arc<MessageRouter>,
    id: u64,
    is_wanted: bool,
    /// Records a failure if the caller's future was dropped without a cancellation.
    abandoned: Option<(&'a ServerAdmission, &'a CancellationToken)>,
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        self.router.remove_call(self.id);
        if let Some((gate, cancel)) = self.abandoned
            && !cancel.is_cancelled()
            && !self.router.has_pending_server_requests()
        {
            gate.record_abandoned();
        }
        let can_spawn = tokio::runtime::Handle::try_current().is_ok();
        if self.is_wanted && can_spawn && self.router.link.needs_cancel_notification() {
            let (router, id) = (Arc::clone(self.router), self.id);
            self.router.tasks.spawn("upstream-cancel", async move {
                let params = serde_json::json!({ "requestId": id, "reason": "canceled" });
                let message = rpc::render_notification("notifications/cancelled", &params);
                // Best effort: a server that misses this finishes unneeded work.
                let _ = router.link.send(message.get()).await;
            });
        }
    }
}

/// The client of requests that the gateway sends itself.
pub(super) struct NullClient(pub(super) ClientDescription);

#[async_trait]
impl UpstreamClient for NullClient {
    fn about(&self) -> &ClientDescription {
        &self.0
    }

    async fn notify(&self, _: Box<RawValue>) {}

    async fn ask(&self, _: Box<RawValue>) -> Result<Box<RawValue>, ClientUnreachable> {
        Err(ClientUnreachable)
    }
}
