//! Project memory: what a project remembers across tasks, in one profile.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::{MemoryEntryId, ProjectId};
use cynode_domain::name_or_id::NameOrId;
use cynode_resources::Caller;
use cynode_resources::profile_access::{ProfileAccess, ProfileSubject};
use cynode_resources::project_memory::ProjectMemory;
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use cynode_wire::project_memory::{
    AddMemoryEntry, MemoryEntryView, MemoryMatches, MemoryProfileQuery, MemoryQuery,
    MemorySearchQuery, UpdateMemoryEntry,
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
        .routes(routes!(list, add))
        .routes(routes!(search))
        .routes(routes!(get, update, remove))
}

type EntryPath = (NameOrId<ProjectId>, MemoryEntryId);

fn person(caller: Caller, project: NameOrId<ProjectId>, profile: Option<String>) -> ProfileAccess {
    let profile = profile.map(NameOrId::from);
    ProfileAccess { caller, subject: ProfileSubject::Person { project, profile } }
}

/// Lists the entries of a profile's memory, newest first.
#[utoipa::path(get, path = "/v1/projects/{project}/memory", tag = "memory",
    params(("project" = String, Path, description = "id or slug"), MemoryQuery),
    responses((status = 200, body = Page<MemoryEntryView>), (status = "4XX", body = Problem)))]
async fn list(
    State(memory): State<ProjectMemory>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    QueryParams(query): QueryParams<MemoryQuery>,
) -> Result<Json<Page<MemoryEntryView>>, ApiError> {
    let page = query.page();
    let access = person(caller, project, query.profile);
    Ok(Json(memory.list(access, query.kind, &page).await?))
}

/// Adds an entry. A full memory refuses it: nothing is evicted.
#[utoipa::path(post, path = "/v1/projects/{project}/memory", tag = "memory", request_body = AddMemoryEntry,
    params(("project" = String, Path, description = "id or slug"), MemoryProfileQuery),
    responses((status = 201, body = MemoryEntryView), (status = "4XX", body = Problem)))]
async fn add(
    State(memory): State<ProjectMemory>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    QueryParams(query): QueryParams<MemoryProfileQuery>,
    JsonBody(body): JsonBody<AddMemoryEntry>,
) -> Result<(StatusCode, Json<MemoryEntryView>), ApiError> {
    let access = person(caller, project, query.profile);
    Ok((StatusCode::CREATED, Json(memory.add(access, body).await?)))
}

/// Finds the entries that have a word of the query, the best first.
#[utoipa::path(get, path = "/v1/projects/{project}/memory-search", tag = "memory",
    params(("project" = String, Path, description = "id or slug"), MemorySearchQuery),
    responses((status = 200, body = MemoryMatches), (status = "4XX", body = Problem)))]
async fn search(
    State(memory): State<ProjectMemory>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    QueryParams(query): QueryParams<MemorySearchQuery>,
) -> Result<Json<MemoryMatches>, ApiError> {
    let access = person(caller, project, query.profile);
    Ok(Json(memory.search(access, &query.q, query.limit).await?))
}

/// Returns an entry.
#[utoipa::path(get, path = "/v1/projects/{project}/memory/{entry}", tag = "memory",
    params(("project" = String, Path, description = "id or slug"), ("entry" = MemoryEntryId, Path), MemoryProfileQuery),
    responses((status = 200, body = MemoryEntryView), (status = "4XX", body = Problem)))]
async fn get(
    State(memory): State<ProjectMemory>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment((project, entry)): PathSegment<EntryPath>,
    QueryParams(query): QueryParams<MemoryProfileQuery>,
) -> Result<Json<MemoryEntryView>, ApiError> {
    Ok(Json(memory.get(person(caller, project, query.profile), entry).await?))
}

/// Changes an entry. Who changes its text, or promotes it, becomes its author.
#[utoipa::path(patch, path = "/v1/projects/{project}/memory/{entry}", tag = "memory", request_body = UpdateMemoryEntry,
    params(("project" = String, Path, description = "id or slug"), ("entry" = MemoryEntryId, Path), MemoryProfileQuery),
    responses((status = 200, body = MemoryEntryView), (status = "4XX", body = Problem)))]
async fn update(
    State(memory): State<ProjectMemory>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment((project, entry)): PathSegment<EntryPath>,
    QueryParams(query): QueryParams<MemoryProfileQuery>,
    JsonBody(body): JsonBody<UpdateMemoryEntry>,
) -> Result<Json<MemoryEntryView>, ApiError> {
    let access = person(caller, project, query.profile);
    Ok(Json(memory.update(access, entry, body).await?))
}

/// Deletes an entry.
#[utoipa::path(delete, path = "/v1/projects/{project}/memory/{entry}", tag = "memory",
    params(("project" = String, Path, description = "id or slug"), ("entry" = MemoryEntryId, Path), MemoryProfileQuery),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(memory): State<ProjectMemory>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment((project, entry)): PathSegment<EntryPath>,
    QueryParams(query): QueryParams<MemoryProfileQuery>,
) -> Result<StatusCode, ApiError> {
    memory.delete(person(caller, project, query.profile), entry).await?;
    Ok(StatusCode::NO_CONTENT)
}
