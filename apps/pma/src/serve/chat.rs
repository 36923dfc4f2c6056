//! Streams the answer of a chat handoff, one JSON event per line.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use cynode_agent::{ChatEventStream, HandoffAgent};
use cynode_runtime::telemetry::gen_ai::OperationSpan;
use cynode_wire::handoff::{
    ChatEvent, ChatHandoff, EVENT_STREAM, FailureKind, Handoff, HandoffKind, TraceEvents,
};
use futures_util::{StreamExt as _, stream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::Span;

use super::{handoff_span, open_agent_span};

/// Starts an answer. The response body holds the handoff slot and cancels the work when dropped.
pub(super) fn stream_chat(
    agent: &HandoffAgent,
    handoff: Handoff<ChatHandoff>,
    timeout: Duration,
    permit: OwnedSemaphorePermit,
) -> Response {
    let span = handoff_span(HandoffKind::Chat, &handoff.context);
    let invoked = span.in_scope(|| open_agent_span(agent.role(), &handoff.context));
    let events = span.in_scope(|| invoked.span().in_scope(|| agent.chat(handoff, timeout)));
    let answering = ChatResponseStream {
        events,
        span,
        invoked: Some(invoked),
        deadline: Instant::now() + timeout,
        is_finished: false,
        _permit: permit,
    };
    let lines =
        stream::unfold(answering, next_event).map(|event| Ok::<_, Infallible>(encode_line(&event)));
    ([(CONTENT_TYPE, EVENT_STREAM)], Body::from_stream(lines)).into_response()
}

struct ChatResponseStream {
    events: ChatEventStream,
    span: Span,
    /// `None` once finished.
    invoked: Option<OperationSpan>,
    deadline: Instant,
    is_finished: bool,
    _permit: OwnedSemaphorePermit,
}

async fn next_event(mut answering: ChatResponseStream) -> Option<(ChatEvent, ChatResponseStream)> {
    if answering.is_finished {
        return None;
    }
    let next = tokio::time::timeout_at(answering.deadline, answering.events.next()).await;
    let event = match next {
        Ok(Some(event)) => event,
        Ok(None) => failed_event(FailureKind::Other, "the answer was cut off"),
        Err(_) => failed_event(FailureKind::Timeout, "the answer took too long"),
    };
    answering.is_finished = matches!(event, ChatEvent::Done { .. } | ChatEvent::Failed { .. });
    if answering.is_finished {
        if let Some(invoked) = answering.invoked.take() {
            invoked.finish(failure_class(&event));
        }
        answering.span.in_scope(|| {
            if let ChatEvent::Failed { message, .. } = &event {
                tracing::warn!(error = message, "chat failed");
            } else {
                tracing::info!("chat answered");
            }
        });
    }
    Some((event, answering))
}

/// The class of a failed answer.
fn failure_class(event: &ChatEvent) -> Option<&'static str> {
    match event {
        ChatEvent::Failed { kind: FailureKind::Timeout, .. } => Some("timeout"),
        ChatEvent::Failed { kind: FailureKind::Other, .. } => Some("failed"),
        ChatEvent::Delta { .. } | ChatEvent::Tool { .. } | ChatEvent::Done { .. } => None,
    }
}

fn failed_event(kind: FailureKind, message: &str) -> ChatEvent {
    ChatEvent::Failed {
        message: message.to_owned(),
        may_retry: true,
        kind,
        decisions: vec![],
        trace: TraceEvents::default(),
    }
}

fn encode_line(event: &ChatEvent) -> Bytes {
    let mut line = serde_json::to_vec(event).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
