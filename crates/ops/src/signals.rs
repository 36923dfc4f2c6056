//! Wake-ups inside this process, and between processes that share a PostgreSQL. A lost one costs a
//! waiting reader one poll interval, never more.

mod share;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use cynode_store::Engine;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

/// How often a waiting reader looks by itself when other processes write to the same database and
/// are not heard.
const SHARED_POLL: Duration = Duration::from_millis(500);
/// The same when notices of other processes are heard.
const HEARD_POLL: Duration = Duration::from_secs(5);
/// The same when this process is the only writer, and hears of every change.
const OWN_POLL: Duration = Duration::from_secs(10);

/// The same for what hardly ever changes.
const IDLE_POLL: Duration = Duration::from_mins(1);

/// What happened, by topic. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Signals {
    topics: Arc<[watch::Sender<u64>; 6]>,
    engine: Engine,
    others: Arc<Others>,
}

/// Other processes on the same database.
#[derive(Debug, Default)]
struct Others {
    /// Topics that they have not been told of, a bit for each.
    untold: AtomicU32,
    wake: Notify,
    /// Whether their notices reach this process.
    are_heard: AtomicBool,
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
    /// A schedule has changed, or was fired by hand.
    Schedules = 5,
}

impl Signals {
    /// Wake-ups for a store with this engine.
    pub fn new(engine: Engine) -> Self {
        let topics = Arc::new(std::array::from_fn(|_| watch::channel(0).0));
        Self { topics, engine, others: Arc::default() }
    }

    /// Wakes everybody who waits for `topic`, and event readers; other processes soon.
    pub(crate) fn send(&self, topic: Topic) {
        let told = 1 << topic as u32 | 1 << Topic::Events as u32;
        self.wake(told);
        // Of events alone nobody is told: there are many, and their readers look often.
        if self.engine == Engine::Postgres && !matches!(topic, Topic::Events) {
            self.others.untold.fetch_or(told, Ordering::Relaxed);
            self.others.wake.notify_one();
        }
    }

    /// Wakes everybody in this process who waits for one of these topics, a bit for each.
    fn wake(&self, topics: u32) {
        for (number, topic) in self.topics.iter().enumerate() {
            if topics & (1 << number) != 0 {
                topic.send_modify(|count| *count += 1);
            }
        }
    }

    /// Begins to listen: what is signalled from now on is not missed.
    pub(crate) fn listen(&self, topic: Topic) -> Listener {
        let poll = match (self.engine, topic) {
            // Due times are slept for; only changes of others could be missed.
            (Engine::Sqlite, Topic::Schedules) => IDLE_POLL,
            (Engine::Sqlite, _) => OWN_POLL,
            // Events become readable when older transactions end, of which nobody tells; and what
            // was forbidden must not be possible for long.
            (Engine::Postgres, Topic::Events | Topic::Policy) => SHARED_POLL,
            (Engine::Postgres, Topic::Runs | Topic::Jobs | Topic::Results | Topic::Schedules) => {
                let are_heard = self.others.are_heard.load(Ordering::Relaxed);
                if are_heard { HEARD_POLL } else { SHARED_POLL }
            }
        };
        Listener { changes: self.topics[topic as usize].subscribe(), poll }
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
