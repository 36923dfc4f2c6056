//! The node daemon: polls the orchestrator and drives every job to delivery.
//!
//! Start at [`NodeDaemon::run`]. Two activities run concurrently and never wait for each other: the long
//! poll (`poll`), which receives jobs and stop requests, and one task per job (`job_task`), which
//! prepares, starts, follows and delivers it. They share state through the `job_registry`.
//!
//! Invariant: a job directory is removed only after the orchestrator has accepted the result or
//! rejected it permanently.

mod agent_result;
mod artifacts;
mod attachments;
mod canary;
mod connection;
mod edge;
mod egress;
mod images;
mod job_registry;
mod job_span;
mod job_task;
mod lineage;
mod live_settings;
mod logs;
mod poll;
mod repository;
mod result;
mod sweep;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::backoff::Backoff;
use cynode_domain::ids::JobId;
use cynode_domain::node_labels::NodeLabels;
use cynode_domain::policy::network::AllowedNetworks;
use cynode_network::proxy::ProxyCapacity;
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_sandbox::job_dir::{JobDir, JobDirError, StopRequest};
use cynode_sandbox::sandbox::{Sandbox, SandboxOptions};
use cynode_wire::capability_leases::EDGE_FEATURE;
use cynode_wire::git::{BUILDS_ON_FEATURE, REPOSITORIES_FEATURE};
use cynode_wire::nodes::{Capabilities, NodeSettings};
use tokio::time::Instant;

use self::connection::{OrchestratorCallError, OrchestratorConnection};
use self::images::NodeImages;
use self::job_registry::JobRegistry;
use self::lineage::ProcessLineage;
use self::live_settings::LiveSettings;
use self::repository::Repositories;

pub use self::images::ImageOptions;
pub use self::live_settings::{LiveOptions, NodeReloader};
pub use self::repository::RepositoryAccess;

/// How long a stopping node tries to end its jobs and deliver their results.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);
/// Backoff between failed calls to the orchestrator.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), cap: Duration::from_secs(5) };

/// Configuration of a node daemon.
#[derive(Debug, Clone)]
pub struct NodeDaemonOptions {
    pub orchestrator_url: String,
    /// File with the join token; read on every join.
    pub join_token_file: PathBuf,
    /// Unique in the installation.
    pub slug: String,
    /// Maximum number of jobs that run concurrently.
    pub max_concurrency: u32,
    /// Labels by which tasks choose this node.
    pub labels: NodeLabels,
    /// How long a task's workspace is kept after the task is closed.
    pub workspace_retention: Duration,
    pub sandbox: SandboxOptions,
    /// Features that the sandbox must enforce; without them the node does not start.
    pub required_features: Vec<String>,
    /// Which repositories tasks may use.
    pub repositories: RepositoryAccess,
    /// Internal networks and hosts that agents may connect to, if their profile names the host.
    pub agent_networks: AllowedNetworks,
    /// Whether agents on this host may use tools of the node, under leases.
    pub has_edge: bool,
    /// Images that jobs may run in.
    pub images: ImageOptions,
}

