//! Access rules.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::RuleId;
use cynode_resources::rules::AccessRules;
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::rules::{CreateRule, RuleView};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(list))
        .routes(routes!(remove))
        .routes(routes!(changes))
}

/// Adds a rule. Administrators only.
#[utoipa::path(post, path = "/v1/rules", tag = "rules", request_body = CreateRule,
    responses((status = 201, body = RuleView), (status = "4XX", body = Problem)))]
async fn create(
    State(rules): State<AccessRules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateRule>,
) -> Result<(StatusCode, Json<RuleView>), ApiError> {
    Ok((StatusCode::CREATED, Json(rules.create(&caller, body).await?)))
}

/// Lists the rules, oldest first. Administrators only.
#[utoipa::path(get, path = "/v1/rules", tag = "rules",
    responses((status = 200, body = Vec<RuleView>), (status = "4XX", body = Problem)))]
async fn list(
    State(rules): State<AccessRules>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<Vec<RuleView>>, ApiError> {
    Ok(Json(rules.list(&caller).await?))
}

/// Deletes a rule. Administrators only.
#[utoipa::path(delete, path = "/v1/rules/{rule}", tag = "rules",
    params(("rule" = RuleId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(rules): State<AccessRules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(rule): PathSegment<RuleId>,
) -> Result<StatusCode, ApiError> {
    rules.remove(&caller, rule).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the changes of a rule, newest first. Administrators only.
#[utoipa::path(get, path = "/v1/rules/{rule}/changes", tag = "rules",
    params(("rule" = RuleId, Path), PageQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(rules): State<AccessRules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(rule): PathSegment<RuleId>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    Ok(Json(rules.changes(&caller, rule, &query).await?))
}
