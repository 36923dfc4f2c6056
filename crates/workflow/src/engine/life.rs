//! Signs of life of a running node: what it waits for, and when it last heard of it.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::EffectLog;

/// When the running attempt last gave a sign of life.
#[derive(Debug)]
pub(super) struct Heart(Mutex<Instant>);

impl Heart {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns once there was no sign of life for `limit`.
    pub(super) async fn stops(&self, limit: Duration) {
        loop {
            let until = self.last() + limit;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}

/// How a node that waits says that all is well: its time begins anew.
#[derive(Clone, Copy)]
pub struct Life<'a> {
    pub(super) node: &'a str,
    pub(super) heart: &'a Heart,
    pub(super) log: &'a dyn EffectLog,
}

impl Life<'_> {
    /// The node has just heard that it has to wait on, and for what, in words.
    pub fn waits_for(&self, what: &str) {
        self.heart.beat();
        self.log.waiting(self.node, what);
    }
}

impl fmt::Debug for Life<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Life").field("node", &self.node).finish_non_exhaustive()
    }
}
