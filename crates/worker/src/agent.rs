//! The loop of a node: keep in touch with the orchestrator, and see every job through.
//!
//! Start at [`Agent::run`]. Two things go on side by side and never wait for each other: the long
//! poll (`poll`), which brings jobs and requests to stop, and one task per job (`job`), which
//! prepares, starts, follows and delivers it. What both know is in the `roster`.
//!
//! Invariant: a job's directory goes away only after the orchestrator has its result, or has said
//! that it does not want one.

mod artifacts;
mod attachments;
mod backoff;
mod job;
mod lineage;
mod link;
mod logs;
mod poll;
mod result;
mod roster;
mod sweep;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::JobId;
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks;
use cynode_wire::nodes::Capabilities;
use tokio::time::Instant;

use self::backoff::Backoff;
use self::lineage::Lineage;
use self::link::{Link, LinkError};
use self::roster::Roster;
use crate::job_dir::{JobDir, JobDirError, StopRequest};
use crate::sandbox::{Sandbox, SandboxOptions};

/// How long a stopping node tries to end and deliver what it has.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// What a node needs to know.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Where the orchestrator is.
    pub orchestrator_url: String,
    /// The file with the token that lets a node join; read whenever it joins.
    pub join_token_file: PathBuf,
    /// The node's name, unique in the installation.
    pub slug: String,
    /// Jobs it runs at once.
    pub max_concurrency: u32,
    /// How long a task's workspace is kept after the task was closed.
    pub workspace_retention: Duration,
    /// How and where jobs run.
    pub sandbox: SandboxOptions,
}

/// Why a node cannot work.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Two nodes would start the same jobs.
    #[error("another node already works in {}; give this one another --state-dir", .0.display())]
    InUse(PathBuf),
    /// The state directory cannot be used.
    #[error("the state directory {} cannot be used", .path.display())]
    StateDir {
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// Jobs cannot be kept.
    #[error("jobs cannot be kept")]
    Jobs(#[from] JobDirError),
    /// The orchestrator's address cannot be used.
    #[error(transparent)]
    Address(cynode_client::Error),
    /// The orchestrator was reached, and does not accept this node.
    #[error("the orchestrator at {url} refuses this node: {reason}; the join token is read from {}",
        .join_token_file.display())]
    Refused {
        /// Where it listens.
        url: String,
        /// What it said.
        reason: String,
        /// The file with the token that was presented.
        join_token_file: PathBuf,
    },
}

/// A node, ready to run.
#[derive(Debug)]
pub struct Agent {
    context: Arc<Context>,
    /// Held for as long as this node lives.
    _state_lock: File,
}

/// What the poll and every job share.
#[derive(Debug)]
struct Context {
    options: AgentOptions,
    sandbox: Sandbox,
    link: Link,
    roster: Roster,
    readiness: Readiness,
    tasks: Tasks,
}

impl Context {
    /// Calls until the orchestrator has answered; an error is its final word. A job that is
    /// forgotten meanwhile is not worth another try.
    async fn persist<T, F>(&self, job: JobId, call: impl Fn(Client) -> F) -> Result<T, LinkError>
    where
        F: Future<Output = Result<T, cynode_client::Error>>,
    {
        self.persist_within(job, Duration::MAX, call).await
    }

    /// The same, for as long as the orchestrator does not answer at all. One that answers with an error
    /// for longer than `limit` has said its final word.
    async fn persist_within<T, F>(
        &self,
        job: JobId,
        limit: Duration,
        call: impl Fn(Client) -> F,
    ) -> Result<T, LinkError>
    where
        F: Future<Output = Result<T, cynode_client::Error>>,
    {
        let mut backoff = Backoff::new();
        let mut failing_since = None;
        loop {
            match self.link.call(&call).await {
                Err(error) if !error.is_final() && !self.roster.is_forgotten(job) => {
                    let begun = error.is_answer().then(Instant::now);
                    failing_since = begun.map(|now| failing_since.unwrap_or(now));
                    if failing_since.is_some_and(|since: Instant| since.elapsed() >= limit) {
                        return Err(error);
                    }
                    tracing::debug!(job.id = %job, "job {job} waits for the orchestrator: {error}");
                    backoff.wait().await;
                }
                result => return result,
            }
        }
    }
}

