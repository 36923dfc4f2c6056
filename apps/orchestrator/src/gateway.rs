//! The MCP gateway as a part of this process.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use cynode_api::Administration;
use cynode_gateway::tools::Services as ToolServices;
use cynode_gateway::upstream::{Pool, UpstreamOptions};
use cynode_gateway::{Gateway, GatewayOptions, Operations, Parts, RegistryDirectory};
use cynode_ops::access::Access;
use cynode_ops::agents::AgentTokens;
use cynode_ops::audit::AuditLog;
use cynode_ops::findings::Findings;
use cynode_ops::inbox::Inbox;
use cynode_ops::memory::Memory;
use cynode_ops::preferences::Preferences;
use cynode_ops::rules::Rules;
use cynode_ops::runs::{Runs, Steering};
use cynode_ops::sandboxes::Sandboxes;
use cynode_ops::schedules::{Scheduler, Schedules};
use cynode_ops::servers::Servers;
use cynode_ops::settings::Settings;
use cynode_ops::skills::Skills;
use cynode_ops::tools::Registry;
use cynode_ops::{Artifacts, Messages, Nodes, Placer, Projects, Signals, Store, Tasks, Work};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;

use crate::agents::Agents;
use crate::processes::Processes;

/// What the gateway shares with the rest of the process.
pub(crate) struct Shared<'a> {
    pub(crate) store: &'a Store,
    pub(crate) clock: &'a SharedClock,
    pub(crate) signals: &'a Signals,
    pub(crate) data_dir: &'a Path,
    pub(crate) tasks: Tasks,
    pub(crate) projects: Projects,
    pub(crate) artifacts: Artifacts,
    pub(crate) nodes: Nodes,
    pub(crate) placer: Placer,
    pub(crate) agents: &'a Agents,
}

/// The gateway, and what it works with.
pub(crate) struct Assembled {
    gateway: Gateway,
    operations: Operations,
    pool: Arc<Pool>,
    pub(crate) skills: Skills,
    pub(crate) administration: Administration,
    pub(crate) launcher: Arc<crate::analysts::Processes>,
    inbox: Inbox,
    scheduler: Scheduler,
}

/// Puts the gateway together. It knows no tools before [`Assembled::start`].
pub(crate) async fn assemble(
    shared: Shared<'_>,
    options: &GatewayOptions,
) -> anyhow::Result<Assembled> {
    let Shared { store, clock, signals, data_dir, .. } = shared;
    let audit = AuditLog::open(store.clone(), clock.clone(), data_dir)
        .await
        .context("the record of tool calls cannot be opened")?;
    let registry = Registry::new(store.clone(), clock.clone(), signals.clone());
    let agents = AgentTokens::new(store.clone(), clock.clone(), signals.clone());
    let settings = Settings::new(store.clone(), clock.clone(), signals.clone());
    let (runs, skills) = (Runs::new(store.clone()), Skills::new(store.clone(), clock.clone()));
    let operations = Operations {
        agents: agents.clone(),
        registry: registry.clone(),
        audit: audit.clone(),
        tasks: shared.tasks.clone(),
        projects: shared.projects.clone(),
        runs: runs.clone(),
    };
    let scheduler = Scheduler::new(
        (store.clone(), signals.clone()),
        shared.tasks.clone(),
        shared.agents.handoffs.clone(),
    );
    let pool = Arc::new(pool(&registry, options, data_dir));
    let gateway = Gateway::new(Parts {
        options: options.clone(),
        backend: Arc::new(operations.clone()),
        upstreams: Arc::clone(&pool) as Arc<dyn cynode_gateway::seams::Upstreams>,
        services: ToolServices {
            tasks: shared.tasks,
            projects: shared.projects,
            schedules: Schedules::new(store.clone(), signals.clone()),
            artifacts: shared.artifacts,
            nodes: shared.nodes,
            sandboxes: Sandboxes::new(
                (store.clone(), clock.clone(), signals.clone()),
                shared.placer,
            ),
            preferences: Preferences::new(store.clone(), clock.clone()),
            memory: Memory::new(store.clone(), clock.clone()),
            skills: skills.clone(),
            findings: Findings::new(store.clone(), clock.clone()),
            runs: runs.clone(),
            steering: Steering::new(store.clone(), clock.clone(), signals.clone()),
            settings: settings.clone(),
            messages: Messages::new(store.clone(), clock.clone(), signals.clone()),
            work: Work::new(store.clone(), clock.clone(), signals.clone()),
            analysts: Some(shared.agents.analysts.clone()),
        },
        clock: clock.clone(),
    });
    let administration = Administration {
        agents,
        registry,
        servers: Servers::new(store.clone(), clock.clone(), signals.clone()),
        rules: Rules::new(store.clone(), clock.clone(), signals.clone()),
        settings,
        audit,
        access: Access::new(store.clone(), Arc::new(gateway.clone())),
    };
    let launcher = Arc::clone(&shared.agents.launcher);
    let inbox =
        Inbox::new((store.clone(), clock.clone(), signals.clone()), shared.agents.handoffs.clone());
    Ok(Assembled { gateway, operations, pool, skills, administration, launcher, inbox, scheduler })
}

/// Connections to installed servers.
fn pool(registry: &Registry, options: &GatewayOptions, data_dir: &Path) -> Pool {
    let upstream = UpstreamOptions {
        max_response_bytes: usize::try_from(options.max_response_bytes).unwrap_or(usize::MAX),
        calls_per_server: options.calls_per_server,
        ..UpstreamOptions::default()
    };
    let spawner = Arc::new(Processes::new(data_dir.join("mcp"), options.expose.clone()));
    let directory = Arc::new(RegistryDirectory::new(registry.clone()));
    Pool::new(directory, spawner, upstream, cynode_runtime::tasks::Tasks::new())
}

impl Assembled {
    /// Writes the built-in tools into the registry and reads what else is there; writes the skill
    /// that comes with the release.
    pub(crate) async fn start(&self) -> anyhow::Result<()> {
        Box::pin(self.skills.seed()).await.context("the skill of the system cannot be written")?;
        self.gateway.start(&self.operations).await.context("the tool registry cannot be read")
    }

    /// Its routes.
    pub(crate) fn router(&self) -> Router {
        cynode_gateway::router(self.gateway.clone())
    }

    /// Keeps the gateway up to date, hands over what agents report and deals with what comes due, until
    /// `shutdown`.
    pub(crate) async fn run(self, shutdown: Shutdown) {
        tokio::join!(
            self.gateway.run(&self.operations, shutdown.clone()),
            self.pool.run(shutdown.clone()),
            Box::pin(self.inbox.run(shutdown.clone())),
            Box::pin(self.scheduler.run(shutdown.clone())),
            self.operations.audit.clone().run(shutdown),
        );
    }
}
