//! The inbox: messages of agents that wait for a person, and the answers to them.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::MessageId;
use cynode_ops::{MessageError, Messages, WorkError};
use cynode_runtime::problem::Kind;
use cynode_wire::inbox::{AnswerMessage, InboxItem, InboxQuery};
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

pub(crate) fn routes(messages: Messages) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(answer)).with_state(messages)
}

/// Messages of agents that wait for a person, oldest first; administrators see those of all tasks.
#[utoipa::path(get, path = "/v1/inbox", tag = "inbox", params(InboxQuery),
    responses((status = 200, body = Page<InboxItem>), (status = "4XX", body = Problem)))]
async fn list(
    State(messages): State<Messages>,
    User(caller): User,
    Params(query): Params<InboxQuery>,
) -> Result<Json<Page<InboxItem>>, ApiError> {
    Ok(Json(messages.waiting(&caller, query).await?))
}

/// Answers a message: its sender gets the answer as an instruction. The same answer again changes nothing.
#[utoipa::path(post, path = "/v1/inbox/{message}/answer", tag = "inbox", request_body = AnswerMessage,
    params(("message" = MessageId, Path, description = "id of the message")),
    responses((status = 200, body = InboxItem), (status = "4XX", body = Problem)))]
async fn answer(
    State(messages): State<Messages>,
    User(caller): User,
    Segment(message): Segment<MessageId>,
    Body(body): Body<AnswerMessage>,
) -> Result<Json<InboxItem>, ApiError> {
    Ok(Json(messages.answer(&caller, message, body).await?))
}

impl From<MessageError> for ApiError {
    fn from(error: MessageError) -> Self {
        use MessageError as E;
        match error {
            E::NotFound(_) | E::NobodyThere { .. } => Self::new(Kind::NotFound, error.to_string()),
            E::Invalid(faults) => Self::invalid(faults),
            E::Nameless | E::NotTheManager(_) | E::Page(_) => {
                Self::new(Kind::Validation, error.to_string())
            }
            E::OtherRole { .. }
            | E::RoleTaken(_)
            | E::Ended { .. }
            | E::WaitsForHelp(_)
            | E::KeyReused
            | E::TooMany
            | E::Settled(_)
            | E::NotForPeople(_)
            | E::IllegalMove(_) => Self::new(Kind::Conflict, error.to_string()),
            E::Work(fault) => (*fault).into(),
            E::Task(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<WorkError> for ApiError {
    fn from(error: WorkError) -> Self {
        use WorkError as E;
        match error {
            E::NoPlan | E::NotFound(_) => Self::new(Kind::NotFound, error.to_string()),
            E::Invalid(faults) => Self::invalid(faults),
            E::Page(_) => Self::new(Kind::Validation, error.to_string()),
            E::PlanExists
            | E::NotYours { .. }
            | E::Taken(_)
            | E::TooManyRevisions(_)
            | E::IllegalMove(_) => Self::new(Kind::Conflict, error.to_string()),
            E::Message(fault) => fault.into(),
            E::Task(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}
