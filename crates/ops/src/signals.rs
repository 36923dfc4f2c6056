//! Wake-ups inside this process. A lost one costs a waiting reader one poll interval, never more.

use std::sync::Arc;
use std::time::Duration;

use cynode_store::Engine;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How often a waiting reader looks by itself when other processes write to the same database.
const SHARED_POLL: Duration = Duration::from_millis(500);
/// The same when this process is the only writer, and hears of every change.
const OWN_POLL: Duration = Duration::from_secs(10);

/// What happened, by topic. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Signals {
    topics: Arc<[watch::Sender<u64>; 5]>,
    poll: Duration,
}

/// What readers wait for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Topic {
    /// A run may have become claimable.
    Runs = 0,
    /// A job was queued, canceled, or a slot became free.
    Jobs = 1,
    /// A job ended.
    Results = 2,
    /// An event was committed.
    Events = 3,
    /// What the gateway decides by has changed.
    Policy = 4,
}

impl Signals {
    /// Wake-ups for a store with this engine.
    pub fn new(engine: Engine) -> Self {
        let poll = match engine {
            Engine::Postgres => SHARED_POLL,
            Engine::Sqlite => OWN_POLL,
        };
        Self { topics: Arc::new(std::array::from_fn(|_| watch::channel(0).0)), poll }
    }

    /// Wakes everybody who waits for `topic`, and event readers.
    pub(crate) fn send(&self, topic: Topic) {
        self.topics[topic as usize].send_modify(|count| *count += 1);
        self.topics[Topic::Events as usize].send_modify(|count| *count += 1);
    }

    /// Begins to listen: what is signalled from now on is not missed.
    pub(crate) fn listen(&self, topic: Topic) -> Listener {
        Listener { changes: self.topics[topic as usize].subscribe(), poll: self.poll }
    }
}

/// Hears one topic from the moment it was made.
#[derive(Debug)]
pub(crate) struct Listener {
    changes: watch::Receiver<u64>,
    poll: Duration,
}

impl Listener {
    /// Looks by itself at least this often.
    #[must_use]
    pub(crate) fn at_least_every(self, interval: Duration) -> Self {
        Self { poll: self.poll.min(interval), ..self }
    }

    /// Waits for a signal, the poll interval or `deadline`; false if the deadline has passed.
    pub(crate) async fn wait(&mut self, deadline: Instant) -> bool {
        let look_again = deadline.min(Instant::now() + self.poll);
        // A closed topic means that the process is stopping; the deadline ends the wait.
        let _ = timeout_at(look_again, self.changes.changed()).await;
        Instant::now() < deadline
    }
}
