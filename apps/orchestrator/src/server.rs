//! Starting an orchestrator, serving, and stopping it.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::serve::ListenerExt;
use cynode_api::Services;
use cynode_gateway::GatewayOptions;
use cynode_ops::analysts::Managed;
use cynode_ops::chat::Chat;
use cynode_ops::groups::Groups;
use cynode_ops::preferences::Preferences;
use cynode_ops::runs::{Runs, Steering};
use cynode_ops::schedules::Schedules;
use cynode_ops::{
    Accounts, Artifacts, Blobs, Bootstrap, Events, Health, Messages, Nodes, Placer, Projects,
    Signals, Store, Sweeper, Tasks, Workflow,
};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::durable_file;
use cynode_runtime::metrics::{self, Exporter};
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks as Background;
use tokio::net::TcpListener;

use crate::OrchestratorOptions;
use crate::agents::agents;
use crate::egress::models;
use crate::gateway::{self, Assembled, Shared};
use crate::secrets::service_tokens;

/// How long open requests may take to end once the process is asked to stop.
const GRACE: Duration = Duration::from_secs(2);
/// How long what they left to be written may take then.
const LAST_WRITES: Duration = Duration::from_millis(500);

/// An orchestrator that listens and is ready to serve.
pub struct Orchestrator {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    sweeper: Sweeper,
    job_lease_ms: u32,
    gateway: Assembled,
    exporter: Exporter,
    /// Work that outlives the request it was begun for.
    background: Background,
}

impl Orchestrator {
    /// Opens the database, makes the first administrator if there is none, and listens.
    pub async fn start(
        options: &OrchestratorOptions,
        data_dir: &Path,
        clock: SharedClock,
    ) -> anyhow::Result<Self> {
        Self::start_with(options, &GatewayOptions::default(), data_dir, clock).await
    }

