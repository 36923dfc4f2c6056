//! Chat as programs know it: OpenAI's API, with OpenAI's shapes for answers, streams and refusals.
//!
//! Start at `complete`. Everything here, also who is not let in, is answered as OpenAI's clients
//! expect; problems (RFC 9457) are for the rest of the API.

mod sse;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use cynode_domain::ids::TraceId;
use cynode_ops::chat::{Chat, ChatCall};
use cynode_ops::{Accounts, Caller};
use cynode_wire::openai::{ChatCompletion, ChatRequest, ErrorBody, ModelEntry, ModelList};
use http::{HeaderMap, HeaderValue};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use sse::stream_of;

use crate::identity::{User, bearer};
pub(crate) use crate::openai_error::OpenAiError;
use crate::{responses, unreadable};

/// Where OpenAI's clients look for the id to quote in a report.
const REQUEST_ID: &str = "x-request-id";

/// OpenAI's routes, for signed-in users.
pub(crate) fn routes(chat: Chat, accounts: Accounts) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(complete))
        .routes(routes!(models))
        .merge(responses::routes())
        // Names of models hold a slash, which the document cannot describe.
        .route("/v1/models/{*model}", axum::routing::get(model))
        .with_state(chat)
        .route_layer(from_fn_with_state(accounts, require_user))
}

/// Lets a user in by an API token or a session, as every other route does.
async fn require_user(
    State(accounts): State<Accounts>,
    Extension(trace): Extension<TraceId>,
    mut request: Request,
    next: Next,
) -> Result<Response, OpenAiError> {
    let Ok(token) = bearer(request.headers()) else { return Err(OpenAiError::unauthenticated()) };
    let caller = accounts.authenticate(token).await?;
    request.extensions_mut().insert(User(caller));
    let mut response = next.run(request).await;
    if let Ok(id) = HeaderValue::from_str(&trace.to_string()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    Ok(response)
}

/// Asks the project manager (`cynodeai.pm`, or no model) or a model of a provider.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "chat", request_body = ChatRequest,
    params(("OpenAI-Project" = Option<String>, Header, description = "project, by id or slug; the default project when absent")),
    responses((status = 200, body = ChatCompletion, description = "with `stream`, server-sent events"),
              (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody)))]
async fn complete(
    State(chat): State<Chat>,
    User(caller): User,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, OpenAiError> {
    let request: ChatRequest = unreadable::read(&body?)?;
    let call = called(caller, trace, &headers)?;
    if request.stream {
        let pieces = chat.stream(call, request).await?;
        Ok(stream_of(pieces).into_response())
    } else {
        Ok(Json(chat.complete(call, request).await?).into_response())
    }
}

/// The models that the caller may name; the project manager is always among them.
#[utoipa::path(get, path = "/v1/models", tag = "chat",
    responses((status = 200, body = ModelList), (status = "4XX", body = ErrorBody)))]
async fn models(
    State(chat): State<Chat>,
    User(caller): User,
) -> Result<Json<ModelList>, OpenAiError> {
    Ok(Json(chat.models(&caller).await?.into()))
}

/// `GET /v1/models/{model}`: one model that the caller may name.
async fn model(
    State(chat): State<Chat>,
    User(caller): User,
    Path(wanted): Path<String>,
) -> Result<Json<ModelEntry>, OpenAiError> {
    let found = chat.models(&caller).await?.into_iter().find(|model| model.id == wanted);
    found.map(Json).ok_or_else(|| OpenAiError::unknown_model(&wanted))
}

/// Who asks, and where, by the headers that OpenAI's clients send.
pub(crate) fn called(
    caller: Caller,
    trace: TraceId,
    headers: &HeaderMap,
) -> Result<ChatCall, OpenAiError> {
    let project = match headers.get("openai-project").map(HeaderValue::to_str) {
        None => None,
        Some(Ok(project)) if project.trim().is_empty() => {
            let message = "OpenAI-Project is empty: name a project, or leave it out".to_owned();
            return Err(OpenAiError::invalid(message));
        }
        Some(Ok(project)) => Some(project.trim()),
        Some(Err(_)) => return Err(OpenAiError::invalid("OpenAI-Project is not text".to_owned())),
    };
    // OpenAI's own clients count their repetitions.
    let is_repeat = headers.get("x-stainless-retry-count").is_some_and(|count| count != "0");
    Ok(ChatCall {
        caller,
        project: project.map(ToOwned::to_owned),
        trace_id: trace.to_string(),
        is_repeat,
        link: None,
    })
}
