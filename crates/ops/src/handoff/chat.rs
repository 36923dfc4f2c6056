//! Handing over a turn of a conversation.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use cynode_wire::handoff::{ChatEvent, ChatHandoff, FailureKind, Handoff, HandoffKind};
use futures_util::{Stream, StreamExt as _};
use tokio::time::Instant;

use super::close::Open;
use super::send::written;
use super::{ChatEvents, HandoffError, Handoffs, Subject};

/// The events of one answer. The last one is `done` or `failed`. Dropping it ends the work on it.
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

impl Handoffs {
    /// Has a turn of a conversation answered. An error means that nothing was begun, or nothing is
    /// known of it; what goes wrong later is the last event.
    pub async fn chat(
        &self,
        subject: &Subject,
        body: ChatHandoff,
    ) -> Result<HandoffStream, HandoffError> {
        let within = self.options.chat_within;
        let deadline = Instant::now() + within;
        let open = self.open(HandoffKind::Chat, subject, within).await?;
        let handoff = written(&Handoff { context: open.context(), body })?;
        let sent =
            self.patiently((deadline, within), |left| self.manager.chat(handoff.clone(), left));
        let events = sent.await?;
        let answering = Answering { open: Some(open), events, deadline, within };
        Ok(HandoffStream(Box::pin(futures_util::stream::unfold(answering, next))))
    }
}

/// An answer that is not whole yet.
struct Answering {
    /// Closed with the last event.
    open: Option<Open>,
    events: ChatEvents,
    deadline: Instant,
    within: Duration,
}

async fn next(mut answering: Answering) -> Option<(ChatEvent, Answering)> {
    answering.open.as_ref()?;
    let next = tokio::time::timeout_at(answering.deadline, answering.events.next()).await;
    let event = match next {
        Ok(Some(Ok(event))) => event,
        Ok(Some(Err(error))) => failed(&error),
        Ok(None) => failed(&HandoffError::Failed("its answer broke off".to_owned())),
        Err(_) => failed(&HandoffError::Timeout(answering.within)),
    };
    if let ChatEvent::Done { decisions, .. } | ChatEvent::Failed { decisions, .. } = &event
        && let Some(mut open) = answering.open.take()
    {
        open.decided(decisions.clone());
        open.close().await;
    }
    Some((event, answering))
}

fn failed(error: &HandoffError) -> ChatEvent {
    let may_retry = !matches!(error, HandoffError::Invalid(_));
    let is_late = matches!(error, HandoffError::Timeout(_));
    let kind = if is_late { FailureKind::Timeout } else { FailureKind::Other };
    ChatEvent::Failed { message: error.to_string(), may_retry, kind, decisions: vec![] }
}
