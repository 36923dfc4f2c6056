//! Assembles the MCP gateway in this process.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use cynode_api::GatewayAdministration;
use cynode_execution::findings::FindingService;
use cynode_execution::{ArtifactService, JobPlacer, NodeService, TaskService};
use cynode_gateway::GatewayOperations;
use cynode_gateway::GatewayOptions;
use cynode_gateway::GatewayParts;
use cynode_gateway::McpGateway;
use cynode_gateway::RegistryDirectory;
use cynode_gateway::tools::ToolServices;
use cynode_ops::access::Access;
use cynode_ops::capability_leases::{CapabilityLeases, EdgeSync};
use cynode_ops::inbox::Inbox;
use cynode_ops::memory::JobNotes;
use cynode_ops::sandboxes::Sandboxes;
use cynode_ops::{AgentMessages, AgentProfiles, WorkService};
use cynode_ops::{schedules::Scheduler, schedules::Schedules};
use cynode_requests::RequestService;
use cynode_resources::agents::AgentTokens;
use cynode_resources::agents::signs::AgentSigns;
use cynode_resources::audit::{AuditLog, AuditOptions};
use cynode_resources::preferences::PreferenceService;
use cynode_resources::profiles::Profiles;
use cynode_resources::project_memory::ProjectMemory;
use cynode_resources::request_limits::RequestLimits;
use cynode_resources::rules::AccessRules;
use cynode_resources::servers::{InstalledServers, SecretSealer};
use cynode_resources::settings::InstallationSettings;
use cynode_resources::skills::Skills;
use cynode_resources::tools::ToolRegistry;
use cynode_resources::{Projects, Signals, Store};
use cynode_retrieval::Knowledge;
use cynode_runs::{RunOperations, RunQueries};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_upstream::UpstreamOptions;
use cynode_upstream::UpstreamPool;

use crate::agent_services::AgentServices;
use crate::audit_stream::{AuditStream, StreamTarget};
use crate::server_processes::ServerProcessSpawner;

/// Services shared by the gateway and the rest of the process.
pub(crate) struct GatewayDependencies<'a> {
    pub(crate) store: &'a Store,
    pub(crate) clock: &'a SharedClock,
    pub(crate) signals: &'a Signals,
    pub(crate) data_dir: &'a Path,
    pub(crate) knowledge: Knowledge,
    pub(crate) audit: AuditOptions,
    pub(crate) stream_targets: Vec<StreamTarget>,
    pub(crate) tasks: TaskService,
    pub(crate) requests: RequestService,
    pub(crate) projects: Projects,
    pub(crate) artifacts: ArtifactService,
    pub(crate) steering: RunOperations,
    pub(crate) nodes: NodeService,
    pub(crate) signs: AgentSigns,
    pub(crate) agent_profiles: AgentProfiles,
    pub(crate) placer: JobPlacer,
    pub(crate) agents: &'a AgentServices,
    pub(crate) request_limits: RequestLimits,
    /// Encrypts secrets of servers.
    pub(crate) sealer: Arc<dyn SecretSealer>,
}

/// The gateway and its background services.
pub(crate) struct GatewayServices {
    gateway: McpGateway,
    pub(crate) edge: EdgeSync,
    operations: GatewayOperations,
    pool: Arc<UpstreamPool>,
    pub(crate) skills: Skills,
    pub(crate) administration: GatewayAdministration,
    pub(crate) launcher: Arc<crate::analyst_launcher::AnalystProcessLauncher>,
    inbox: Inbox,
    scheduler: Scheduler,
    audit_stream: AuditStream,
}

/// Builds the gateway. It has no tools before [`GatewayServices::start`].
pub(crate) async fn build_gateway(
    shared: GatewayDependencies<'_>,
    options: &GatewayOptions,
) -> anyhow::Result<GatewayServices> {
    let GatewayDependencies { store, clock, signals, data_dir, .. } = shared;
    let audit = AuditLog::open(store.clone(), clock.clone(), &shared.audit)
        .await
        .context("the audit log cannot be opened")?;
    let registry = ToolRegistry::new(store.clone(), clock.clone(), signals.clone());
    let agents = AgentTokens::new(store.clone(), clock.clone(), signals.clone())
        .with_signs(shared.signs.clone());
    let settings = InstallationSettings::new(store.clone(), clock.clone(), signals.clone());
    let skills = Skills::new(store.clone(), clock.clone());
    let operations = GatewayOperations {
        agents: agents.clone(),
        registry: registry.clone(),
        audit: audit.clone(),
        tasks: shared.tasks.clone(),
        projects: shared.projects.clone(),
    };
    let leases = CapabilityLeases::new(store.clone(), clock.clone(), audit.clone(), data_dir);
    let scheduler = Scheduler::new(
        store.clone(),
        signals.clone(),
        shared.tasks.clone(),
        shared.agents.handoffs.clone(),
    )
    .with_intake(Arc::new(shared.requests.clone()));
    let directory = RegistryDirectory::new(registry.clone(), Arc::clone(&shared.sealer));
    let pool = Arc::new(build_pool(directory, audit.clone(), options, data_dir));
    let gateway = McpGateway::new(GatewayParts {
        options: options.clone(),
        backend: Arc::new(operations.clone()),
        upstreams: Arc::clone(&pool) as Arc<dyn cynode_upstream::interface::Upstreams>,
        services: tool_services(&shared, skills.clone(), settings.clone(), leases.clone()),
        request_limits: shared.request_limits,
        clock: clock.clone(),
    });
    let administration = GatewayAdministration {
        agents,
        registry,
        servers: InstalledServers::new(
            store.clone(),
            clock.clone(),
            signals.clone(),
            shared.sealer,
        ),
        rules: AccessRules::new(store.clone(), clock.clone(), signals.clone()),
        settings,
        audit,
        leases: leases.clone(),
        access: Access::new(store.clone(), Arc::new(gateway.clone())),
    };
    let edge = EdgeSync::new(leases, Arc::new(gateway.clone()));
    let stream = AuditStream::new(operations.audit.clone(), shared.stream_targets, data_dir);
    let inbox =
        Inbox::new(store.clone(), clock.clone(), signals.clone(), shared.agents.handoffs.clone());
    Ok(GatewayServices {
        gateway,
        edge,
        operations,
        pool,
        skills,
        administration,
        launcher: Arc::clone(&shared.agents.launcher),
        inbox,
        scheduler,
        audit_stream: stream,
    })
}

