//! Builds the services of an orchestrator over one store.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use cynode_analysts::ManagedAnalyst;
use cynode_api::ApiServices;
use cynode_blobs::BlobStore;
use cynode_execution::{ArtifactService, JobPlacer, NodeService, TaskService, WorkflowService};
use cynode_gateway::GatewayOptions;
use cynode_notifications::Notifications;
use cynode_ops::chat::Chat;
use cynode_ops::schedules::Schedules;
use cynode_ops::{AgentMessages, AgentProfiles, StorageHealth};
use cynode_requests::{ForgeService, RequestService};
use cynode_resources::agents::signs::AgentSigns;
use cynode_resources::audit::RejectionCounter;
use cynode_resources::groups::Groups;
use cynode_resources::preferences::PreferenceService;
use cynode_resources::profiles::Profiles;
use cynode_resources::project_memory::ProjectMemory;
use cynode_resources::request_limits::RequestLimits;
use cynode_resources::{Accounts, Projects, Signals, Store};
use cynode_retrieval::{DatabaseBackend, Knowledge};
use cynode_runs::{EventService, RunOperations, RunQueries, Sweeper};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::BackgroundTasks;

use crate::OrchestratorOptions;
use crate::agent_services::build_agent_services;
use crate::gateway_assembly::{self, GatewayDependencies, GatewayServices};
use crate::model_egress::build_models;
use crate::service_secrets::load_service_tokens;

pub(crate) fn blob_store(data_dir: &Path) -> BlobStore {
    BlobStore::new(data_dir.join("blobs"))
}

/// Builds all services over one store.
pub(super) async fn build_services(
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
