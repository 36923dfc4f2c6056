//! The handoff API, which accepts requests of the orchestrator only.
//!
//! A request without the secret is rejected before its body is read, and a request without a free slot before
//! any work starts. Closing the connection cancels the work.

mod chat;
mod rejection;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use cynode_agent::{HandoffAgent, HandoffAgentError};
use cynode_runtime::telemetry::gen_ai::{AgentAttributes, OperationSpan};
use cynode_wire::handoff::{AgentRole, DEADLINE_HEADER, Handoff, HandoffContext, HandoffKind};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{Instrument as _, Span};

use self::rejection::HandoffRejection;

/// The orchestrator truncates larger conversations.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
/// The deadline of a request without a deadline header.
pub(crate) const DEFAULT_DEADLINE: Duration = Duration::from_mins(2);
const MAX_DEADLINE: Duration = Duration::from_hours(1);

/// Serves handoffs.
#[derive(Clone)]
pub(crate) struct HandoffApi {
    agent: Arc<HandoffAgent>,
    /// The hash of the secret, compared in constant time.
    secret: [u8; 32],
    /// One permit per open handoff.
    permits: Arc<Semaphore>,
}

impl HandoffApi {
    /// Serves `agent` to callers with `secret`, at most `max_open` handoffs at once.
    pub(crate) fn new(agent: HandoffAgent, secret: &SecretString, max_open: usize) -> Self {
        Self {
            agent: Arc::new(agent),
            secret: hash_secret(secret.expose_secret()),
            permits: Arc::new(Semaphore::new(max_open)),
        }
    }

    pub(crate) fn routes(self) -> Router {
        Router::new()
            .route("/v1/handoff/{kind}", post(handle_handoff))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .layer(middleware::from_fn_with_state(self.clone(), require_orchestrator_secret))
            .with_state(self)
    }
}

fn hash_secret(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Rejects requests without the secret.
async fn require_orchestrator_secret(
    State(service): State<HandoffApi>,
    request: Request,
    next: Next,
) -> Result<Response, HandoffRejection> {
    let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let given = given.and_then(|value| value.strip_prefix(b"Bearer ")).unwrap_or_default();
    let is_known = bool::from(<[u8; 32]>::from(Sha256::digest(given)).ct_eq(&service.secret));
    if !is_known && !cynode_fault::fault!("PMA-02") {
        tracing::warn!("unauthenticated handoff rejected");
        return Err(HandoffRejection::Unauthenticated);
    }
    Ok(next.run(request).await)
}

/// `POST /v1/handoff/{kind}`
async fn handle_handoff(
    State(service): State<HandoffApi>,
    Path(kind): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, HandoffRejection> {
    let kind = HandoffKind::ALL.into_iter().find(|known| known.as_str() == kind);
    let kind = kind.ok_or(HandoffRejection::UnknownKind)?;
    let timeout = parse_deadline(&headers)?;
    let room =
        service.permits.clone().try_acquire_owned().map_err(|_| HandoffRejection::Saturated)?;
    if kind == HandoffKind::Chat {
        return Ok(chat::stream_chat(&service.agent, parse_handoff(&body)?, timeout, room));
    }
    let worked = run_handoff(&service.agent, timeout, kind, &body, room);
    tokio::time::timeout(timeout, worked)
        .await
        .unwrap_or(Err(HandoffRejection::DeadlineExceeded(timeout)))
}

fn parse_deadline(headers: &HeaderMap) -> Result<Duration, HandoffRejection> {
    let Some(given) = headers.get(DEADLINE_HEADER) else { return Ok(DEFAULT_DEADLINE) };
    let millis = given.to_str().ok().and_then(|text| text.parse().ok()).map(Duration::from_millis);
    let millis = millis.filter(|timeout| !timeout.is_zero() && *timeout <= MAX_DEADLINE);
    millis
        .ok_or_else(|| HandoffRejection::InvalidBody(format!("{DEADLINE_HEADER} is 1 to 3600000")))
}

async fn run_handoff(
    agent: &HandoffAgent,
    timeout: Duration,
    kind: HandoffKind,
    body: &[u8],
    _room: OwnedSemaphorePermit,
) -> Result<Response, HandoffRejection> {
    macro_rules! answered {
        ($method:ident) => {{
            let handoff = parse_handoff(body)?;
            let span = handoff_span(kind, &handoff.context);
            let invoked = span.in_scope(|| open_agent_span(agent.role(), &handoff.context));
            let answer = agent.$method(&handoff, timeout).instrument(invoked.span());
            let answer = answer.instrument(span.clone()).await;
            invoked.finish(answer.as_ref().err().map(HandoffAgentError::kind));
            span.in_scope(|| render_outcome(kind, answer))
        }};
    }
    match kind {
        HandoffKind::Plan => answered!(plan),
        HandoffKind::Replan => answered!(replan),
        HandoffKind::Classify => answered!(classify),
        HandoffKind::PlanWork => answered!(plan_work),
        HandoffKind::Verify => answered!(verify),
        HandoffKind::ScheduledRun => answered!(scheduled_run),
        HandoffKind::ContinueRun => answered!(continue_run),
        HandoffKind::AgentReport => answered!(agent_report),
        HandoffKind::Place => answered!(place),
        HandoffKind::Analyse => answered!(analyse),
        HandoffKind::Chat => Err(HandoffRejection::UnknownKind),
    }
}

/// Logs the outcome of a handoff and renders its response.
fn render_outcome<A: Serialize>(
    kind: HandoffKind,
    answer: Result<A, HandoffAgentError>,
) -> Result<Response, HandoffRejection> {
    let word = kind.as_str();
    match answer {
        Ok(answer) => {
            tracing::info!(handoff.kind = word, "handoff answered");
            Ok(Json(answer).into_response())
        }
        Err(error) => {
            tracing::warn!(
                handoff.kind = word,
                error = &error as &dyn std::error::Error,
                "handoff failed"
            );
            Err(HandoffRejection::AgentFailed(error))
        }
    }
}

pub(crate) fn handoff_span(kind: HandoffKind, context: &HandoffContext) -> Span {
    let task = context.task.as_ref().map(|task| tracing::field::display(task.id));
    tracing::info_span!(
        "handoff",
        trace_id = %context.trace_id,
        handoff.kind = kind.as_str(),
        user.id = %context.user.id,
        task.id = task,
    )
}

/// The span of the agent's work, for a collector.
pub(crate) fn open_agent_span(role: AgentRole, context: &HandoffContext) -> OperationSpan {
    let conversation = context.thread_id.map(|thread| thread.to_string());
    let attributes = AgentAttributes {
        trace_id: &context.trace_id,
        agent: role.as_str(),
        conversation: conversation.as_deref(),
    };
    attributes.open_span()
}

fn parse_handoff<B: DeserializeOwned>(body: &[u8]) -> Result<Handoff<B>, HandoffRejection> {
    serde_json::from_slice(body).map_err(|error| HandoffRejection::InvalidBody(error.to_string()))
}

#[cfg(test)]
mod tests;
