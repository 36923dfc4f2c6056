//! Signs of life of the agents of jobs: calls of tools and models, output, heartbeats.
//!
//! A process records the signs that it sees at intervals, not each of them. The sweeper of every process asks the database, so
//! that a sign that another process saw counts too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_domain::job::JobEnding;
use cynode_store::{Store, Tx};
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{info, warn};

/// The setting: seconds without a sign of life after which the job of an agent is ended; 0 is never.
pub const HEARTBEAT_TIMEOUT: &str = "agents.sandbox_agent.heartbeat_timeout_s";
const DEFAULT_TIMEOUT_S: u64 = 600;
/// The longest interval between two records of a job.
const MAX_INTERVAL: Duration = Duration::from_secs(20);
/// Jobs in memory before those that were not seen lately are dropped.
const MAX_JOBS: usize = 10_000;
/// How many jobs one sweep ends.
const BATCH: u32 = 100;

/// The signs of life that this process sees. Cheap to clone.
#[derive(Clone)]
pub struct AgentSigns {
    store: Store,
    seen: Arc<Mutex<SeenSigns>>,
}

#[derive(Default)]
struct SeenSigns {
    recorded: HashMap<JobId, Instant>,
    /// The number of requests in flight.
    in_flight: HashMap<JobId, usize>,
    timeout: Option<Duration>,
}

/// A request of an agent that has no response yet: the agent is alive until it is dropped.
pub struct OpenRequest {
    signs: AgentSigns,
    job: JobId,
}

impl AgentSigns {
    pub fn new(store: Store) -> Self {
        Self { store, seen: Arc::default() }
    }

    /// Records a sign of life, unless one was recorded a moment ago. A failure is logged: the next sign is recorded.
    pub async fn record(&self, job: JobId) {
        if !self.seen().is_due(job) {
            return;
        }
        let recorded = self
            .store
            .write(move |tx| Box::pin(async move { tx.job_record_sign(job).await }))
            .await;
        if let Err(error) = recorded {
            let error: cynode_store::Error = error;
            warn!(job.id = %job, error = &error as &dyn std::error::Error, "sign of life not recorded");
        }
    }

    /// Counts the agent as alive while the returned value exists.
    pub fn hold(&self, job: JobId) -> OpenRequest {
        *self.seen().in_flight.entry(job).or_default() += 1;
        OpenRequest { signs: self.clone(), job }
    }

    /// Records a sign for each agent that waits for a response of this process.
    pub async fn record_open_requests(&self) {
        let jobs: Vec<JobId> = self.seen().in_flight.keys().copied().collect();
        for job in jobs {
            self.record(job).await;
        }
    }

    /// Requests that the running jobs of silent agents are stopped. Returns how many.
    pub async fn stop_silent_jobs(&self, tx: &mut Tx) -> Result<usize, cynode_store::Error> {
        let timeout = load_timeout(tx).await?;
        self.seen().timeout = timeout;
        let Some(timeout) = timeout else { return Ok(0) };
        let silent_ms = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
        let jobs = tx.job_list_silent(silent_ms, BATCH).await?;
        for job in &jobs {
            let seconds = timeout.as_secs();
            let limit =
                format!("heartbeat_missed: its agent showed no sign of life for {seconds} s");
            tx.job_request_stop(job.spec.id, &json!(JobEnding::LimitReached { limit })).await?;
            info!(job.id = %job.spec.id, "heartbeat missed");
        }
        Ok(jobs.len())
    }

    fn seen(&self) -> MutexGuard<'_, SeenSigns> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeenSigns {
    /// Whether a sign of the job is to be recorded now; then it counts as recorded.
    fn is_due(&mut self, job: JobId) -> bool {
        let interval = self.timeout.map_or(MAX_INTERVAL, |timeout| MAX_INTERVAL.min(timeout / 4));
        let now = Instant::now();
        let is_recent = |last: &Instant| now.duration_since(*last) < interval;
        if self.recorded.get(&job).is_some_and(is_recent) {
            return false;
        }
        if self.recorded.len() >= MAX_JOBS {
            self.recorded.retain(|_, last| is_recent(last));
        }
        self.recorded.insert(job, now);
        true
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut seen = self.signs.seen();
        if let Some(count) = seen.in_flight.get_mut(&self.job) {
            *count -= 1;
            if *count == 0 {
                seen.in_flight.remove(&self.job);
            }
        }
    }
}

/// The setting; `None` if it switches the timeout off. A value that cannot be read is the default.
async fn load_timeout(tx: &mut Tx) -> Result<Option<Duration>, cynode_store::Error> {
    let set = tx.setting_get(HEARTBEAT_TIMEOUT).await?;
    let seconds =
        set.and_then(|setting| Value::as_u64(&setting.value)).unwrap_or(DEFAULT_TIMEOUT_S);
    Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
}