/// Why the daemon cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum NodeDaemonError {
    /// Two daemons on one state directory would start the same jobs.
    #[error("another node already uses {}; choose another --state-dir", .0.display())]
    StateDirInUse(PathBuf),
    #[error("the state directory {} cannot be used", .path.display())]
    StateDir {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error(
        "the sandbox of this machine does not enforce {}, which --require demands{reason}; it enforces {}",
        .missing.join(", "), .enforced.join(", ")
    )]
    MissingFeatures {
        missing: Vec<String>,
        enforced: Vec<String>,
        /// Why cgroups are not used or less than all of them, in parentheses; may be empty.
        reason: String,
    },
    #[error("the images in the state directory cannot be used")]
    Images(#[from] cynode_image::ImageError),
    #[error("job directories cannot be read or written")]
    Jobs(#[from] JobDirError),
    #[error(transparent)]
    Address(cynode_client::ClientError),
    #[error("tools under leases cannot be offered")]
    Edge(#[source] io::Error),
    #[error("the HTTP client of agents cannot be created")]
    HttpClient(#[source] reqwest::Error),
    /// The orchestrator answered and rejected the join.
    #[error("the orchestrator at {url} rejected this node: {reason}; the join token is read from {}",
        .join_token_file.display())]
    JoinRejected { url: String, reason: String, join_token_file: PathBuf },
}

/// A prepared daemon, ready to run.
#[derive(Debug)]
pub struct NodeDaemon {
    context: Arc<DaemonContext>,
    /// Locked until the daemon is dropped.
    _state_lock: File,
}

/// State shared by the poll loop and every job task.
#[derive(Debug)]
struct DaemonContext {
    options: NodeDaemonOptions,
    sandbox: Sandbox,
    connection: OrchestratorConnection,
    jobs: JobRegistry,
    readiness: Readiness,
    tasks: BackgroundTasks,
    /// What the ways out of all sandboxes may use together.
    proxies: ProxyCapacity,
    /// Calls the orchestrator for agents.
    egress_client: reqwest::Client,
    /// `None` on a machine without git.
    repositories: Option<Repositories>,
    /// The public key of this node, in base64.
    node_key: String,
    images: NodeImages,
    live: LiveSettings,
}

impl DaemonContext {
    /// Retries the call until it succeeds or fails permanently. Stops retrying once the job is marked
    /// as forgotten.
    async fn call_until_answered<T, F>(
        &self,
        job: JobId,
        call: impl Fn(Client) -> F,
    ) -> Result<T, OrchestratorCallError>
    where
        F: Future<Output = Result<T, cynode_client::ClientError>>,
    {
        self.call_until_answered_within(job, Duration::MAX, call).await
    }

    /// Like `call_until_answered`, but gives error responses at most `limit` to go away. An unreachable
    /// orchestrator is retried without limit.
    async fn call_until_answered_within<T, F>(
        &self,
        job: JobId,
        limit: Duration,
        call: impl Fn(Client) -> F,
    ) -> Result<T, OrchestratorCallError>
    where
        F: Future<Output = Result<T, cynode_client::ClientError>>,
    {
        let mut failures = 0;
        let mut failing_since = None;
        loop {
            match self.connection.call(&call).await {
                Err(error) if !error.is_final() && !self.jobs.is_forgotten(job) => {
                    let begun = error.is_response().then(Instant::now);
                    failing_since = begun.map(|now| failing_since.unwrap_or(now));
                    if failing_since.is_some_and(|since: Instant| since.elapsed() >= limit) {
                        return Err(error);
                    }
                    tracing::debug!(job.id = %job, %error, "call failed, retrying");
                    sleep_after_failure(&mut failures).await;
                }
                result => return result,
            }
        }
    }
}

/// Counts a failed call and sleeps until the next attempt.
async fn sleep_after_failure(failures: &mut u32) {
    *failures = failures.saturating_add(1);
    tokio::time::sleep(BACKOFF.jittered_delay(*failures)).await;
}

impl DaemonContext {
    fn join_rejected_error(&self, error: &OrchestratorCallError) -> NodeDaemonError {
        NodeDaemonError::JoinRejected {
            url: self.options.orchestrator_url.clone(),
            reason: error.to_string(),
            join_token_file: self.options.join_token_file.clone(),
        }
    }
}

impl NodeDaemon {
    /// Locks the state directory and probes which isolation sandboxes can enforce on this machine.
    pub async fn prepare(
        mut options: NodeDaemonOptions,
        readiness: Readiness,
    ) -> Result<Self, NodeDaemonError> {
        let lock = lock_state_dir(&options.sandbox.state_dir)?;
        let access = options.repositories.clone();
        let repositories = Repositories::open(&options.sandbox.state_dir, access).await;
        let sandbox_options = options.sandbox.clone();
        let sandbox = run_blocking(move || Sandbox::prepare(sandbox_options)).await??;
        // Canonical from here on.
        sandbox.state_dir().clone_into(&mut options.sandbox.state_dir);
        let level = sandbox.level();
        let reason = level.reason.as_deref().unwrap_or_default();
        if level.supported {
            tracing::info!("sandbox ready: {}", level.features.join(", "));
            if !reason.is_empty() {
                tracing::info!(reason, "not every limit is enforced by cgroups");
            }
        } else {
            tracing::error!(reason, "sandbox unavailable, rejecting jobs");
        }
        let enforced = &level.features;
        let is_missing = |feature: &&String| !enforced.contains(feature);
        let missing: Vec<_> =
            options.required_features.iter().filter(is_missing).cloned().collect();
        if !missing.is_empty() {
            let (enforced, reason) = (enforced.clone(), level.reason.clone());
            let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            return Err(NodeDaemonError::MissingFeatures { missing, enforced, reason });
        }
        let (state_dir, image_options) =
            (options.sandbox.state_dir.clone(), options.images.clone());
        let images = run_blocking(move || NodeImages::open(&state_dir, &image_options)).await??;
        let mut capabilities = detect_capabilities(&options, &sandbox);
        capabilities.images = images.names();
        if repositories.is_some() && capabilities.sandbox.supported {
            let features = [REPOSITORIES_FEATURE, BUILDS_ON_FEATURE].map(str::to_owned);
            capabilities.sandbox.features.extend(features);
        }
        if options.has_edge && capabilities.sandbox.supported {
            capabilities.sandbox.features.push(EDGE_FEATURE.to_owned());
        }
        let state_dir = &options.sandbox.state_dir;
        let unusable = |cause| NodeDaemonError::StateDir { path: state_dir.clone(), cause };
        let lineage = ProcessLineage::begin(state_dir).map_err(unusable)?;
        let key = connection::load_key(state_dir).map_err(unusable)?;
        let link = OrchestratorConnection::new(&options, capabilities, lineage, &key)
            .map_err(NodeDaemonError::Address)?;
        let (roster, tasks) = (JobRegistry::default(), BackgroundTasks::new());
        let egress_client = reqwest::Client::builder().no_proxy().build();
        let (max_concurrency, labels) = (options.max_concurrency, options.labels.clone());
        let context = DaemonContext {
            live: LiveSettings::new(NodeSettings { max_concurrency, labels }),
            options,
            sandbox,
            connection: link,
            jobs: roster,
            readiness,
            tasks,
            proxies: ProxyCapacity::default(),
            egress_client: egress_client.map_err(NodeDaemonError::HttpClient)?,
            repositories,
            node_key: key.public_key(),
            images,
        };
        Ok(Self { context: Arc::new(context), _state_lock: lock })
    }

    /// Runs until `shutdown`, then stops running jobs and delivers results for a few seconds.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), NodeDaemonError> {
        let context = &self.context;
        self.adopt_jobs()?;
        if context.options.has_edge {
            let opened = edge::EdgeService::open(context).await;
            opened.map_err(NodeDaemonError::Edge)?.run();
        }
        context.tasks.spawn("sweep", sweep::run_sweeps(Arc::clone(context), shutdown.clone()));
        let unpacking = images::unpack_all(Arc::clone(context), shutdown.clone());
        context.tasks.spawn("images", unpacking);
        let refusal = tokio::select! {
            () = shutdown.triggered() => None,
            refusal = poll::run_poll_loop(context) => Some(refusal),
        };
        context.readiness.set_waiting("the node is stopping");
        context.images.cancel();
        context.jobs.request_stop_all(StopRequest::NodeShutdown);
        if context.tasks.finish(SHUTDOWN_GRACE).await {
            context.connection.release_name().await;
        } else {
            tracing::warn!("results undelivered at shutdown; the next start delivers them");
        }
        refusal.map_or(Ok(()), |error| Err(context.join_rejected_error(&error)))
    }

    /// Adopts every job that an earlier process accepted and did not deliver.
    fn adopt_jobs(&self) -> Result<(), NodeDaemonError> {
        for (id, dir) in JobDir::list(&self.context.sandbox.jobs_dir())? {
            tracing::info!(job.id = %id, "job adopted");
            job_task::adopt_job(&self.context, id, dir);
        }
        Ok(())
    }
}

