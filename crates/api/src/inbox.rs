//! The inbox: agent messages that wait for a person, and their answers.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::MessageId;
use cynode_ops::AgentMessages;
use cynode_wire::inbox::{AnswerMessage, InboxItem, InboxQuery};
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(answer))
}

/// Lists agent messages that wait for a person, oldest first; administrators see those of all tasks.
#[utoipa::path(get, path = "/v1/inbox", tag = "inbox", params(InboxQuery),
    responses((status = 200, body = Page<InboxItem>), (status = "4XX", body = Problem)))]
async fn list(
    State(messages): State<AgentMessages>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<InboxQuery>,
) -> Result<Json<Page<InboxItem>>, ApiError> {
    Ok(Json(messages.waiting(&caller, query).await?))
}

/// Answers a message; the sender receives the answer as an instruction. Idempotent.
#[utoipa::path(post, path = "/v1/inbox/{message}/answer", tag = "inbox", request_body = AnswerMessage,
    params(("message" = MessageId, Path, description = "id of the message")),
    responses((status = 200, body = InboxItem), (status = "4XX", body = Problem)))]
async fn answer(
    State(messages): State<AgentMessages>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(message): PathSegment<MessageId>,
    JsonBody(body): JsonBody<AnswerMessage>,
) -> Result<Json<InboxItem>, ApiError> {
    Ok(Json(messages.answer(&caller, message, body).await?))
}
