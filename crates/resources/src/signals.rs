//! Wake-ups within this process, and between processes that share a PostgreSQL database. A lost signal
//! delays a waiting reader by one poll interval at most.

mod peers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use cynode_store::DatabaseEngine;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

/// Poll interval when other processes write to the same database and their notifications are not
/// received.
const UNNOTIFIED_POLL: Duration = Duration::from_millis(500);
/// The same while notifications of other processes are received.
const NOTIFIED_POLL: Duration = Duration::from_secs(5);
/// The same when this process is the only writer.
const SOLE_WRITER_POLL: Duration = Duration::from_secs(10);

/// The same for rarely changing topics.
const IDLE_POLL: Duration = Duration::from_mins(1);

/// Change signals by topic. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Signals {
    topics: Arc<[watch::Sender<u64>; 7]>,
    engine: DatabaseEngine,
    peers: Arc<PeerProcesses>,
}

/// Other processes on the same database.
#[derive(Debug, Default)]
struct PeerProcesses {
    /// Bit set of topics not yet sent to them.
    pending_topics: AtomicU32,
    wake: Notify,
    /// Whether their notifications reach this process.
    is_connected: AtomicBool,
}

/// A topic that readers wait for.
#[derive(Debug, Clone, Copy)]
pub enum Topic {
    /// A run may have become claimable.
    Runs = 0,
    /// A job was queued, canceled, or a slot became free.
    Jobs = 1,
    /// A job ended.
    Results = 2,
    /// An event was committed.
    Events = 3,
    /// The policy of the gateway has changed.
    Policy = 4,
    /// A schedule has changed, or was fired manually.
    Schedules = 5,
    /// An agent sent a message to the project manager, or a task with messages may have ended.
    Messages = 6,
}

impl Signals {
    pub fn new(engine: DatabaseEngine) -> Self {
        let topics = Arc::new(std::array::from_fn(|_| watch::channel(0).0));
        Self { topics, engine, peers: Arc::default() }
    }

    /// Wakes the readers of `topic` and of events; other processes are notified in a batch.
    pub fn send(&self, topic: Topic) {
        let topics = 1 << topic as u32 | 1 << Topic::Events as u32;
        self.wake_local(topics);
        // Events alone are not sent: there are many, and their readers poll often.
        if self.engine == DatabaseEngine::Postgres && !matches!(topic, Topic::Events) {
            self.peers.pending_topics.fetch_or(topics, Ordering::Relaxed);
            self.peers.wake.notify_one();
        }
    }

    /// Wakes the readers in this process of a bit set of topics.
    fn wake_local(&self, topics: u32) {
        for (number, topic) in self.topics.iter().enumerate() {
            if topics & (1 << number) != 0 {
                topic.send_modify(|count| *count += 1);
            }
        }
    }

    /// Subscribes: no signal after this call is missed.
    pub fn subscribe(&self, topic: Topic) -> TopicSubscription {
        let poll = match (self.engine, topic) {
            // Due times are timers; only changes of other processes could be missed.
            (DatabaseEngine::Sqlite, Topic::Schedules) => IDLE_POLL,
            (DatabaseEngine::Sqlite, _) => SOLE_WRITER_POLL,
            // Events become readable when older transactions end, and messages when a claim expires, which
            // sends no signal; and a revoked permission must take effect soon.
            (DatabaseEngine::Postgres, Topic::Events | Topic::Messages | Topic::Policy) => {
                UNNOTIFIED_POLL
            }
            (
                DatabaseEngine::Postgres,
                Topic::Runs | Topic::Jobs | Topic::Results | Topic::Schedules,
            ) => {
                let are_heard = self.peers.is_connected.load(Ordering::Relaxed);
                if are_heard { NOTIFIED_POLL } else { UNNOTIFIED_POLL }
            }
        };
        TopicSubscription { changes: self.topics[topic as usize].subscribe(), poll }
    }
}

/// Subscription to one topic.
#[derive(Debug)]
pub struct TopicSubscription {
    changes: watch::Receiver<u64>,
    poll: Duration,
}

impl TopicSubscription {
    /// Shortens the poll interval.
    #[must_use]
    pub fn with_max_interval(self, interval: Duration) -> Self {
        Self { poll: self.poll.min(interval), ..self }
    }

    /// Waits for a signal, the poll interval or `deadline`; false if the deadline has passed.
    pub async fn wait(&mut self, deadline: Instant) -> bool {
        let look_again = deadline.min(Instant::now() + self.poll);
        // A closed topic means that the process is stopping; the deadline ends the wait.
        let _ = timeout_at(look_again, self.changes.changed()).await;
        Instant::now() < deadline
    }
}
