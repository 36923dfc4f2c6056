//! The state of every route: all services, from which a handler takes the ones that it names.
//!
//! One state type for all routes, because the router is compiled once for each type of state.

use std::sync::Arc;

use axum::extract::FromRef;
use cynode_execution::{ArtifactService, NodeService, TaskService, WorkflowService};
use cynode_models::credentials::CredentialManager;
use cynode_models::decisions::DecisionRecords;
use cynode_models::egress::Egress;
use cynode_notifications::Notifications;
use cynode_ops::access::Access;
use cynode_ops::capability_leases::{CapabilityLeases, EdgeSync};
use cynode_ops::chat::Chat;
use cynode_ops::schedules::Schedules;
use cynode_ops::{AgentMessages, AgentProfiles};
use cynode_requests::{ForgeService, RequestService};
use cynode_resources::agents::AgentTokens;
use cynode_resources::audit::AuditLog;
use cynode_resources::groups::Groups;
use cynode_resources::preferences::PreferenceService;
use cynode_resources::profiles::Profiles;
use cynode_resources::project_memory::ProjectMemory;
use cynode_resources::rules::AccessRules;
use cynode_resources::servers::InstalledServers;
use cynode_resources::settings::InstallationSettings;
use cynode_resources::skills::Skills;
use cynode_resources::tools::ToolRegistry;
use cynode_resources::{Accounts, Projects};
use cynode_retrieval::Knowledge;
use cynode_runs::{EventService, RunOperations, RunQueries};

use crate::egress::AgentEgressState;
use crate::router::ApiServices;
use crate::status::StatusServices;

/// All services. A handler takes one with `State<TaskService>`.
#[derive(Clone)]
pub(crate) struct ApiState(Arc<ApiServices>);

impl ApiState {
    pub(crate) fn new(services: ApiServices) -> Self {
        Self(Arc::new(services))
    }
}

/// Implements the extraction of each service from its field.
macro_rules! services {
    ($($service:ty: $($field:ident).+;)+) => {$(
        impl FromRef<ApiState> for $service {
            fn from_ref(state: &ApiState) -> Self {
                state.0.$($field).+.clone()
            }
        }
    )+};
}

services! {
    Accounts: accounts;
    Projects: projects;
    Profiles: profiles;
    ProjectMemory: project_memory;
    Knowledge: knowledge;
    TaskService: tasks;
    Schedules: schedules;
    RunQueries: runs;
    RunOperations: steering;
    AgentMessages: messages;
    RequestService: requests;
    Notifications: notifications;
    ArtifactService: artifacts;
    NodeService: nodes;
    AgentProfiles: agent_profiles;
    EdgeSync: edge;
    WorkflowService: workflow;
    EventService: events;
    Chat: chat;
    PreferenceService: preferences;
    Groups: groups;
    Skills: skills;
    AgentTokens: administration.agents;
    ToolRegistry: administration.registry;
    InstalledServers: administration.servers;
    AccessRules: administration.rules;
    InstallationSettings: administration.settings;
    AuditLog: administration.audit;
    CapabilityLeases: administration.leases;
    Access: administration.access;
    Egress: models.egress;
    CredentialManager: models.credentials;
    DecisionRecords: models.decisions;
}

impl FromRef<ApiState> for ForgeService {
    fn from_ref(state: &ApiState) -> Self {
        state.0.requests.forges().clone()
    }
}

impl FromRef<ApiState> for AgentEgressState {
    fn from_ref(state: &ApiState) -> Self {
        Self {
            egress: state.0.models.egress.clone(),
            agents: state.0.administration.agents.clone(),
            limits: state.0.request_limits.clone(),
        }
    }
}

impl FromRef<ApiState> for StatusServices {
    fn from_ref(state: &ApiState) -> Self {
        let services = &*state.0;
        Self {
            tasks: services.tasks.clone(),
            nodes: services.nodes.clone(),
            workflow: services.workflow.clone(),
            chat: services.chat.clone(),
            health: services.health.clone(),
            requests: services.requests.clone(),
            database: services.database,
            version: env!("CARGO_PKG_VERSION"),
            exporter: services.exporter.clone(),
        }
    }
}
