//! The event stream of a chat turn.

use cynode_domain::trace::TraceEvents;
use cynode_wire::handoff::{ChatEvent, DecisionRecord, FailureKind, HandoffUsage};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use tokio::sync::mpsc;

use crate::ChatEventStream;

/// Events buffered for a slow client; then the work blocks.
const EVENT_BUFFER: usize = 16;

/// Sends events to the client. Sending after the client disconnected is no error: the work ends with the stream.
pub(super) struct ChatEventSender {
    events: mpsc::Sender<ChatEvent>,
}

impl ChatEventSender {
    /// Sends more text of the answer.
    pub(super) async fn send_text(&self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.send(ChatEvent::Delta { text }).await;
        }
    }

    /// Reports a tool call; `succeeded` is `None` while it runs.
    pub(super) async fn send_tool_call(&self, name: &str, succeeded: Option<bool>, summary: &str) {
        let (name, summary) = (name.to_owned(), summary.to_owned());
        self.send(ChatEvent::Tool { name, succeeded, summary }).await;
    }

    /// Ends a complete answer.
    pub(super) async fn send_done(&self, usage: HandoffUsage, decisions: Vec<DecisionRecord>) {
        self.send(ChatEvent::Done { usage, decisions, trace: TraceEvents::default() }).await;
    }

    /// Ends an incomplete answer.
    pub(super) async fn send_failed(
        &self,
        message: String,
        may_retry: bool,
        decisions: Vec<DecisionRecord>,
    ) {
        let kind = FailureKind::Other;
        self.send(ChatEvent::Failed {
            message,
            may_retry,
            kind,
            decisions,
            trace: TraceEvents::default(),
        })
        .await;
    }

    async fn send(&self, event: ChatEvent) {
        let _ = self.events.send(event).await;
    }
}

/// The work and its unsent events.
struct ChatEventSource {
    work: Option<BoxFuture<'static, ()>>,
    events: mpsc::Receiver<ChatEvent>,
}

impl ChatEventSource {
    async fn next(&mut self) -> Option<ChatEvent> {
        let Self { work, events } = self;
        if let Some(running) = work {
            tokio::select! {
                biased;
                event = events.recv() => return event,
                () = running => {}
            }
            *work = None;
        }
        events.recv().await
    }
}

/// Returns the events of `work`, which runs only while the stream is polled.
pub(super) fn run_with_events<W>(work: impl FnOnce(ChatEventSender) -> W) -> ChatEventStream
where
    W: Future<Output = ()> + Send + 'static,
{
    let (sender, events) = mpsc::channel(EVENT_BUFFER);
    let work = Some(work(ChatEventSender { events: sender }).boxed());
    stream::unfold(ChatEventSource { work, events }, |mut telling| async move {
        let event = telling.next().await?;
        Some((event, telling))
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn everything_that_is_told_arrives_in_order() {
        let told = run_with_events(|events| async move {
            for n in 0..100 {
                events.send_text(n.to_string()).await;
            }
            events.send_text("").await;
            events.send_done(HandoffUsage::default(), vec![]).await;
        });

        let heard: Vec<_> = told.collect().await;

        assert_eq!(heard.len(), 101);
        assert_eq!(heard[99], ChatEvent::Delta { text: "99".to_owned() });
        assert!(matches!(heard[100], ChatEvent::Done { .. }));
    }

    #[tokio::test]
    async fn the_work_ends_when_nobody_listens() {
        struct DropFlag(Arc<AtomicBool>);
        impl Drop for DropFlag {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let ended = Arc::new(AtomicBool::new(false));
        let flag = DropFlag(Arc::clone(&ended));
        let mut told = run_with_events(|events| async move {
            let _flag = flag;
            events.send_text("one").await;
            std::future::pending::<()>().await;
        });
        assert!(told.next().await.is_some());

        drop(told);

        assert!(ended.load(Ordering::SeqCst));
    }
}
