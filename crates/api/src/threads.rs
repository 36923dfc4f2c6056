//! Conversations, for their owners.

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
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

pub(crate) fn routes(chat: Chat) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get))
        .routes(routes!(append, messages))
        .with_state(chat)
}

/// Begins a thread, which is the one that goes on from now.
#[utoipa::path(post, path = "/v1/chat/threads", tag = "chat", request_body = CreateThread,
    responses((status = 201, body = ThreadView), (status = "4XX", body = Problem)))]
async fn create(
    State(chat): State<Chat>,
    User(caller): User,
    Body(body): Body<CreateThread>,
) -> Result<(StatusCode, Json<ThreadView>), ApiError> {
    Ok((StatusCode::CREATED, Json(chat.thread_create(&caller, body).await?)))
}

/// The caller's own threads, newest first.
#[utoipa::path(get, path = "/v1/chat/threads", tag = "chat", params(ThreadQuery),
    responses((status = 200, body = Page<ThreadView>), (status = "4XX", body = Problem)))]
async fn list(
    State(chat): State<Chat>,
    User(caller): User,
    Params(query): Params<ThreadQuery>,
) -> Result<Json<Page<ThreadView>>, ApiError> {
    Ok(Json(chat.thread_list(&caller, query).await?))
}

/// One of the caller's own threads.
#[utoipa::path(get, path = "/v1/chat/threads/{thread}", tag = "chat",
    params(("thread" = ThreadId, Path)),
    responses((status = 200, body = ThreadView), (status = "4XX", body = Problem)))]
async fn get(
    State(chat): State<Chat>,
    User(caller): User,
    Segment(thread): Segment<ThreadId>,
) -> Result<Json<ThreadView>, ApiError> {
    Ok(Json(chat.thread_get(&caller, thread).await?))
}

/// Keeps something that the user says, without asking for an answer.
#[utoipa::path(post, path = "/v1/chat/threads/{thread}/messages", tag = "chat",
    request_body = AppendMessage, params(("thread" = ThreadId, Path)),
    responses((status = 201, body = ThreadMessageView), (status = "4XX", body = Problem)))]
async fn append(
    State(chat): State<Chat>,
    User(caller): User,
    Segment(thread): Segment<ThreadId>,
    Body(body): Body<AppendMessage>,
) -> Result<(StatusCode, Json<ThreadMessageView>), ApiError> {
    Ok((StatusCode::CREATED, Json(chat.thread_append(&caller, thread, body).await?)))
}

/// What was said in a thread, oldest first.
#[utoipa::path(get, path = "/v1/chat/threads/{thread}/messages", tag = "chat",
    params(("thread" = ThreadId, Path), PageQuery),
    responses((status = 200, body = Page<ThreadMessageView>), (status = "4XX", body = Problem)))]
async fn messages(
    State(chat): State<Chat>,
    User(caller): User,
    Segment(thread): Segment<ThreadId>,
    Params(query): Params<PageQuery>,
) -> Result<Json<Page<ThreadMessageView>>, ApiError> {
    Ok(Json(chat.thread_messages(&caller, thread, &query).await?))
}
