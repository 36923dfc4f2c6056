//! Starts, runs and stops an orchestrator.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::middleware::from_fn;
use cynode_analysts::ManagedAnalyst;
use cynode_api::ApiServices;
use cynode_blobs::{BlobCollector, BlobStore};
use cynode_execution::{ArtifactService, JobPlacer, NodeService, TaskService, WorkflowService};
use cynode_gateway::GatewayOptions;
use cynode_notifications::{Notifications, Notifier};
use cynode_ops::chat::Chat;
use cynode_ops::schedules::Schedules;
use cynode_ops::{AgentMessages, AgentProfiles, StorageHealth};
use cynode_requests::{ForgeService, RequestDriver, RequestService};
use cynode_resources::agents::signs::AgentSigns;
use cynode_resources::audit::RejectionCounter;
use cynode_resources::groups::Groups;
use cynode_resources::preferences::PreferenceService;
use cynode_resources::profiles::Profiles;
use cynode_resources::project_memory::ProjectMemory;
use cynode_resources::request_limits::RequestLimits;
use cynode_resources::{Accounts, BootstrapOutcome, InitialAdminSecrets, Projects, Signals, Store};
use cynode_retrieval::{DatabaseBackend, Knowledge};
use cynode_runs::{EventService, RunOperations, RunQueries, Sweeper};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::durable_file;
use cynode_runtime::metrics::{self, MetricsExporter};
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use tokio::net::TcpListener;

use crate::OrchestratorOptions;
use crate::agent_services::build_agent_services;
use crate::connections::{self, ConnectionLimits};
use crate::gateway_assembly::{self, GatewayDependencies, GatewayServices};
use crate::model_egress::build_models;
use crate::process_events::log_database_connected;
use crate::service_secrets::load_service_tokens;

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

pub(crate) fn blob_store(data_dir: &Path) -> BlobStore {
    BlobStore::new(data_dir.join("blobs"))
}

/// Builds all services over one store.
async fn build_services(
    store: &Store,
    data_dir: &Path,
    clock: &SharedClock,
    options: &OrchestratorOptions,
    gateway_options: &GatewayOptions,
    background: &BackgroundTasks,
) -> anyhow::Result<(ApiServices, Sweeper, GatewayServices)> {
    let signals = Signals::new(store.engine());
    let blobs = blob_store(data_dir);
    let accounts = Accounts::new(store.clone(), clock.clone(), signals.clone());
    let agents = build_agent_services(store, clock, &signals, options, data_dir, background)?;
    let placer = JobPlacer::rule_based(store.clone(), clock.clone(), signals.clone())
        .with_handoffs(agents.handoffs.clone());
    let signs = AgentSigns::new(store.clone());
    let sweeper = Sweeper::new(store.clone(), signals.clone(), accounts.clone(), clock.clone());
    let sweeper = sweeper.with_placer(placer.clone()).with_signs(signs.clone());
    let request_limits = build_request_limits(clock, options);
    let models = build_models(store, clock, &signals, data_dir, background.clone());
    let tasks = build_tasks(store, clock, &signals, &blobs, options);
    let agent_profiles =
        AgentProfiles::new(store.clone(), clock.clone(), signals.clone(), tasks.clone());
    let artifacts = build_artifacts(store, clock, &blobs, options);
    let requests = build_requests(store, clock, &signals, (&tasks, &artifacts), &agents, &models)
        .with_background(background.clone());
    let knowledge = connect_knowledge(store, clock).await?;
    let shared = GatewayDependencies {
        store,
        knowledge: knowledge.clone(),
        clock,
        signals: &signals,
        data_dir,
        audit: options.audit_options(data_dir),
        stream_targets: options.stream_targets(),
        tasks: tasks.clone(),
        agent_profiles: agent_profiles.clone(),
        projects: Projects::new(store.clone(), clock.clone()),
        requests: requests.clone(),
        artifacts: artifacts.clone(),
        steering: build_steering(store, clock, &signals, options),
        nodes: build_nodes(store, clock, &signals, options, placer.clone())
            .with_signs(signs.clone()),
        signs,
        placer: placer.clone(),
        agents: &agents,
        request_limits: request_limits.clone(),
        sealer: Arc::new(models.credentials.clone()),
    };
    let (steering, nodes) = (shared.steering.clone(), shared.nodes.clone());
    let assembled = gateway_assembly::build_gateway(shared, gateway_options).await?;
    let services = ApiServices {
        accounts,
        projects: Projects::new(store.clone(), clock.clone()),
        profiles: Profiles::new(store.clone(), clock.clone(), signals.clone()),
        project_memory: ProjectMemory::new(store.clone(), clock.clone()),
        knowledge,
        tasks,
        schedules: Schedules::new(store.clone(), signals.clone()),
        runs: RunQueries::new(store.clone()),
        steering,
        messages: AgentMessages::new(store.clone(), clock.clone(), signals.clone()),
        artifacts,
        nodes,
        requests,
        notifications: build_notifications(store, clock, &signals, &models),
        agent_profiles,
        edge: assembled.edge.clone(),
        workflow: WorkflowService::new(store.clone(), clock.clone(), signals.clone())
            .with_handoffs(agents.handoffs.clone())
            .with_placer(placer)
            .with_analyst(Arc::new(ManagedAnalyst::new(agents.analysts.clone()))),
        events: EventService::new(store.clone(), clock.clone(), signals.clone()),
        tokens: load_service_tokens(options, data_dir)?,
        request_limits,
        database: store.engine().as_str(),
        exporter: None,
        health: StorageHealth::new(store.clone(), blobs, clock.clone()),
        administration: assembled.administration.clone(),
        chat: build_chat(store, clock, options, background, &models, &agents),
        models,
        preferences: PreferenceService::new(store.clone(), clock.clone()),
        groups: Groups::new(store.clone(), clock.clone(), signals.clone()),
        skills: assembled.skills.clone(),
    };
    Ok((services, sweeper, assembled))
}

