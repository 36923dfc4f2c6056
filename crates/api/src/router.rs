//! All routes, and the edge around them.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequestParts};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Json, Router};
use cynode_ops::chat::Chat;
use cynode_ops::groups::Groups;
use cynode_ops::preferences::Preferences;
use cynode_ops::runs::{Runs, Steering};
use cynode_ops::schedules::Schedules;
use cynode_ops::skills::Skills;
use cynode_ops::{Accounts, Artifacts, Events, Health, Messages, Nodes, Projects, Tasks, Workflow};
use cynode_runtime::metrics::Exporter;
use http::StatusCode;
use http::request::Parts;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::edge::edge;
use crate::identity::{ServiceTokens, require_join, require_node, require_runner, require_user};
use crate::openapi::{Document, named};
use crate::status::Overview;
use crate::unread::close_if_unread;
use crate::{
    Administration, Models, accounts, artifacts, chat, egress, events, gateway, groups, inbox,
    node_api, nodes, preferences, projects, runs, schedules, skills, status, tasks, threads,
    workflow,
};

const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;
/// Longer than any long poll; streams are not bounded by it.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Everything the routes call, each feature by itself.
#[derive(Clone)]
pub struct Services {
    /// Accounts, sessions and tokens.
    pub accounts: Accounts,
    /// Projects.
    pub projects: Projects,
    /// Tasks.
    pub tasks: Tasks,
    /// Work that comes due by the clock.
    pub schedules: Schedules,
    /// Runs, looked at.
    pub runs: Runs,
    /// What people do to runs.
    pub steering: Steering,
    /// Messages of agents that wait for a person.
    pub messages: Messages,
    /// Files of tasks.
    pub artifacts: Artifacts,
    /// Worker nodes.
    pub nodes: Nodes,
    /// The workflow contract.
    pub workflow: Workflow,
    /// The outbox.
    pub events: Events,
    /// Chat.
    pub chat: Chat,
    /// Whether state can be written and read.
    pub health: Health,
    /// What the MCP gateway decides and records by.
    pub administration: Administration,
    /// What calls to models go through.
    pub models: Models,
    /// Preferences.
    pub preferences: Preferences,
    /// Groups of users.
    pub groups: Groups,
    /// Skills.
    pub skills: Skills,
    /// The secrets of runners and joining nodes.
    pub tokens: ServiceTokens,
    /// The engine's name, for people.
    pub database: &'static str,
    /// Where metrics are collected.
    pub exporter: Option<Exporter>,
}

/// The whole HTTP surface.
pub fn router(services: Services) -> Router {
    let overview = overview(&services);
    let (router, document) = parts(services).split_for_parts();
    let document = named(document);
    router
        .route("/v1/openapi.json", axum::routing::get(|| async { Json(document) }))
        .merge(status::open_routes(overview))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(CatchPanicLayer::new())
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, TIMEOUT))
        .layer(from_fn(close_if_unread))
        .layer(from_fn(edge))
}

/// Every documented route; each group behind the layer that knows its callers.
pub(crate) fn parts(services: Services) -> OpenApiRouter {
    let overview = overview(&services);
    let users = accounts::routes(services.accounts.clone())
        .merge(projects::routes(services.projects))
        .merge(tasks::routes(services.tasks))
        .merge(schedules::routes(services.schedules))
        .merge(runs::routes(services.runs))
        .merge(runs::steering_routes(services.steering))
        .merge(inbox::routes(services.messages))
        .merge(artifacts::routes(services.artifacts.clone()))
        .merge(nodes::routes(services.nodes.clone()))
        .merge(events::routes(services.events))
        .merge(threads::routes(services.chat.clone()))
        .merge(gateway::routes(services.administration.clone()))
        .merge(egress::routes(services.models.clone()))
        .merge(preferences::routes(services.preferences))
        .merge(groups::routes(services.groups))
        .merge(skills::routes(services.skills))
        .merge(status::routes(overview))
        .route_layer(from_fn_with_state(services.accounts.clone(), require_user));
    let runners = workflow::routes(services.workflow)
        .route_layer(from_fn_with_state(services.tokens.clone(), require_runner));
    let joining = node_api::join_routes(services.nodes.clone())
        .route_layer(from_fn_with_state(services.tokens, require_join));
    let nodes = node_api::routes(services.nodes.clone(), services.artifacts)
        .route_layer(from_fn_with_state(services.nodes, require_node));
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(chat::routes(services.chat, services.accounts.clone()))
        .merge(accounts::open_routes(services.accounts))
        .merge(users)
        .merge(egress::agent_routes(services.models.egress, services.administration.agents))
        .merge(runners)
        .merge(joining)
        .merge(nodes)
}

fn overview(services: &Services) -> Overview {
    Overview {
        tasks: services.tasks.clone(),
        nodes: services.nodes.clone(),
        workflow: services.workflow.clone(),
        chat: services.chat.clone(),
        health: services.health.clone(),
        database: services.database,
        version: env!("CARGO_PKG_VERSION"),
        exporter: services.exporter.clone(),
    }
}

/// Where a request came from.
pub(crate) struct Address(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Address {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        Ok(Self(peer.map_or_else(|| "unknown".to_owned(), |peer| peer.0.ip().to_string())))
    }
}
