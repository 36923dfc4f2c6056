//! What whoever answers tells while it works.

use cynode_wire::handoff::{ChatEvent, DecisionRecord, FailureKind, HandoffUsage};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use tokio::sync::mpsc;

use crate::ChatEvents;

/// How many events wait for a slow listener; then the work waits.
const WAITING: usize = 16;

/// The way to whoever listens. Telling somebody who went away is no error: the work ends with the
/// stream.
pub(super) struct Teller {
    events: mpsc::Sender<ChatEvent>,
}

impl Teller {
    /// More of the answer.
    pub(super) async fn say(&self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.tell(ChatEvent::Delta { text }).await;
        }
    }

    /// A tool is called, or was.
    pub(super) async fn tool(&self, name: &str, succeeded: Option<bool>, summary: &str) {
        let (name, summary) = (name.to_owned(), summary.to_owned());
        self.tell(ChatEvent::Tool { name, succeeded, summary }).await;
    }

    /// The answer is whole.
    pub(super) async fn done(&self, usage: HandoffUsage, decisions: Vec<DecisionRecord>) {
        self.tell(ChatEvent::Done { usage, decisions }).await;
    }

    /// There is no whole answer.
    pub(super) async fn failed(
        &self,
        message: String,
        may_retry: bool,
        decisions: Vec<DecisionRecord>,
    ) {
        let kind = FailureKind::Other;
        self.tell(ChatEvent::Failed { message, may_retry, kind, decisions }).await;
    }

    async fn tell(&self, event: ChatEvent) {
        let _ = self.events.send(event).await;
    }
}

/// The work, and what is left to be told of it.
struct Telling {
    work: Option<BoxFuture<'static, ()>>,
    events: mpsc::Receiver<ChatEvent>,
}

impl Telling {
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

/// What is told while `work` goes on. The work goes on only while somebody listens.
pub(super) fn events<W>(work: impl FnOnce(Teller) -> W) -> ChatEvents
where
    W: Future<Output = ()> + Send + 'static,
{
    let (sender, events) = mpsc::channel(WAITING);
    let work = Some(work(Teller { events: sender }).boxed());
    stream::unfold(Telling { work, events }, |mut telling| async move {
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
        let told = events(|teller| async move {
            for n in 0..100 {
                teller.say(n.to_string()).await;
            }
            teller.say("").await;
            teller.done(HandoffUsage::default(), vec![]).await;
        });

        let heard: Vec<_> = told.collect().await;

        assert_eq!(heard.len(), 101);
        assert_eq!(heard[99], ChatEvent::Delta { text: "99".to_owned() });
        assert!(matches!(heard[100], ChatEvent::Done { .. }));
    }

    #[tokio::test]
    async fn the_work_ends_when_nobody_listens() {
        struct Flag(Arc<AtomicBool>);
        impl Drop for Flag {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Flag(Arc::clone(&ended));
        let mut told = events(|teller| async move {
            let _flag = flag;
            teller.say("one").await;
            std::future::pending::<()>().await;
        });
        assert!(told.next().await.is_some());

        drop(told);

        assert!(ended.load(Ordering::SeqCst));
    }
}
