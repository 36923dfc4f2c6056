//! Heartbeats of a running node: what it waits for, and when it last reported that.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::EffectJournal;

/// Time of the running attempt's last heartbeat.
#[derive(Debug)]
pub(super) struct HeartbeatTimer(Mutex<Instant>);

impl HeartbeatTimer {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last_beat(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns once there was no heartbeat for `limit`.
    pub(super) async fn wait_stalled(&self, limit: Duration) {
        loop {
            let until = self.last_beat() + limit;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}

/// Lets a waiting node report a heartbeat, which restarts its timeout.
#[derive(Clone, Copy)]
pub struct NodeHeartbeat<'a> {
    pub(super) node: &'a str,
    pub(super) timer: &'a HeartbeatTimer,
    pub(super) journal: &'a dyn EffectJournal,
}

impl NodeHeartbeat<'_> {
    /// Reports that the node still waits, and for what.
    pub fn report_waiting(&self, what: &str) {
        self.timer.beat();
        self.journal.report_waiting(self.node, what);
    }
}

impl fmt::Debug for NodeHeartbeat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Life").field("node", &self.node).finish_non_exhaustive()
    }
}