impl Context {
    fn refused(&self, error: &LinkError) -> AgentError {
        AgentError::Refused {
            url: self.options.orchestrator_url.clone(),
            reason: error.to_string(),
            join_token_file: self.options.join_token_file.clone(),
        }
    }
}

impl Agent {
    /// Takes the state directory and finds out what sandboxes can enforce here.
    pub async fn prepare(
        mut options: AgentOptions,
        readiness: Readiness,
    ) -> Result<Self, AgentError> {
        let lock = lock_state_dir(&options.sandbox.state_dir)?;
        let sandbox_options = options.sandbox.clone();
        let sandbox = blocking(move || Sandbox::prepare(sandbox_options)).await??;
        // From here on the path has no links in it.
        sandbox.state_dir().clone_into(&mut options.sandbox.state_dir);
        match (&sandbox.level().reason, sandbox.level().features.join(", ")) {
            (Some(reason), _) => tracing::error!("this node takes no jobs: {reason}"),
            (None, features) => tracing::info!("jobs are isolated by {features}"),
        }
        let capabilities = capabilities(&options, &sandbox);
        let state_dir = &options.sandbox.state_dir;
        let lineage = Lineage::begin(state_dir)
            .map_err(|cause| AgentError::StateDir { path: state_dir.clone(), cause })?;
        let link = Link::new(&options, capabilities, lineage).map_err(AgentError::Address)?;
        let (roster, tasks) = (Roster::default(), Tasks::new());
        let context = Context { options, sandbox, link, roster, readiness, tasks };
        Ok(Self { context: Arc::new(context), _state_lock: lock })
    }

    /// Works until `shutdown`, then ends what runs and delivers what it can in a few seconds.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), AgentError> {
        let context = &self.context;
        self.adopt()?;
        context.tasks.spawn("sweep", sweep::run(Arc::clone(context), shutdown.clone()));
        let refusal = tokio::select! {
            () = shutdown.triggered() => None,
            refusal = poll::run(context) => Some(refusal),
        };
        context.readiness.set_waiting("the node is stopping");
        context.roster.stop_all(StopRequest::NodeStops);
        if context.tasks.finish(LAST_WORDS).await {
            context.link.stop().await;
        } else {
            tracing::warn!("some results are not delivered yet; the next start will deliver them");
        }
        refusal.map_or(Ok(()), |error| Err(context.refused(&error)))
    }

    /// Takes over every job that an earlier node accepted and did not deliver.
    fn adopt(&self) -> Result<(), AgentError> {
        for (id, dir) in JobDir::list(&self.context.sandbox.jobs_dir())? {
            tracing::info!(job.id = %id, "job {id} was accepted earlier and is taken over");
            job::adopt(&self.context, id, dir);
        }
        Ok(())
    }
}

fn lock_state_dir(path: &PathBuf) -> Result<File, AgentError> {
    let unusable = |cause| AgentError::StateDir { path: path.clone(), cause };
    fs::create_dir_all(path).map_err(unusable)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let lock = options.open(path.join("node.lock")).map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(AgentError::InUse(path.clone())),
        Err(TryLockError::Error(cause)) => Err(unusable(cause)),
    }
}

fn capabilities(options: &AgentOptions, sandbox: &Sandbox) -> Capabilities {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Capabilities {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu_cores: u32::try_from(cores).unwrap_or(u32::MAX),
        memory_mib: memory_mib(&fs::read_to_string("/proc/meminfo").unwrap_or_default()),
        sandbox: sandbox.level().clone(),
        max_concurrency: options.max_concurrency,
    }
}

/// The machine's memory; 0 when the system does not tell.
fn memory_mib(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// Runs disk work where it holds up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JobDirError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| JobDirError::Io { path: PathBuf::new(), cause: io::Error::other(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_mebibytes() {
        assert_eq!(memory_mib("MemTotal:        8150048 kB\nMemFree: 1 kB\n"), 7959);
        assert_eq!(memory_mib(""), 0);
    }

    #[test]
    fn two_nodes_cannot_share_a_state_directory() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().to_owned();
        let _first = lock_state_dir(&path).unwrap();

        let second = lock_state_dir(&path);

        assert!(matches!(second, Err(AgentError::InUse(_))));
    }
}