    /// The same with a gateway that is not the default one.
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
            .with_context(|| format!("the data directory {} cannot be made", data_dir.display()))?;
        let url = options.database_url(data_dir);
        refuse_lost_file(options, &url, data_dir).await?;
        let store = Store::open(&url).await.context("the database cannot be opened")?;
        let background = Background::new();
        let (mut services, sweeper, gateway) =
            assemble(&store, data_dir, &clock, (options, gateway), &background).await?;
        if !services.accounts.is_bootstrapped().await? {
            refuse_new_database(options, "it is empty", data_dir).await?;
        }
        if services.accounts.bootstrap(data_dir).await? == Bootstrap::FirstRun {
            tracing::info!("first run: the administrator's token is in admin.token");
        }
        gateway.start().await?;
        let exporter = metrics::install()?;
        services.exporter = Some(exporter.clone());
        let listener = TcpListener::bind(&options.listen)
            .await
            .with_context(|| format!("{} cannot be listened on", options.listen))?;
        let address = listener.local_addr()?;
        write_address(data_dir, address)?;
        gateway.launcher.listens_on(address);
        // The API explains every route that nobody has, so it is what the gateway falls back to.
        let router = gateway
            .router()
            .merge(cynode_console::router())
            .fallback_service(cynode_api::router(services));
        let job_lease_ms = options.job_lease_ms;
        Ok(Self { listener, address, router, sweeper, job_lease_ms, gateway, exporter, background })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown`; requests that are still open then get a moment to end.
    pub async fn serve(self, shutdown: Shutdown) -> anyhow::Result<()> {
        let service = self.router.into_make_service_with_connect_info::<SocketAddr>();
        let stop = shutdown.clone();
        // Answers are small and awaited: they must not wait to be sent together.
        let listener = self.listener.tap_io(|connection| {
            let _ = connection.set_nodelay(true);
        });
        let server = axum::serve(listener, service)
            .with_graceful_shutdown(async move { stop.triggered().await });
        let background = self.background;
        // Whoever awaits this need not carry all of it along.
        let work = Box::pin(async {
            let sweeps = self.sweeper.run(self.job_lease_ms, shutdown.clone());
            let upkeep = self.exporter.keep_up(shutdown.clone());
            let calls = self.gateway.run(shutdown.clone());
            let ends = async {
                shutdown.triggered().await;
                // Turns of chat and handoffs keep what there is and let go of those who wait for
                // them: requests end only then.
                background.finish(GRACE).await;
            };
            let (outcome, (), (), (), ()) = tokio::join!(server, sweeps, upkeep, calls, ends);
            outcome.context("serving failed")
        });
        let overdue = async {
            shutdown.triggered().await;
            tokio::time::sleep(GRACE).await;
        };
        let outcome = tokio::select! {
            outcome = work => outcome,
            () = overdue => Ok(()),
        };
        // What requests left to be written as they ended.
        background.finish(LAST_WRITES).await;
        outcome
    }
}

/// Every feature over one store.
async fn assemble(
    store: &Store,
    data_dir: &Path,
    clock: &SharedClock,
    (options, gateway_options): (&OrchestratorOptions, &GatewayOptions),
    background: &Background,
) -> anyhow::Result<(Services, Sweeper, Assembled)> {
    let signals = Signals::new(store.engine());
    let blobs = Blobs::new(data_dir.join("blobs"));
    let accounts = Accounts::new(store.clone(), clock.clone());
    let agents = agents((store, clock, &signals), options, data_dir, background)?;
    let placer = Placer::by_rule((store.clone(), clock.clone(), signals.clone()))
        .asking(agents.handoffs.clone());
    let sweeper = Sweeper::new(store.clone(), signals.clone(), accounts.clone(), clock.clone())
        .placed_by(placer.clone());
    let shared = Shared {
        store,
        clock,
        signals: &signals,
        data_dir,
        tasks: Tasks::new(store.clone(), clock.clone(), signals.clone(), blobs.clone()),
        projects: Projects::new(store.clone(), clock.clone()),
        artifacts: Artifacts::new(store.clone(), clock.clone(), blobs.clone()),
        nodes: Nodes::new(store.clone(), clock.clone(), signals.clone(), options.job_lease_ms)
            .placed_by(placer.clone()),
        placer: placer.clone(),
        agents: &agents,
    };
    let (projects, tasks) = (shared.projects.clone(), shared.tasks.clone());
    let (artifacts, nodes) = (shared.artifacts.clone(), shared.nodes.clone());
    let assembled = gateway::assemble(shared, gateway_options).await?;
    let models = models((store, clock, &signals), data_dir, background.clone());
    let services = Services {
        accounts,
        projects,
        tasks,
        schedules: Schedules::new(store.clone(), signals.clone()),
        runs: Runs::new(store.clone()),
        steering: Steering::new(store.clone(), clock.clone(), signals.clone()),
        messages: Messages::new(store.clone(), clock.clone(), signals.clone()),
        artifacts,
        nodes,
        workflow: Workflow::new(store.clone(), clock.clone(), signals.clone())
            .planned_by(agents.handoffs.clone())
            .placed_by(placer)
            .judged_by(Arc::new(Managed::new(agents.analysts.clone()))),
        events: Events::new(store.clone(), clock.clone(), signals.clone()),
        tokens: service_tokens(options, data_dir)?,
        database: store.engine().as_str(),
        exporter: None,
        health: Health::new(store.clone(), blobs, clock.clone()),
        administration: assembled.administration.clone(),
        chat: Chat::new(
            (store.clone(), clock.clone(), background.clone()),
            Arc::new(models.egress.clone()),
            agents.handoffs.clone(),
            options.chat(),
        ),
        models,
        preferences: Preferences::new(store.clone(), clock.clone()),
        groups: Groups::new(store.clone(), clock.clone(), signals.clone()),
        skills: assembled.skills.clone(),
    };
    Ok((services, sweeper, assembled))
}

/// A file of the embedded database that is gone is not made anew beside the content of the old one: that
/// would look like a first start, and nobody would miss the tasks.
async fn refuse_lost_file(
    options: &OrchestratorOptions,
    url: &str,
    data_dir: &Path,
) -> anyhow::Result<()> {
    let Some(path) = Store::file_of(url) else { return Ok(()) };
    let is_there = fs::metadata(&path).is_ok_and(|file| file.len() > 0);
    if is_there {
        return Ok(());
    }
    refuse_new_database(options, &format!("{} does not exist", path.display()), data_dir).await
}

/// Refuses to begin with an empty database where blobs of another one are.
async fn refuse_new_database(
    options: &OrchestratorOptions,
    why: &str,
    data_dir: &Path,
) -> anyhow::Result<()> {
    let blobs = data_dir.join("blobs");
    if options.allow_new_database || Blobs::new(blobs.clone()).is_empty().await? {
        return Ok(());
    }
    anyhow::bail!(
        "the database was lost or is another one: {why}, but {} holds files of earlier tasks. Restore the \
         database from a backup or correct `database_url`. To begin with an empty database, start with \
         `--allow-new-database` or set `allow_new_database = true` under [orchestrator] in cynode.toml",
        blobs.display()
    )
}

/// Others find the orchestrator by this file, also when the port was chosen by the system.
fn write_address(data_dir: &Path, address: SocketAddr) -> anyhow::Result<()> {
    let path = data_dir.join("orchestrator.addr");
    durable_file::replace(&path, address.to_string().as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// The API document. It is made from the routes, which need services to hang on; these hang on a
/// database that exists for this moment only.
pub(crate) async fn document() -> anyhow::Result<String> {
    let directory = tempfile::tempdir()?;
    let options = OrchestratorOptions::default();
    let store = Store::open(&options.database_url(directory.path())).await?;
    let clock: SharedClock = std::sync::Arc::new(cynode_runtime::clock::SystemClock);
    let options = (&options, &GatewayOptions::default());
    let (services, ..) =
        assemble(&store, directory.path(), &clock, options, &Background::new()).await?;
    Ok(cynode_api::document(services))
}