/// The operations that built-in tools call.
fn tool_services(
    shared: &GatewayDependencies<'_>,
    skills: Skills,
    settings: InstallationSettings,
    leases: CapabilityLeases,
) -> ToolServices {
    let GatewayDependencies { store, clock, signals, .. } = *shared;
    let placer = shared.placer.clone();
    ToolServices {
        tasks: shared.tasks.clone(),
        requests: Some(shared.requests.clone()),
        projects: shared.projects.clone(),
        profiles: Profiles::new(store.clone(), clock.clone(), signals.clone()),
        project_memory: ProjectMemory::new(store.clone(), clock.clone()),
        knowledge: shared.knowledge.clone(),
        schedules: Schedules::new(store.clone(), signals.clone()),
        artifacts: shared.artifacts.clone(),
        nodes: shared.nodes.clone(),
        agent_profiles: shared.agent_profiles.clone(),
        sandboxes: Sandboxes::new(store.clone(), clock.clone(), signals.clone(), placer),
        leases,
        preferences: PreferenceService::new(store.clone(), clock.clone()),
        memory: JobNotes::new(store.clone(), clock.clone()),
        skills,
        findings: FindingService::new(store.clone(), clock.clone()),
        runs: RunQueries::new(store.clone()),
        steering: shared.steering.clone(),
        settings,
        messages: AgentMessages::new(store.clone(), clock.clone(), signals.clone()),
        work: WorkService::new(store.clone(), clock.clone(), signals.clone()),
        analysts: Some(shared.agents.analysts.clone()),
    }
}

/// Connections to installed servers.
fn build_pool(
    directory: RegistryDirectory,
    audit: AuditLog,
    options: &GatewayOptions,
    data_dir: &Path,
) -> UpstreamPool {
    let upstream = UpstreamOptions {
        max_response_bytes: usize::try_from(options.max_response_bytes).unwrap_or(usize::MAX),
        calls_per_server: options.calls_per_server,
        ..UpstreamOptions::default()
    };
    let tasks = BackgroundTasks::new();
    let (state_dir, expose) = (data_dir.join("mcp"), options.expose.clone());
    let spawner = Arc::new(ServerProcessSpawner::new(state_dir, expose, audit, tasks.clone()));
    UpstreamPool::new(Arc::new(directory), spawner, upstream, tasks)
}

impl GatewayServices {
    /// Registers the built-in tools and skill, encrypts secrets of earlier versions, and loads the tool registry.
    pub(crate) async fn start(&self) -> anyhow::Result<()> {
        let sealed = self.administration.servers.seal_plain_secrets();
        Box::pin(sealed).await.context("the secrets of servers cannot be encrypted")?;
        Box::pin(self.skills.seed()).await.context("the built-in skill cannot be written")?;
        self.gateway.start(&self.operations).await.context("the tool registry cannot be loaded")
    }

    pub(crate) fn router(&self) -> Router {
        cynode_gateway::router(self.gateway.clone())
    }

    /// Runs the gateway, the connection pool, the inbox, the scheduler, the audit log and its stream until `shutdown`.
    pub(crate) async fn run(self, shutdown: Shutdown) {
        tokio::join!(
            self.gateway.run(&self.operations, shutdown.clone()),
            self.pool.run(shutdown.clone()),
            Box::pin(self.inbox.run(shutdown.clone())),
            Box::pin(self.scheduler.run(shutdown.clone())),
            Box::pin(self.skills.clone().run(shutdown.clone())),
            self.audit_stream.run(shutdown.clone()),
            self.operations.audit.clone().run(shutdown),
        );
    }
}
