//! Schedules.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::ScheduleId;
use cynode_domain::name_or_id::NameOrId;
use cynode_ops::schedules::Schedules;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::schedules::{
    CreateSchedule, ScheduleQuery, ScheduleRunView, ScheduleView, UpdateSchedule,
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
        .routes(routes!(create, list))
        .routes(routes!(get, update, delete))
        .routes(routes!(fire))
        .routes(routes!(skip_next))
        .routes(routes!(runs))
}

/// Creates a schedule.
#[utoipa::path(post, path = "/v1/schedules", tag = "schedules", request_body = CreateSchedule,
    responses((status = 201, body = ScheduleView), (status = "4XX", body = Problem)))]
async fn create(
    State(schedules): State<Schedules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateSchedule>,
) -> Result<(StatusCode, Json<ScheduleView>), ApiError> {
    Ok((StatusCode::CREATED, Json(schedules.create(&caller, body).await?)))
}

/// Lists the caller's schedules, newest first; administrators see all.
#[utoipa::path(get, path = "/v1/schedules", tag = "schedules", params(ScheduleQuery),
    responses((status = 200, body = Page<ScheduleView>), (status = "4XX", body = Problem)))]
async fn list(
    State(schedules): State<Schedules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<ScheduleQuery>,
) -> Result<Json<Page<ScheduleView>>, ApiError> {
    Ok(Json(schedules.list(&caller, &query).await?))
}

/// Returns a schedule by id or name.
#[utoipa::path(get, path = "/v1/schedules/{schedule}", tag = "schedules",
    params(("schedule" = String, Path, description = "id or name")),
    responses((status = 200, body = ScheduleView), (status = "4XX", body = Problem)))]
async fn get(
    State(schedules): State<Schedules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(schedule): PathSegment<NameOrId<ScheduleId>>,
) -> Result<Json<ScheduleView>, ApiError> {
    Ok(Json(schedules.get(&caller, &schedule).await?))
}

/// Updates the fields set in the body; `enabled` pauses and resumes.
#[utoipa::path(patch, path = "/v1/schedules/{schedule}", tag = "schedules", request_body = UpdateSchedule,
    params(("schedule" = String, Path, description = "id or name")),
    responses((status = 200, body = ScheduleView), (status = "4XX", body = Problem)))]
async fn update(
    State(schedules): State<Schedules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(schedule): PathSegment<NameOrId<ScheduleId>>,
    JsonBody(body): JsonBody<UpdateSchedule>,
) -> Result<Json<ScheduleView>, ApiError> {
    Ok(Json(schedules.update(&caller, &schedule, body).await?))
}

/// Deletes a schedule and its runs; keeps the tasks it created.
#[utoipa::path(delete, path = "/v1/schedules/{schedule}", tag = "schedules",
    params(("schedule" = String, Path, description = "id or name")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn delete(
    State(schedules): State<Schedules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(schedule): PathSegment<NameOrId<ScheduleId>>,
) -> Result<StatusCode, ApiError> {
    schedules.delete(&caller, &schedule).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Fires a schedule now; the next due time is unchanged.
#[utoipa::path(post, path = "/v1/schedules/{schedule}/fire", tag = "schedules",
    params(("schedule" = String, Path, description = "id or name")),
    responses((status = 200, body = ScheduleRunView), (status = "4XX", body = Problem)))]
async fn fire(
    State(schedules): State<Schedules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(schedule): PathSegment<NameOrId<ScheduleId>>,
) -> Result<Json<ScheduleRunView>, ApiError> {
    Ok(Json(schedules.fire(&caller, &schedule).await?))
}

/// Skips the next due time.
#[utoipa::path(post, path = "/v1/schedules/{schedule}/skip-next", tag = "schedules",
    params(("schedule" = String, Path, description = "id or name")),
    responses((status = 200, body = ScheduleView), (status = "4XX", body = Problem)))]
async fn skip_next(
    State(schedules): State<Schedules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(schedule): PathSegment<NameOrId<ScheduleId>>,
) -> Result<Json<ScheduleView>, ApiError> {
    Ok(Json(schedules.skip_next(&caller, &schedule).await?))
}

/// Lists the runs of a schedule and their outcomes, newest first.
#[utoipa::path(get, path = "/v1/schedules/{schedule}/runs", tag = "schedules",
    params(("schedule" = String, Path, description = "id or name"), PageQuery),
    responses((status = 200, body = Page<ScheduleRunView>), (status = "4XX", body = Problem)))]
async fn runs(
    State(schedules): State<Schedules>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(schedule): PathSegment<NameOrId<ScheduleId>>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<ScheduleRunView>>, ApiError> {
    Ok(Json(schedules.runs(&caller, &schedule, &query).await?))
}
