//! Analysts: processes that verify one task each, asked for by the project manager.
//!
//! Start at [`Analysts::request`], which the project manager calls through its tools, and at
//! [`Managed`], which judges steps: rules first, then, for criteria in prose, whatever findings an
//! analyst wrote. While an analyst works, the answer is "later". An analyst that dies is started again, a few
//! times; when none can judge, prose stays unchecked and the verdict says why.
//!
//! Invariant: only findings that were written with the token of a verification count in it.
//!
//! Invariant: nothing here is needed to go on after a restart. Findings are in the database; what is
//! only known here (who looks at what) is asked for again.

mod evidence;
mod judge;
mod request;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::JobId;
use cynode_runtime::tasks::Tasks as Background;
use cynode_store::Store;
use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::Signals;
use crate::handoff::{HandoffError, Handoffs};
use crate::signals::Topic;

pub(crate) use self::evidence::shortened;
pub use self::judge::Managed;

/// How many verifications may wait or run at once.
const MAX_SEATS: usize = 256;
/// How long it is remembered that nobody looks any more, for whoever asks again.
const REMEMBERED: Duration = Duration::from_mins(10);

/// Whether somebody looked before an analyst was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requested {
    /// Nobody did, and one was set to work.
    Anew,
    /// One is at work, or waits for its turn: nothing was changed.
    Already,
}

/// Why no analyst was set to work.
#[derive(Debug, thiserror::Error)]
pub enum AnalystRequestError {
    /// The installation has none.
    #[error("analysts are switched off (orchestrator.pma_analysts)")]
    Off,
    /// Too many wait already.
    #[error("too many verifications wait for an analyst: try again later")]
    Full,
    /// There is no such job, or the caller may not see it.
    #[error("there is no such job")]
    NoJob,
    /// There is nothing that an analyst could judge.
    #[error("{0}")]
    Nothing(&'static str),
    /// The context could not be prepared.
    #[error(transparent)]
    Handoff(#[from] HandoffError),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Why an analyst gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// It could not be started, was killed, crashed or gave an answer that cannot be read: another one
    /// may fare better.
    #[error("{0}")]
    Died(String),
    /// It was ended because it took too long: another one would too.
    #[error("{0}")]
    TimedOut(String),
}

/// Starts analysts.
#[async_trait]
pub trait Launcher: Send + Sync {
    /// Runs one analyst to its end: the handoff in, its answer out, or why there is none. It is ended
    /// after `within`.
    async fn launch(&self, handoff: Value, within: Duration) -> Result<Value, LaunchError>;
}

/// How analysts work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalystOptions {
    /// Whether there are any.
    pub is_on: bool,
    /// How many work at once.
    pub max: usize,
    /// How long one may take.
    pub within: Duration,
}

impl Default for AnalystOptions {
    fn default() -> Self {
        Self { is_on: true, max: 2, within: Duration::from_mins(2) }
    }
}

/// Analysts. Cheap to clone.
#[derive(Clone)]
pub struct Analysts {
    store: Store,
    signals: Signals,
    handoffs: Handoffs,
    launcher: Arc<dyn Launcher>,
    options: AnalystOptions,
    /// One permit for each analyst that may work.
    room: Arc<Semaphore>,
    /// Who looks at the result of which job.
    seats: Arc<Mutex<HashMap<JobId, Seat>>>,
    background: Background,
}

/// How far the verification of a job's result is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seat {
    /// The project manager was asked.
    Asking,
    /// An analyst of this process waits or looks.
    Looking,
    /// An analyst of another orchestrator looks, until then; and how often one was asked for.
    Elsewhere(Instant, u32),
    /// Nobody will look any more: why, and until when that is remembered.
    GaveUp(String, Instant),
}

impl Seat {
    /// Nobody will look any more.
    fn gave_up(why: impl Into<String>) -> Self {
        Self::GaveUp(why.into(), Instant::now() + REMEMBERED)
    }

    /// Whether somebody of this process is at work.
    const fn is_taken(&self) -> bool {
        matches!(self, Self::Asking | Self::Looking)
    }

    /// Whether nobody needs it any more: its run was canceled, or its verdict is in.
    fn is_forgotten(&self, now: Instant) -> bool {
        match self {
            Self::Asking | Self::Looking => false,
            Self::Elsewhere(until, _) => *until + REMEMBERED <= now,
            Self::GaveUp(_, until) => *until <= now,
        }
    }
}

impl Analysts {
    /// Analysts that `launcher` starts.
    pub fn new(
        (store, signals): (Store, Signals),
        handoffs: Handoffs,
        launcher: Arc<dyn Launcher>,
        options: AnalystOptions,
    ) -> Self {
        let background = handoffs.background();
        Self {
            store,
            signals,
            handoffs,
            launcher,
            options,
            room: Arc::new(Semaphore::new(options.max)),
            seats: Arc::default(),
            background,
        }
    }

    /// Why no analyst can ever be asked; nothing if one can.
    fn absence(&self) -> Option<&'static str> {
        if !self.options.is_on {
            Some("analysts are switched off: orchestrator.pma_analysts")
        } else if !self.handoffs.is_configured() {
            Some("no project manager is configured that could ask for an analyst")
        } else {
            None
        }
    }

    /// Does what a seat was taken for. A fault of ours there frees it, as whoever waits for it would wait
    /// for ever otherwise; one that somebody else has taken since stays theirs.
    async fn seated(&self, job: JobId, taken: Seat, work: impl Future<Output = ()>) {
        if AssertUnwindSafe(work).catch_unwind().await.is_err() {
            tracing::error!(job.id = %job, "the verification of the job {job} panicked");
            let mut seats = self.seats();
            if seats.get(&job) == Some(&taken) {
                seats.insert(job, Seat::gave_up("its verification failed"));
            }
            drop(seats);
            self.signals.send(Topic::Results);
        }
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<JobId, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether another verification may wait or run. What nobody asks about any more takes no place.
fn has_room(seats: &mut HashMap<JobId, Seat>) -> bool {
    let now = Instant::now();
    seats.retain(|_, seat| !seat.is_forgotten(now));
    seats.values().filter(|seat| seat.is_taken()).count() < MAX_SEATS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifications_that_nobody_asks_about_take_no_place() {
        let many = || (0..2 * MAX_SEATS).map(|_| JobId::generate());
        let mut ended: HashMap<_, _> = many().map(|job| (job, Seat::gave_up("canceled"))).collect();
        let past = Seat::GaveUp("long ago".to_owned(), Instant::now());
        let mut forgotten: HashMap<_, _> = many().map(|job| (job, past.clone())).collect();
        let mut taken: HashMap<_, _> = many().map(|job| (job, Seat::Looking)).collect();

        assert!(has_room(&mut ended) && has_room(&mut forgotten) && !has_room(&mut taken));
        assert_eq!((ended.len(), forgotten.len()), (2 * MAX_SEATS, 0));
    }
}