fn build_tasks(
    store: &Store,
    clock: &SharedClock,
    signals: &Signals,
    blobs: &BlobStore,
    options: &OrchestratorOptions,
) -> TaskService {
    TaskService::new(store.clone(), clock.clone(), signals.clone(), blobs.clone())
        .with_job_ceiling(options.job_ceiling())
        .with_storage_limits(options.storage_limits())
}

fn build_artifacts(
    store: &Store,
    clock: &SharedClock,
    blobs: &BlobStore,
    options: &OrchestratorOptions,
) -> ArtifactService {
    ArtifactService::new(store.clone(), clock.clone(), blobs.clone())
        .with_storage_limits(options.storage_limits())
}

fn build_notifications(
    store: &Store,
    clock: &SharedClock,
    signals: &Signals,
    models: &cynode_api::ModelServices,
) -> Notifications {
    let sealer = Arc::new(models.credentials.clone());
    Notifications::new(store.clone(), clock.clone(), signals.clone(), sealer)
}

fn build_requests(
    store: &Store,
    clock: &SharedClock,
    signals: &Signals,
    (tasks, artifacts): (&TaskService, &ArtifactService),
    agents: &crate::agent_services::AgentServices,
    models: &cynode_api::ModelServices,
) -> RequestService {
    let sealer = Arc::new(models.credentials.clone());
    RequestService::new(
        store.clone(),
        clock.clone(),
        signals.clone(),
        tasks.clone(),
        artifacts.clone(),
        agents.handoffs.clone(),
        ForgeService::new(store.clone(), clock.clone(), sealer),
    )
    .with_excerpts(agents.excerpts.clone())
    .with_models(models.egress.clone())
}

pub(crate) fn build_knowledge(store: &Store, clock: &SharedClock) -> Knowledge {
    let backend = DatabaseBackend::new(store.clone());
    Knowledge::new(store.clone(), Arc::new(backend), clock.clone())
}

fn build_steering(
    store: &Store,
    clock: &SharedClock,
    signals: &Signals,
    options: &OrchestratorOptions,
) -> RunOperations {
    let steering = RunOperations::new(store.clone(), clock.clone(), signals.clone());
    steering.with_storage_limits(options.storage_limits())
}

fn build_request_limits(clock: &SharedClock, options: &OrchestratorOptions) -> RequestLimits {
    RequestLimits::new(options.request_limits(), clock.clone(), RejectionCounter::default())
}

/// Builds the knowledge service and validates its backend.
async fn connect_knowledge(store: &Store, clock: &SharedClock) -> anyhow::Result<Knowledge> {
    let knowledge = build_knowledge(store, clock);
    knowledge.connect().await.context("the knowledge cannot be searched")?;
    Ok(knowledge)
}

fn build_chat(
    store: &Store,
    clock: &SharedClock,
    options: &OrchestratorOptions,
    background: &BackgroundTasks,
    models: &cynode_api::ModelServices,
    agents: &crate::agent_services::AgentServices,
) -> Chat {
    let (egress, handoffs) = (Arc::new(models.egress.clone()), agents.handoffs.clone());
    let chat_options = options.chat_options();
    Chat::new(store.clone(), clock.clone(), background.clone(), egress, handoffs, chat_options)
}

fn build_nodes(
    store: &Store,
    clock: &SharedClock,
    signals: &Signals,
    options: &OrchestratorOptions,
    placer: JobPlacer,
) -> NodeService {
    NodeService::new(store.clone(), clock.clone(), signals.clone(), options.job_lease_ms)
        .with_placer(placer)
        .with_job_ceiling(options.job_ceiling())
        .with_min_free_disk(options.min_node_free_disk_mib)
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
    Ok(cynode_api::document(services))
}
