//! Starts, runs and stops an orchestrator.

mod services;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::middleware::from_fn;
use cynode_blobs::{BlobCollector, BlobStore};
use cynode_gateway::GatewayOptions;
use cynode_notifications::Notifier;
use cynode_requests::RequestDriver;
use cynode_resources::{BootstrapOutcome, InitialAdminSecrets, Store};
use cynode_runs::Sweeper;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::durable_file;
use cynode_runtime::metrics::{self, MetricsExporter};
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use tokio::net::TcpListener;

use crate::OrchestratorOptions;
use crate::connections::{self, ConnectionLimits};
use crate::gateway_assembly::GatewayServices;
use crate::process_events::log_database_connected;
use services::build_services;
pub(crate) use services::{blob_store, build_knowledge};

/// How long open requests may take to end on shutdown.
const GRACE: Duration = Duration::from_secs(2);
/// How long their remaining writes may take after that.
const WRITE_GRACE: Duration = Duration::from_millis(500);

/// A started orchestrator, ready to serve.
pub struct OrchestratorServer {
    listener: TcpListener,
    address: SocketAddr,
    limits: ConnectionLimits,
    router: Router,
    sweeper: Sweeper,
    requests: RequestDriver,
    notifier: Notifier,
    collector: BlobCollector,
    job_lease_ms: u32,
    gateway: GatewayServices,
    exporter: MetricsExporter,
    /// Work that outlives its request.
    background: BackgroundTasks,
}

impl OrchestratorServer {
    /// Opens the database, creates the first administrator if there is none, and binds the listen address.
    pub async fn start(
        options: &OrchestratorOptions,
        data_dir: &Path,
        clock: SharedClock,
    ) -> anyhow::Result<Self> {
        Self::start_with(options, &GatewayOptions::default(), data_dir, clock).await
    }

    /// Like `start`, with custom gateway options.
    pub async fn start_with(
        options: &OrchestratorOptions,
        gateway: &GatewayOptions,
        data_dir: &Path,
        clock: SharedClock,
    ) -> anyhow::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data_dir)
            .with_context(|| format!("cannot create the data directory {}", data_dir.display()))?;
        let url = options.database_url(data_dir);
        check_database_file(options, &url, data_dir).await?;
        let (store, secrets) =
            tokio::join!(Store::open(&url), InitialAdminSecrets::prepare(data_dir));
        let store = store.context("the database cannot be opened")?;
        log_database_connected(&store);
        let background = BackgroundTasks::new();
        let (mut services, sweeper, gateway) =
            Box::pin(build_services(&store, data_dir, &clock, options, gateway, &background))
                .await?;
        if !services.accounts.is_bootstrapped().await? {
            check_new_database(options, "it is empty", data_dir).await?;
        }
        let bootstrap = services.accounts.bootstrap_with(data_dir, secrets?).await?;
        if bootstrap == BootstrapOutcome::AdminCreated {
            tracing::info!("first run: the administrator's token is in admin.token");
        }
        gateway.start().await?;
        let exporter = metrics::install()?;
        services.exporter = Some(exporter.clone());
        let listener = TcpListener::bind(&options.listen)
            .await
            .with_context(|| format!("cannot listen on {}", options.listen))?;
        let address = listener.local_addr()?;
        write_address(data_dir, address)?;
        gateway.launcher.set_address(address);
        let requests = RequestDriver::new(services.requests.clone());
        let notifier = Notifier::new(services.notifications.clone());
        // The API renders the 404 of unknown routes, so it is the fallback.
        let router = gateway
            .router()
            .merge(cynode_console::router())
            .fallback_service(cynode_api::router(services))
            .layer(from_fn(connections::limit_body_time));
        Ok(Self {
            listener,
            address,
            limits: options.connection_limits(),
            router,
            sweeper,
            requests,
            notifier,
            collector: BlobCollector::new(store, blob_store(data_dir), clock),
            job_lease_ms: options.job_lease_ms,
            gateway,
            exporter,
            background,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown`, then gives open requests a grace period.
    pub async fn serve(self, shutdown: Shutdown) {
        let server = connections::serve(self.listener, self.router, self.limits, shutdown.clone());
        let background = self.background;
        let audit = self.gateway.administration.audit.clone();
        // Boxed to keep the caller's future small.
        let work = Box::pin(async {
            let sweeps = self.sweeper.run(self.job_lease_ms, shutdown.clone());
            let upkeep = self.exporter.run_upkeep(shutdown.clone());
            let calls = self.gateway.run(shutdown.clone());
            let ends = async {
                shutdown.triggered().await;
                // Chat turns and handoffs persist their partial results and release their waiters;
                // requests end only then.
                background.finish(GRACE).await;
            };
            let collection = self.collector.run(shutdown.clone());
            let requests = self.requests.run(shutdown.clone());
            let notices = self.notifier.run(shutdown.clone());
            tokio::join!(server, sweeps, upkeep, calls, collection, requests, notices, ends);
        });
        let overdue = async {
            shutdown.triggered().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            () = work => {}
            () = overdue => {}
        }
        // Remaining writes of ended requests.
        background.finish(WRITE_GRACE).await;
        let _ = tokio::time::timeout(GRACE, audit.close()).await;
    }
}

/// Fails if the file of the embedded database is missing but blobs exist: a new file would look like a
/// first start and hide the loss of all tasks.
async fn check_database_file(
    options: &OrchestratorOptions,
    url: &str,
    data_dir: &Path,
) -> anyhow::Result<()> {
    let Some(path) = Store::sqlite_path(url) else { return Ok(()) };
    let is_there = fs::metadata(&path).is_ok_and(|file| file.len() > 0);
    if is_there {
        return Ok(());
    }
    check_new_database(options, &format!("{} does not exist", path.display()), data_dir).await
}

/// Fails if the database is empty but blobs of another one exist.
async fn check_new_database(
    options: &OrchestratorOptions,
    why: &str,
    data_dir: &Path,
) -> anyhow::Result<()> {
    let blobs = data_dir.join("blobs");
    if options.allow_new_database || BlobStore::new(blobs.clone()).is_empty().await? {
        return Ok(());
    }
    anyhow::bail!(
        "the database was lost or replaced: {why}, but {} contains files of earlier tasks. Restore the \
         database from a backup or correct `database_url`. To start with an empty database, use \
         `--allow-new-database` or set `allow_new_database = true` under [orchestrator] in cynode.toml",
        blobs.display()
    )
}

/// Writes the address for other processes, e.g. when the system chose the port.
fn write_address(data_dir: &Path, address: SocketAddr) -> anyhow::Result<()> {
    let path = data_dir.join("orchestrator.addr");
    durable_file::replace(&path, address.to_string().as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// Renders the API document from the routes. These need services, so a temporary database is created.
pub(crate) async fn render_api_document() -> anyhow::Result<String> {
    let directory = tempfile::tempdir()?;
    let options = OrchestratorOptions::default();
    let store = Store::open(&options.database_url(directory.path())).await?;
    let clock: SharedClock = std::sync::Arc::new(cynode_runtime::clock::SystemClock);
    let (gateway, background) = (GatewayOptions::default(), BackgroundTasks::new());
    let (services, ..) =
        build_services(&store, directory.path(), &clock, &options, &gateway, &background).await?;
    Ok(cynode_api::document(&services))
}
