//! Chat threads, for their owners.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::ThreadId;
use cynode_ops::chat::Chat;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::threads::{
    AppendMessage, CreateThread, ThreadMessageView, ThreadQuery, ThreadView,
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
        .routes(routes!(get))
        .routes(routes!(append, messages))
}

/// Creates a thread and makes it the current one.
#[utoipa::path(post, path = "/v1/chat/threads", tag = "chat", request_body = CreateThread,
    responses((status = 201, body = ThreadView), (status = "4XX", body = Problem)))]
async fn create(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateThread>,
) -> Result<(StatusCode, Json<ThreadView>), ApiError> {
    Ok((StatusCode::CREATED, Json(chat.thread_create(&caller, body).await?)))
}

/// Lists the caller's own threads, newest first.
#[utoipa::path(get, path = "/v1/chat/threads", tag = "chat", params(ThreadQuery),
    responses((status = 200, body = Page<ThreadView>), (status = "4XX", body = Problem)))]
async fn list(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<ThreadQuery>,
) -> Result<Json<Page<ThreadView>>, ApiError> {
    Ok(Json(chat.thread_list(&caller, query).await?))
}

/// Returns one of the caller's own threads.
#[utoipa::path(get, path = "/v1/chat/threads/{thread}", tag = "chat",
    params(("thread" = ThreadId, Path)),
    responses((status = 200, body = ThreadView), (status = "4XX", body = Problem)))]
async fn get(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(thread): PathSegment<ThreadId>,
) -> Result<Json<ThreadView>, ApiError> {
    Ok(Json(chat.thread_get(&caller, thread).await?))
}

/// Appends a user message without requesting an answer.
#[utoipa::path(post, path = "/v1/chat/threads/{thread}/messages", tag = "chat",
    request_body = AppendMessage, params(("thread" = ThreadId, Path)),
    responses((status = 201, body = ThreadMessageView), (status = "4XX", body = Problem)))]
async fn append(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(thread): PathSegment<ThreadId>,
    JsonBody(body): JsonBody<AppendMessage>,
) -> Result<(StatusCode, Json<ThreadMessageView>), ApiError> {
    Ok((StatusCode::CREATED, Json(chat.thread_append(&caller, thread, body).await?)))
}

/// Lists the messages of a thread, oldest first.
#[utoipa::path(get, path = "/v1/chat/threads/{thread}/messages", tag = "chat",
    params(("thread" = ThreadId, Path), PageQuery),
    responses((status = 200, body = Page<ThreadMessageView>), (status = "4XX", body = Problem)))]
async fn messages(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(thread): PathSegment<ThreadId>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<ThreadMessageView>>, ApiError> {
    Ok(Json(chat.thread_messages(&caller, thread, &query).await?))
}
