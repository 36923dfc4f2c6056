//! Submitted work: submit, list, read, answer, override, cancel.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_requests::RequestService;
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use cynode_wire::requests::{
    AnswerRequest, HandBackUnit, InstructUnit, OverrideRequest, RequestQuery, RequestView,
    SubmitRequest, TakeOverUnit,
};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(submit, list))
        .routes(routes!(get))
        .routes(routes!(answer))
        .routes(routes!(override_decisions))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(take_over))
        .routes(routes!(hand_back))
        .routes(routes!(instruct))
}

/// Submits work: it is classified, scoped, planned and carried out by agents, and ends in a branch. 409: a request with the same
/// text is open.
#[utoipa::path(post, path = "/v1/requests", tag = "requests", request_body = SubmitRequest,
    responses((status = 201, body = RequestView), (status = "4XX", body = Problem)))]
async fn submit(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<SubmitRequest>,
) -> Result<(StatusCode, Json<RequestView>), ApiError> {
    Ok((StatusCode::CREATED, Json(requests.submit(&caller, body).await?)))
}

/// Lists requests, newest first; administrators see those of all users.
#[utoipa::path(get, path = "/v1/requests", tag = "requests", params(RequestQuery),
    responses((status = 200, body = Page<RequestView>), (status = "4XX", body = Problem)))]
async fn list(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<RequestQuery>,
) -> Result<Json<Page<RequestView>>, ApiError> {
    Ok(Json(requests.list(&caller, query).await?))
}

/// Returns a request with its decisions, units, attempts, cost and delivery.
#[utoipa::path(get, path = "/v1/requests/{request}", tag = "requests",
    params(("request" = String, Path, description = "id or name")),
    responses((status = 200, body = RequestView), (status = "4XX", body = Problem)))]
async fn get(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(request): PathSegment<NameOrId<TaskId>>,
) -> Result<Json<RequestView>, ApiError> {
    Ok(Json(requests.get(&caller, &request).await?))
}

/// Answers the open question of a request, which goes on or ends.
#[utoipa::path(post, path = "/v1/requests/{request}/answer", tag = "requests", request_body = AnswerRequest,
    params(("request" = String, Path, description = "id or name")),
    responses((status = 200, body = RequestView), (status = "4XX", body = Problem)))]
async fn answer(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(request): PathSegment<NameOrId<TaskId>>,
    JsonBody(body): JsonBody<AnswerRequest>,
) -> Result<Json<RequestView>, ApiError> {
    Ok(Json(requests.answer(&caller, &request, body).await?))
}

/// Sets the kind or the scope of a request, until it is planned.
#[utoipa::path(post, path = "/v1/requests/{request}/override", tag = "requests", request_body = OverrideRequest,
    params(("request" = String, Path, description = "id or name")),
    responses((status = 200, body = RequestView), (status = "4XX", body = Problem)))]
async fn override_decisions(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(request): PathSegment<NameOrId<TaskId>>,
    JsonBody(body): JsonBody<OverrideRequest>,
) -> Result<Json<RequestView>, ApiError> {
    Ok(Json(requests.override_decisions(&caller, &request, body).await?))
}

/// Pauses a request: no attempt starts, and its child tasks are paused. A paused request stays paused, and its agents that go on are instructed to wait.
#[utoipa::path(post, path = "/v1/requests/{request}/pause", tag = "requests",
    params(("request" = String, Path, description = "id or name")),
    responses((status = 200, body = RequestView), (status = "4XX", body = Problem)))]
async fn pause(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(request): PathSegment<NameOrId<TaskId>>,
) -> Result<Json<RequestView>, ApiError> {
    Ok(Json(requests.pause(&caller, &request).await?))
}

/// Resumes a paused request. Agents of another request that are paused are instructed to continue.
#[utoipa::path(post, path = "/v1/requests/{request}/resume", tag = "requests",
    params(("request" = String, Path, description = "id or name")),
    responses((status = 200, body = RequestView), (status = "4XX", body = Problem)))]
async fn resume(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(request): PathSegment<NameOrId<TaskId>>,
) -> Result<Json<RequestView>, ApiError> {
    Ok(Json(requests.resume(&caller, &request).await?))
}

/// Gives a unit to a person: its running attempt is canceled, and no other one starts until it is handed back.
#[utoipa::path(post, path = "/v1/requests/{request}/take-over", tag = "requests", request_body = TakeOverUnit,
    params(("request" = String, Path, description = "id or name")),
    responses((status = 200, body = RequestView), (status = "4XX", body = Problem)))]
async fn take_over(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(request): PathSegment<NameOrId<TaskId>>,
    JsonBody(body): JsonBody<TakeOverUnit>,
) -> Result<Json<RequestView>, ApiError> {
    Ok(Json(requests.take_over(&caller, &request, body).await?))
}

/// Gives a unit back: with the task that has a person's changes it is done, and without one an agent goes on.
#[utoipa::path(post, path = "/v1/requests/{request}/hand-back", tag = "requests", request_body = HandBackUnit,
    params(("request" = String, Path, description = "id or name")),
    responses((status = 200, body = RequestView), (status = "4XX", body = Problem)))]
async fn hand_back(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(request): PathSegment<NameOrId<TaskId>>,
    JsonBody(body): JsonBody<HandBackUnit>,
) -> Result<Json<RequestView>, ApiError> {
    Ok(Json(requests.hand_back(&caller, &request, body).await?))
}

/// Instructs the agent of a unit: it is told with its next tool call. `abort` ends its attempt, `expand_scope` and
/// `reduce_scope` replace it by one with the changed task.
#[utoipa::path(post, path = "/v1/requests/{request}/instruct", tag = "requests", request_body = InstructUnit,
    params(("request" = String, Path, description = "id or name")),
    responses((status = 200, body = RequestView), (status = "4XX", body = Problem)))]
async fn instruct(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(request): PathSegment<NameOrId<TaskId>>,
    JsonBody(body): JsonBody<InstructUnit>,
) -> Result<Json<RequestView>, ApiError> {
    Ok(Json(requests.instruct_unit(&caller, &request, body).await?))
}
