//! Preferences, by scope.

use axum::Json;
use axum::extract::State;
use cynode_domain::preference::{ScopeKind, ValueType};
use cynode_resources::preferences::{PreferenceService, PreferenceSubject};
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::preferences::{
    EffectiveQuery, EffectiveView, PreferenceChangesQuery, PreferenceKey, PreferenceQuery,
    PreferenceScope, PreferenceView, PutPreference, RemovePreference, WritePreference,
};
use cynode_wire::problem::Problem;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(put))
        .routes(routes!(remove))
        .routes(routes!(effective))
        .routes(routes!(changes))
}

/// Lists the preferences of a scope by key; by default the caller's own.
#[utoipa::path(get, path = "/v1/preferences", tag = "preferences",
    params(PreferenceQuery),
    responses((status = 200, body = Page<PreferenceView>), (status = "4XX", body = Problem)))]
async fn list(
    State(preferences): State<PreferenceService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<PreferenceQuery>,
) -> Result<Json<Page<PreferenceView>>, ApiError> {
    let PreferenceQuery { scope_type, scope_id, prefix, limit, cursor } = query;
    let kind = scope_type.unwrap_or(ScopeKind::User);
    let page = PageQuery { limit, cursor };
    let prefix = prefix.unwrap_or_default();
    Ok(Json(preferences.list(&caller, kind, scope_id, &prefix, &page).await?))
}

/// Returns a preference.
#[utoipa::path(get, path = "/v1/preferences/{key}", tag = "preferences",
    params(("key" = String, Path), PreferenceScope),
    responses((status = 200, body = PreferenceView), (status = "4XX", body = Problem)))]
async fn get(
    State(preferences): State<PreferenceService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(key): PathSegment<String>,
    QueryParams(scope): QueryParams<PreferenceScope>,
) -> Result<Json<PreferenceView>, ApiError> {
    let preference = preference_key(key, scope.scope_type, scope.scope_id);
    Ok(Json(preferences.get(&caller, preference).await?))
}

/// Creates or replaces a preference.
#[utoipa::path(put, path = "/v1/preferences/{key}", tag = "preferences",
    request_body = PutPreference, params(("key" = String, Path)),
    responses((status = 200, body = PreferenceView), (status = "4XX", body = Problem)))]
async fn put(
    State(preferences): State<PreferenceService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(key): PathSegment<String>,
    JsonBody(body): JsonBody<PutPreference>,
) -> Result<Json<PreferenceView>, ApiError> {
    let preference = preference_key(key, body.scope_type, body.scope_id);
    let write = WritePreference {
        value_type: body.value_type.unwrap_or(ValueType::type_of(&body.value)),
        value: body.value,
        expected_version: body.expected_version,
        reason: body.reason,
    };
    Ok(Json(preferences.put(&caller, preference, write).await?))
}

/// Deletes a preference; values of lower-precedence scopes apply again.
#[utoipa::path(delete, path = "/v1/preferences/{key}", tag = "preferences",
    params(("key" = String, Path), PreferenceScope),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(preferences): State<PreferenceService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(key): PathSegment<String>,
    QueryParams(scope): QueryParams<PreferenceScope>,
) -> Result<StatusCode, ApiError> {
    let preference = preference_key(key, scope.scope_type, scope.scope_id);
    preferences.remove(&caller, preference, RemovePreference::default()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the effective preferences of a task, a project or the caller, with the scope of each value.
#[utoipa::path(get, path = "/v1/effective-preferences", tag = "preferences",
    params(EffectiveQuery),
    responses((status = 200, body = EffectiveView), (status = "4XX", body = Problem)))]
async fn effective(
    State(preferences): State<PreferenceService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<EffectiveQuery>,
) -> Result<Json<EffectiveView>, ApiError> {
    let subject = match (query.task, query.project) {
        (Some(task), _) => PreferenceSubject::Task(task),
        (None, Some(project)) => PreferenceSubject::Project(project),
        (None, None) => PreferenceSubject::Caller,
    };
    Ok(Json(preferences.effective(&caller, subject, true).await?))
}

/// Lists the changes of a preference, newest first. For callers who may write it.
#[utoipa::path(get, path = "/v1/preferences/{key}/changes", tag = "preferences",
    params(("key" = String, Path), PreferenceChangesQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(preferences): State<PreferenceService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(key): PathSegment<String>,
    QueryParams(query): QueryParams<PreferenceChangesQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    let PreferenceChangesQuery { scope_type, scope_id, limit, cursor } = query;
    let (preference, page) =
        (preference_key(key, scope_type, scope_id), PageQuery { limit, cursor });
    Ok(Json(preferences.changes(&caller, preference, &page).await?))
}

fn preference_key(key: String, kind: Option<ScopeKind>, id: Option<uuid::Uuid>) -> PreferenceKey {
    PreferenceKey { scope_type: kind.unwrap_or(ScopeKind::User), scope_id: id, key }
}
