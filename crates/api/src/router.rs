//! All routes and their middleware.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequestParts};
use axum::middleware::{from_fn, from_fn_with_state};
use cynode_execution::{ArtifactService, NodeService, TaskService, WorkflowService};
use cynode_notifications::Notifications;
use cynode_ops::capability_leases::EdgeSync;
use cynode_ops::chat::Chat;
use cynode_ops::schedules::Schedules;
use cynode_ops::{AgentMessages, AgentProfiles, StorageHealth};
use cynode_requests::RequestService;
use cynode_resources::groups::Groups;
use cynode_resources::preferences::PreferenceService;
use cynode_resources::profiles::Profiles;
use cynode_resources::project_memory::ProjectMemory;
use cynode_resources::request_limits::RequestLimits;
use cynode_resources::skills::Skills;
use cynode_resources::{Accounts, Projects};
use cynode_retrieval::Knowledge;
use cynode_runs::{EventService, RunOperations, RunQueries};
use cynode_runtime::metrics::MetricsExporter;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::identity::{
    ServiceTokens, UserAdmission, require_join, require_node, require_runner, require_user,
};
use crate::middleware::handle_request;
use crate::openapi::{ApiDocument, with_operation_ids};
use crate::status::StatusServices;
use crate::unread_body::close_if_unread;
use crate::{
    GatewayAdministration, ModelServices, accounts, agent_profiles, artifacts, chat, decisions,
    edge, egress, events, forges, gateway, groups, inbox, knowledge, node_api, nodes,
    notifications, preferences, profiles, project_memory, projects, pushes, requests, runs,
    schedules, skills, status, tasks, threads, workflow,
};

const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;
/// Longer than any long poll. Does not limit streams.
const TIMEOUT: Duration = Duration::from_mins(5);

/// The services behind the routes, by feature.
#[derive(Clone)]
pub struct ApiServices {
    pub accounts: Accounts,
    pub projects: Projects,
    pub profiles: Profiles,
    pub project_memory: ProjectMemory,
    pub knowledge: Knowledge,
    pub tasks: TaskService,
    pub schedules: Schedules,
    /// Reading runs.
    pub runs: RunQueries,
    /// Pausing, resuming, answering, retrying and forking runs.
    pub steering: RunOperations,
    pub messages: AgentMessages,
    pub requests: RequestService,
    pub notifications: Notifications,
    pub artifacts: ArtifactService,
    pub nodes: NodeService,
    pub agent_profiles: AgentProfiles,
    pub edge: EdgeSync,
    /// The workflow API of runners.
    pub workflow: WorkflowService,
    pub events: EventService,
    pub chat: Chat,
    pub health: StorageHealth,
    pub administration: GatewayAdministration,
    pub models: ModelServices,
    pub preferences: PreferenceService,
    pub groups: Groups,
    pub skills: Skills,
    pub tokens: ServiceTokens,
    /// Limits of users and projects, shared with the MCP gateway.
    pub request_limits: RequestLimits,
    /// Display name of the database engine.
    pub database: &'static str,
    pub exporter: Option<MetricsExporter>,
}

/// Builds the HTTP router.
pub fn router(services: ApiServices) -> Router {
    let overview = status_services(&services);
    let (router, document) = documented_routes(services).split_for_parts();
    // Text takes a fraction of the memory, and responses share it. Its keys are strings, so it can be written.
    let document = Bytes::from(with_operation_ids(document).to_json().unwrap_or_default());
    let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    router
        .route("/v1/openapi.json", axum::routing::get(|| async { (json, document) }))
        .merge(status::open_routes(overview))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(CatchPanicLayer::new())
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, TIMEOUT))
        .layer(from_fn(close_if_unread))
        .layer(from_fn(handle_request))
}

/// The documented routes; each group behind its authentication layer.
pub(crate) fn documented_routes(services: ApiServices) -> OpenApiRouter {
    let overview = status_services(&services);
    let admission = UserAdmission {
        accounts: services.accounts.clone(),
        limits: services.request_limits.clone(),
    };
    let users = accounts::routes(services.accounts.clone())
        .merge(projects::routes(services.projects))
        .merge(profiles::routes(services.profiles))
        .merge(project_memory::routes(services.project_memory))
        .merge(knowledge::routes(services.knowledge))
        .merge(tasks::routes(services.tasks.clone()))
        .merge(schedules::routes(services.schedules))
        .merge(runs::routes(services.runs))
        .merge(runs::steering_routes(services.steering))
        .merge(inbox::routes(services.messages))
        .merge(requests::routes(services.requests.clone()))
        .merge(forges::routes(services.requests.clone()))
        .merge(notifications::routes(services.notifications))
        .merge(artifacts::routes(services.artifacts.clone()))
        .merge(pushes::routes(services.tasks, services.artifacts.clone()))
        .merge(nodes::routes(services.nodes.clone()))
        .merge(agent_profiles::routes(services.agent_profiles.clone()))
        .merge(events::routes(services.events))
        .merge(threads::routes(services.chat.clone()))
        .merge(gateway::routes(services.administration.clone()))
        .merge(decisions::routes(services.models.decisions.clone()))
        .merge(egress::routes(services.models.clone()))
        .merge(preferences::routes(services.preferences))
        .merge(groups::routes(services.groups))
        .merge(skills::routes(services.skills))
        .merge(status::routes(overview))
        .route_layer(from_fn_with_state(admission.clone(), require_user));
    let runners = workflow::routes(services.workflow)
        .route_layer(from_fn_with_state(services.tokens.clone(), require_runner));
    let joining = node_api::join_routes(services.nodes.clone())
        .route_layer(from_fn_with_state(services.tokens, require_join));
    let credentials = services.models.credentials.clone();
    let nodes = node_api::routes(services.nodes.clone(), services.artifacts, credentials)
        .merge(agent_profiles::node_routes(services.agent_profiles))
        .merge(edge::node_routes(services.edge))
        .route_layer(from_fn_with_state(services.nodes, require_node));
    OpenApiRouter::with_openapi(ApiDocument::openapi())
        .merge(chat::routes(services.chat, admission))
        .merge(accounts::open_routes(services.accounts))
        .merge(forges::open_routes(services.requests))
        .merge(users)
        .merge(egress::agent_routes(
            services.models.egress,
            services.administration.agents,
            services.request_limits,
        ))
        .merge(runners)
        .merge(joining)
        .merge(nodes)
}

fn status_services(services: &ApiServices) -> StatusServices {
    StatusServices {
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

/// The client address of a request.
pub(crate) struct PeerAddress(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PeerAddress {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        Ok(Self(
            peer.map_or_else(
                || "unknown".to_owned(),
                |peer| peer.0.ip().to_canonical().to_string(),
            ),
        ))
    }
}
