//! The handoff of a chat turn.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use cynode_domain::trace::TraceEvents;
use cynode_wire::handoff::{ChatEvent, ChatHandoff, FailureKind, Handoff, HandoffKind, TurnRole};
use futures_util::{Stream, StreamExt as _};
use tokio::time::Instant;

use super::close::OpenHandoff;
use super::send::serialize_body;
use super::{HandoffChatEvents, HandoffError, HandoffService, HandoffSubject};

/// The events of one answer; the last one is `done` or `failed`. Dropping the stream cancels the turn.
pub struct HandoffStream(Pin<Box<dyn Stream<Item = ChatEvent> + Send>>);

impl Stream for HandoffStream {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl std::fmt::Debug for HandoffStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HandoffStream")
    }
}

impl HandoffService {
    /// Starts the answer to a chat turn, with the excerpts of its project that fit the newest message. An error means that the turn was not started, or its state is unknown; a
    /// later failure is the last event.
    pub async fn chat(
        &self,
        subject: &HandoffSubject,
        body: ChatHandoff,
    ) -> Result<HandoffStream, HandoffError> {
        let timeout = self.options.chat_within;
        let deadline = Instant::now() + timeout;
        let about = body.messages.iter().rfind(|turn| turn.role == TurnRole::User);
        let subject = HandoffSubject {
            excerpts_about: about.map(|turn| turn.content.clone()),
            ..subject.clone()
        };
        let open = self.open_handoff(HandoffKind::Chat, &subject, timeout).await?;
        let handoff = serialize_body(&Handoff { context: open.context(), body })?;
        let sent = self
            .retry_unstarted((deadline, timeout), |left| self.manager.chat(handoff.clone(), left));
        let events = sent.await?;
        let answering = AnswerInProgress { open: Some(open), events, deadline, timeout };
        Ok(HandoffStream(Box::pin(futures_util::stream::unfold(answering, next_event))))
    }
}

/// An answer in progress.
struct AnswerInProgress {
    /// Closed with the last event.
    open: Option<OpenHandoff>,
    events: HandoffChatEvents,
    deadline: Instant,
    timeout: Duration,
}

async fn next_event(mut answering: AnswerInProgress) -> Option<(ChatEvent, AnswerInProgress)> {
    answering.open.as_ref()?;
    let next = tokio::time::timeout_at(answering.deadline, answering.events.next()).await;
    let event = match next {
        Ok(Some(Ok(event))) => event,
        Ok(Some(Err(error))) => failed_event(&error),
        Ok(None) => failed_event(&HandoffError::Failed("its answer ended early".to_owned())),
        Err(_) => failed_event(&HandoffError::Timeout(answering.timeout)),
    };
    if let ChatEvent::Done { decisions, trace, .. } | ChatEvent::Failed { decisions, trace, .. } =
        &event
        && let Some(mut open) = answering.open.take()
    {
        open.decided(decisions.clone());
        open.recorded(trace.clone());
        open.close().await;
    }
    Some((event, answering))
}

fn failed_event(error: &HandoffError) -> ChatEvent {
    let may_retry = !matches!(error, HandoffError::Invalid(_));
    let is_late = matches!(error, HandoffError::Timeout(_));
    let kind = if is_late { FailureKind::Timeout } else { FailureKind::Other };
    let (message, trace) = (error.to_string(), TraceEvents::default());
    ChatEvent::Failed { message, may_retry, kind, decisions: vec![], trace }
}
