//! The handoff API: work comes in, answers go out, and nobody but the orchestrator is heard.
//!
//! A request is refused before its body is read if it does not carry the secret, and before any work
//! begins if there is no room. Closing the connection ends the work on it.

mod chat;
mod refuse;

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
use cynode_agent::Agent;
use cynode_wire::handoff::{DEADLINE_HEADER, Handoff, HandoffContext, HandoffKind};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{Instrument as _, Span};

use self::refuse::Refusal;

/// Larger conversations are cut by whoever sends them.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
/// The time of a request that does not say how long it waits.
pub(crate) const DEFAULT_DEADLINE: Duration = Duration::from_mins(2);
const MAX_DEADLINE: Duration = Duration::from_hours(1);

/// What serves handoffs.
#[derive(Clone)]
pub(crate) struct Service {
    agent: Arc<Agent>,
    /// The hash of the secret, so that comparing it takes the same time for every guess.
    secret: [u8; 32],
    /// One permit for each handoff that may be open.
    room: Arc<Semaphore>,
}

impl Service {
    /// Serves `agent` to whoever presents `secret`, `max_open` handoffs at once.
    pub(crate) fn new(agent: Agent, secret: &SecretString, max_open: usize) -> Self {
        Self {
            agent: Arc::new(agent),
            secret: hash(secret.expose_secret()),
            room: Arc::new(Semaphore::new(max_open)),
        }
    }

    /// Its routes.
    pub(crate) fn routes(self) -> Router {
        Router::new()
            .route("/v1/handoff/{kind}", post(hand))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .layer(middleware::from_fn_with_state(self.clone(), orchestrator_only))
            .with_state(self)
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Lets nobody pass who does not present the secret.
async fn orchestrator_only(
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let given = given.and_then(|value| value.strip_prefix(b"Bearer ")).unwrap_or_default();
    if !bool::from(<[u8; 32]>::from(Sha256::digest(given)).ct_eq(&service.secret)) {
        tracing::warn!("a handoff without the orchestrator's secret was refused");
        return Err(Refusal::Stranger);
    }
    Ok(next.run(request).await)
}

/// `POST /v1/handoff/{kind}`
async fn hand(
    State(service): State<Service>,
    Path(kind): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let kind = HandoffKind::ALL.into_iter().find(|known| known.as_str() == kind);
    let kind = kind.ok_or(Refusal::UnknownKind)?;
    let within = deadline(&headers)?;
    let room = service.room.clone().try_acquire_owned().map_err(|_| Refusal::Full)?;
    if kind == HandoffKind::Chat {
        return Ok(chat::stream(&service.agent, read(&body)?, within, room));
    }
    let worked = work((&service.agent, within), kind, &body, room);
    tokio::time::timeout(within, worked).await.unwrap_or(Err(Refusal::Late(within)))
}

fn deadline(headers: &HeaderMap) -> Result<Duration, Refusal> {
    let Some(given) = headers.get(DEADLINE_HEADER) else { return Ok(DEFAULT_DEADLINE) };
    let millis = given.to_str().ok().and_then(|text| text.parse().ok()).map(Duration::from_millis);
    let millis = millis.filter(|within| !within.is_zero() && *within <= MAX_DEADLINE);
    millis.ok_or_else(|| Refusal::Unreadable(format!("{DEADLINE_HEADER} is 1 to 3600000")))
}

async fn work(
    (agent, within): (&Agent, Duration),
    kind: HandoffKind,
    body: &[u8],
    _room: OwnedSemaphorePermit,
) -> Result<Response, Refusal> {
    macro_rules! answered {
        ($method:ident) => {{
            let handoff = read(body)?;
            let span = span(kind, &handoff.context);
            let answer = agent.$method(&handoff, within).instrument(span.clone()).await;
            span.in_scope(|| told(kind, answer))
        }};
    }
    match kind {
        HandoffKind::Plan => answered!(plan),
        HandoffKind::Replan => answered!(replan),
        HandoffKind::Verify => answered!(verify),
        HandoffKind::ScheduledRun => answered!(scheduled_run),
        HandoffKind::ContinueRun => answered!(continue_run),
        HandoffKind::AgentReport => answered!(agent_report),
        HandoffKind::Decide => answered!(decide),
        HandoffKind::Place => answered!(place),
        HandoffKind::Analyse => answered!(analyse),
        HandoffKind::Chat => Err(Refusal::UnknownKind),
    }
}

/// The answer as it is sent; either way the log says how it went.
fn told<A: Serialize>(
    kind: HandoffKind,
    answer: Result<A, cynode_agent::AgentError>,
) -> Result<Response, Refusal> {
    let word = kind.as_str();
    match answer {
        Ok(answer) => {
            tracing::info!(handoff.kind = word, "answered a handoff to {word}");
            Ok(Json(answer).into_response())
        }
        Err(error) => {
            tracing::warn!(
                handoff.kind = word,
                error = &error as &dyn std::error::Error,
                "a handoff to {word} failed"
            );
            Err(Refusal::Work(error))
        }
    }
}

pub(crate) fn span(kind: HandoffKind, context: &HandoffContext) -> Span {
    let task = context.task.as_ref().map(|task| tracing::field::display(task.id));
    tracing::info_span!(
        "handoff",
        trace_id = %context.trace_id,
        handoff.kind = kind.as_str(),
        user.id = %context.user.id,
        task.id = task,
    )
}

fn read<B: DeserializeOwned>(body: &[u8]) -> Result<Handoff<B>, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests;
