//! Knowledge: documents of a profile, and the passages that a search finds in them.

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use cynode_domain::ids::ProjectId;
use cynode_domain::name_or_id::NameOrId;
use cynode_resources::Caller;
use cynode_resources::profile_access::{ProfileAccess, ProfileSubject};
use cynode_retrieval::{DocumentContent, DocumentSelection, Knowledge};
use cynode_wire::knowledge::{
    DeleteDocumentsQuery, DeletedDocuments, DocumentQuery, DocumentView, IngestDocuments,
    IngestedDocuments, KnowledgeHits, KnowledgeOverview, KnowledgeProfileQuery,
    KnowledgeSearchQuery,
};
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

/// Several documents of the largest size, as JSON.
const MAX_INGEST_BYTES: usize = 16 * 1024 * 1024;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, ingest, delete).layer(DefaultBodyLimit::max(MAX_INGEST_BYTES)))
        .routes(routes!(search))
        .routes(routes!(overview))
}

fn person(caller: Caller, project: NameOrId<ProjectId>, profile: Option<String>) -> ProfileAccess {
    let profile = profile.map(NameOrId::from);
    ProfileAccess { caller, subject: ProfileSubject::Person { project, profile } }
}

/// Lists the documents of a profile by source and path.
#[utoipa::path(get, path = "/v1/projects/{project}/knowledge", tag = "knowledge",
    params(("project" = String, Path, description = "id or slug"), DocumentQuery),
    responses((status = 200, body = Page<DocumentView>), (status = "4XX", body = Problem)))]
async fn list(
    State(knowledge): State<Knowledge>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    QueryParams(query): QueryParams<DocumentQuery>,
) -> Result<Json<Page<DocumentView>>, ApiError> {
    let page = query.page();
    let selection = DocumentSelection { source: query.source, path: query.path, is_exact: false };
    Ok(Json(knowledge.list(person(caller, project, query.profile), selection, &page).await?))
}

/// Ingests documents into a source. A fault of one is its result, and does not keep the others out. Documents that are
/// stored with the same content are left as they are.
#[utoipa::path(post, path = "/v1/projects/{project}/knowledge", tag = "knowledge", request_body = IngestDocuments,
    params(("project" = String, Path, description = "id or slug"), KnowledgeProfileQuery),
    responses((status = 200, body = IngestedDocuments), (status = "4XX", body = Problem)))]
async fn ingest(
    State(knowledge): State<Knowledge>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    QueryParams(query): QueryParams<KnowledgeProfileQuery>,
    JsonBody(body): JsonBody<IngestDocuments>,
) -> Result<Json<IngestedDocuments>, ApiError> {
    let access = person(caller, project, query.profile);
    let documents = body.documents.into_iter().map(DocumentContent::from).collect();
    Ok(Json(knowledge.ingest(access, &body.source, documents).await?))
}

/// Deletes documents: of a source, at a path, or all of the profile.
#[utoipa::path(delete, path = "/v1/projects/{project}/knowledge", tag = "knowledge",
    params(("project" = String, Path, description = "id or slug"), DeleteDocumentsQuery),
    responses((status = 200, body = DeletedDocuments), (status = "4XX", body = Problem)))]
async fn delete(
    State(knowledge): State<Knowledge>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    QueryParams(query): QueryParams<DeleteDocumentsQuery>,
) -> Result<Json<DeletedDocuments>, ApiError> {
    let access = person(caller, project, query.profile);
    let DeleteDocumentsQuery { source, path, exact, .. } = query;
    let selection = DocumentSelection { source, path, is_exact: exact };
    Ok(Json(knowledge.delete(access, selection, query.all).await?))
}

/// Finds passages, the best first, with scores and citations.
#[utoipa::path(get, path = "/v1/projects/{project}/knowledge-search", tag = "knowledge",
    params(("project" = String, Path, description = "id or slug"), KnowledgeSearchQuery),
    responses((status = 200, body = KnowledgeHits), (status = "4XX", body = Problem)))]
async fn search(
    State(knowledge): State<Knowledge>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    QueryParams(query): QueryParams<KnowledgeSearchQuery>,
) -> Result<Json<KnowledgeHits>, ApiError> {
    let access = person(caller, project, query.profile);
    Ok(Json(knowledge.search(access, &query.q, query.limit).await?))
}

/// What a profile knows: its sources and totals.
#[utoipa::path(get, path = "/v1/projects/{project}/knowledge-sources", tag = "knowledge",
    params(("project" = String, Path, description = "id or slug"), KnowledgeProfileQuery),
    responses((status = 200, body = KnowledgeOverview), (status = "4XX", body = Problem)))]
async fn overview(
    State(knowledge): State<Knowledge>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    QueryParams(query): QueryParams<KnowledgeProfileQuery>,
) -> Result<Json<KnowledgeOverview>, ApiError> {
    Ok(Json(knowledge.overview(person(caller, project, query.profile)).await?))
}