fn lock_state_dir(path: &PathBuf) -> Result<File, NodeDaemonError> {
    let unusable = |cause| NodeDaemonError::StateDir { path: path.clone(), cause };
    fs::create_dir_all(path).map_err(unusable)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let lock = options.open(path.join("node.lock")).map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(NodeDaemonError::StateDirInUse(path.clone())),
        Err(TryLockError::Error(cause)) => Err(unusable(cause)),
    }
}

fn detect_capabilities(options: &NodeDaemonOptions, sandbox: &Sandbox) -> Capabilities {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Capabilities {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu_cores: u32::try_from(cores).unwrap_or(u32::MAX),
        memory_mib: parse_memory_mib(&fs::read_to_string("/proc/meminfo").unwrap_or_default()),
        sandbox: sandbox.level().clone(),
        max_concurrency: options.max_concurrency,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        labels: options.labels.clone(),
        images: vec![],
    }
}

/// Total memory of the machine; 0 if `/proc/meminfo` does not contain it.
fn parse_memory_mib(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// Runs blocking disk I/O off the async worker threads.
async fn run_blocking<T: Send + 'static>(
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
        assert_eq!(parse_memory_mib("MemTotal:        8150048 kB\nMemFree: 1 kB\n"), 7959);
        assert_eq!(parse_memory_mib(""), 0);
    }

    #[test]
    fn two_nodes_cannot_share_a_state_directory() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().to_owned();
        let _first = lock_state_dir(&path).unwrap();

        let second = lock_state_dir(&path);

        assert!(matches!(second, Err(NodeDaemonError::StateDirInUse(_))));
    }
}
