//! Analysts: processes that verify one task each, asked for by the project manager.
//!
//! Start at [`Analysts::request`], which the project manager calls through its tools, and at
//! [`Managed`], which judges steps: rules first, then, for criteria in prose, whatever findings an
//! analyst wrote. While somebody looks, the answer is "later"; when nobody can, prose stays unchecked and
//! the verdict says why.
//!
//! Invariant: nothing here is needed to go on after a restart. Findings are in the database; what is
//! only known here (who looks at what) is asked for again.

mod evidence;
mod judge;
mod request;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::JobId;
use cynode_runtime::tasks::Tasks as Background;
use cynode_store::Store;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::Signals;
use crate::handoff::{HandoffError, Handoffs};

pub use self::judge::Managed;

/// How many verifications may wait or run at once.
const MAX_SEATS: usize = 256;

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

/// Starts analysts.
#[async_trait]
pub trait Launcher: Send + Sync {
    /// Runs one analyst to its end: the handoff in, its answer out, or why there is none. It is ended
    /// after `within`.
    async fn launch(&self, handoff: Value, within: Duration) -> Result<Value, String>;
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
    /// An analyst of another orchestrator looks, until then.
    Elsewhere(Instant),
    /// Nobody will look any more: why.
    GaveUp(String),
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

    /// Whether prose can be judged at all.
    fn can_judge(&self) -> bool {
        self.options.is_on && self.handoffs.is_configured()
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<JobId, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
