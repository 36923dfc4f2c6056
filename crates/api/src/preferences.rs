//! Preferences: wishes about how work is done.

use axum::Json;
use axum::extract::State;
use cynode_domain::preference::{ScopeKind, ValueType};
use cynode_ops::preferences::{PreferenceError, Preferences, Subject};
use cynode_runtime::problem::Kind;
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
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

pub(crate) fn routes(preferences: Preferences) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(put))
        .routes(routes!(remove))
        .routes(routes!(effective))
        .routes(routes!(changes))
        .with_state(preferences)
}

/// Preferences of one scope, by key; the caller's own unless the query says otherwise.
#[utoipa::path(get, path = "/v1/preferences", tag = "preferences",
    params(PreferenceQuery),
    responses((status = 200, body = Page<PreferenceView>), (status = "4XX", body = Problem)))]
async fn list(
    State(preferences): State<Preferences>,
    User(caller): User,
    Params(query): Params<PreferenceQuery>,
) -> Result<Json<Page<PreferenceView>>, ApiError> {
    let PreferenceQuery { scope_type, scope_id, prefix, limit, cursor } = query;
    let scope = (scope_type.unwrap_or(ScopeKind::User), scope_id);
    let page = PageQuery { limit, cursor };
    let prefix = prefix.unwrap_or_default();
    Ok(Json(preferences.list(&caller, scope, &prefix, &page).await?))
}

/// One preference.
#[utoipa::path(get, path = "/v1/preferences/{key}", tag = "preferences",
    params(("key" = String, Path), PreferenceScope),
    responses((status = 200, body = PreferenceView), (status = "4XX", body = Problem)))]
async fn get(
    State(preferences): State<Preferences>,
    User(caller): User,
    Segment(key): Segment<String>,
    Params(scope): Params<PreferenceScope>,
) -> Result<Json<PreferenceView>, ApiError> {
    let wanted = wanted(key, scope.scope_type, scope.scope_id);
    Ok(Json(preferences.get(&caller, wanted).await?))
}

/// Writes a preference, new or not.
#[utoipa::path(put, path = "/v1/preferences/{key}", tag = "preferences",
    request_body = PutPreference, params(("key" = String, Path)),
    responses((status = 200, body = PreferenceView), (status = "4XX", body = Problem)))]
async fn put(
    State(preferences): State<Preferences>,
    User(caller): User,
    Segment(key): Segment<String>,
    Body(body): Body<PutPreference>,
) -> Result<Json<PreferenceView>, ApiError> {
    let wanted = wanted(key, body.scope_type, body.scope_id);
    let write = WritePreference {
        value_type: body.value_type.unwrap_or(ValueType::of(&body.value)),
        value: body.value,
        expected_version: body.expected_version,
        reason: body.reason,
    };
    Ok(Json(preferences.put(&caller, wanted, write).await?))
}

/// Removes a preference: what weaker scopes say shows again.
#[utoipa::path(delete, path = "/v1/preferences/{key}", tag = "preferences",
    params(("key" = String, Path), PreferenceScope),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(preferences): State<Preferences>,
    User(caller): User,
    Segment(key): Segment<String>,
    Params(scope): Params<PreferenceScope>,
) -> Result<StatusCode, ApiError> {
    let wanted = wanted(key, scope.scope_type, scope.scope_id);
    preferences.remove(&caller, wanted, RemovePreference::default()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What holds for a task, a project or the caller, with where each value comes from.
#[utoipa::path(get, path = "/v1/effective-preferences", tag = "preferences",
    params(EffectiveQuery),
    responses((status = 200, body = EffectiveView), (status = "4XX", body = Problem)))]
async fn effective(
    State(preferences): State<Preferences>,
    User(caller): User,
    Params(query): Params<EffectiveQuery>,
) -> Result<Json<EffectiveView>, ApiError> {
    let subject = match (query.task, query.project) {
        (Some(task), _) => Subject::Task(task),
        (None, Some(project)) => Subject::Project(project),
        (None, None) => Subject::Caller,
    };
    Ok(Json(preferences.effective(&caller, subject, true).await?))
}

/// Who changed a preference, newest first: for whoever may write it.
#[utoipa::path(get, path = "/v1/preferences/{key}/changes", tag = "preferences",
    params(("key" = String, Path), PreferenceChangesQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(preferences): State<Preferences>,
    User(caller): User,
    Segment(key): Segment<String>,
    Params(query): Params<PreferenceChangesQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    let PreferenceChangesQuery { scope_type, scope_id, limit, cursor } = query;
    let (wanted, page) = (wanted(key, scope_type, scope_id), PageQuery { limit, cursor });
    Ok(Json(preferences.changes(&caller, wanted, &page).await?))
}

fn wanted(key: String, kind: Option<ScopeKind>, id: Option<uuid::Uuid>) -> PreferenceKey {
    PreferenceKey { scope_type: kind.unwrap_or(ScopeKind::User), scope_id: id, key }
}

impl From<PreferenceError> for ApiError {
    fn from(error: PreferenceError) -> Self {
        use PreferenceError as E;
        let detail = error.to_string();
        match error {
            E::NotFound { .. } => Self::new(Kind::NotFound, detail),
            E::Exists { .. } | E::Conflict { .. } => Self::new(Kind::Conflict, detail),
            E::Forbidden(_) => Self::new(Kind::Forbidden, detail),
            E::Scope(_) | E::Invalid(_) | E::Page(_) => Self::new(Kind::Validation, detail),
            E::Task(error) => error.into(),
            E::Project(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}
