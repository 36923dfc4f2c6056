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
use crate::state::ApiState;
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
    let (router, document) = documented_routes(&services).split_for_parts();
    // Text takes a fraction of the memory, and responses share it. Its keys are strings, so it can be written.
    let document = Bytes::from(with_operation_ids(document).to_json().unwrap_or_default());
    let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    router
        .route("/v1/openapi.json", axum::routing::get(|| async { (json, document) }))
        .merge(status::open_routes())
        .with_state(ApiState::new(services))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(CatchPanicLayer::new())
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, TIMEOUT))
        .layer(from_fn(close_if_unread))
        .layer(from_fn(handle_request))
}

/// The documented routes; each group behind its authentication layer.
pub(crate) fn documented_routes(services: &ApiServices) -> OpenApiRouter<ApiState> {
    let admission = UserAdmission {
        accounts: services.accounts.clone(),
        limits: services.request_limits.clone(),
    };
    let tokens = &services.tokens;
    let users = accounts::routes()
        .merge(projects::routes())
        .merge(profiles::routes())
        .merge(project_memory::routes())
        .merge(knowledge::routes())
        .merge(tasks::routes())
        .merge(schedules::routes())
        .merge(runs::routes())
        .merge(runs::steering_routes())
        .merge(inbox::routes())
        .merge(requests::routes())
        .merge(forges::routes())
        .merge(notifications::routes())
        .merge(artifacts::routes())
        .merge(pushes::routes())
        .merge(nodes::routes())
        .merge(agent_profiles::routes())
        .merge(events::routes())
        .merge(threads::routes())
        .merge(gateway::routes())
        .merge(decisions::routes())
        .merge(egress::routes())
        .merge(preferences::routes())
        .merge(groups::routes())
        .merge(skills::routes())
        .merge(status::routes())
        .route_layer(from_fn_with_state(admission.clone(), require_user));
    let runners =
        workflow::routes().route_layer(from_fn_with_state(tokens.clone(), require_runner));
    let joining =
        node_api::join_routes().route_layer(from_fn_with_state(tokens.clone(), require_join));
    let nodes = node_api::routes()
        .merge(agent_profiles::node_routes())
        .merge(edge::node_routes())
        .route_layer(from_fn_with_state(services.nodes.clone(), require_node));
    OpenApiRouter::with_openapi(ApiDocument::openapi())
        .merge(chat::routes(admission))
        .merge(accounts::open_routes())
        .merge(forges::open_routes())
        .merge(users)
        .merge(egress::agent_routes())
        .merge(runners)
        .merge(joining)
        .merge(nodes)
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
