//! A conversation's answer, sent while it is made: an event a line.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use cynode_agent::{Agent, ChatEvents};
use cynode_wire::handoff::{
    ChatEvent, ChatHandoff, EVENT_STREAM, FailureKind, Handoff, HandoffKind,
};
use futures_util::{StreamExt as _, stream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::Span;

use super::span;

/// Starts an answer. It ends with the response's body, which holds the room.
pub(super) fn stream(
    agent: &Agent,
    handoff: Handoff<ChatHandoff>,
    within: Duration,
    room: OwnedSemaphorePermit,
) -> Response {
    let span = span(HandoffKind::Chat, &handoff.context);
    let events = span.in_scope(|| agent.chat(handoff, within));
    let answering =
        Answering { events, span, deadline: Instant::now() + within, is_over: false, _room: room };
    let lines = stream::unfold(answering, next).map(|event| Ok::<_, Infallible>(line(&event)));
    ([(CONTENT_TYPE, EVENT_STREAM)], Body::from_stream(lines)).into_response()
}

struct Answering {
    events: ChatEvents,
    span: Span,
    deadline: Instant,
    is_over: bool,
    _room: OwnedSemaphorePermit,
}

async fn next(mut answering: Answering) -> Option<(ChatEvent, Answering)> {
    if answering.is_over {
        return None;
    }
    let next = tokio::time::timeout_at(answering.deadline, answering.events.next()).await;
    let event = match next {
        Ok(Some(event)) => event,
        Ok(None) => failed(FailureKind::Other, "the answer broke off"),
        Err(_) => failed(FailureKind::Timeout, "the answer took too long"),
    };
    answering.is_over = matches!(event, ChatEvent::Done { .. } | ChatEvent::Failed { .. });
    if answering.is_over {
        answering.span.in_scope(|| {
            if let ChatEvent::Failed { message, .. } = &event {
                tracing::warn!("a chat failed: {message}");
            } else {
                tracing::info!("answered a chat");
            }
        });
    }
    Some((event, answering))
}

fn failed(kind: FailureKind, message: &str) -> ChatEvent {
    ChatEvent::Failed { message: message.to_owned(), may_retry: true, kind, decisions: vec![] }
}

fn line(event: &ChatEvent) -> Bytes {
    let mut line = serde_json::to_vec(event).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
