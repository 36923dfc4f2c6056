//! The OpenAI-compatible chat API: OpenAI's formats for responses, streams and errors.
//!
//! Start at `complete`. Every response here, including authentication errors, has the format that OpenAI's
//! clients expect; the rest of the API uses problems (RFC 9457).

mod sse;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use cynode_domain::ids::TraceId;
use cynode_llm_wire::openai::{ChatCompletion, ChatRequest, ErrorBody, ModelEntry, ModelList};
use cynode_ops::{chat::Chat, chat::ChatCall};
use cynode_resources::Caller;
use cynode_resources::request_limits::Requester;
use http::{HeaderMap, HeaderValue};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use sse::sse_stream;

use crate::admission::serve_within_limits;
use crate::identity::{AuthenticatedUser, UserAdmission, bearer_token};
pub(crate) use crate::openai_error::OpenAiError;
use crate::state::ApiState;
use crate::{json_body, responses};

/// Header from which OpenAI's clients read the request id.
const REQUEST_ID: &str = "x-request-id";

/// OpenAI-compatible routes, for signed-in users.
pub(crate) fn routes(admission: UserAdmission) -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(complete))
        .routes(routes!(models))
        .merge(responses::routes())
        // Model names contain a slash, which an OpenAPI path parameter cannot.
        .route("/v1/models/{*model}", axum::routing::get(model))
        .route_layer(from_fn_with_state(admission, require_user))
}

/// Authenticates a user by API token or session; errors have OpenAI's format.
async fn require_user(
    State(admission): State<UserAdmission>,
    Extension(trace): Extension<TraceId>,
    mut request: Request,
    next: Next,
) -> Result<Response, OpenAiError> {
    let Ok(token) = bearer_token(request.headers()) else {
        return Err(OpenAiError::unauthenticated());
    };
    let caller = admission.accounts.authenticate(token).await?;
    let requester = Requester::from(&caller);
    request.extensions_mut().insert(AuthenticatedUser(caller));
    let mut response = serve_within_limits(&admission.limits, requester, request, next).await?;
    if let Ok(id) = HeaderValue::from_str(&trace.to_string()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    Ok(response)
}

/// Creates a chat completion with the project manager (`cynodeai.pm`, or no model) or a model of a provider.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "chat", request_body = ChatRequest,
    params(("OpenAI-Project" = Option<String>, Header, description = "project, by id or slug; the default project when absent")),
    responses((status = 200, body = ChatCompletion, description = "with `stream`, server-sent events"),
              (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody)))]
async fn complete(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, OpenAiError> {
    let request: ChatRequest = json_body::parse_json(&body?)?;
    let call = chat_call(caller, trace, &headers)?;
    if request.stream {
        let chunks = chat.stream(call, request).await?;
        Ok(sse_stream(chunks).into_response())
    } else {
        Ok(Json(chat.complete(call, request).await?).into_response())
    }
}

/// Lists the models available to the caller; always includes the project manager.
#[utoipa::path(get, path = "/v1/models", tag = "chat",
    responses((status = 200, body = ModelList), (status = "4XX", body = ErrorBody)))]
async fn models(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<ModelList>, OpenAiError> {
    Ok(Json(chat.list_models(&caller).await?.into()))
}

/// `GET /v1/models/{model}`: one model available to the caller.
async fn model(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
    Path(name_or_id): Path<String>,
) -> Result<Json<ModelEntry>, OpenAiError> {
    let found = chat.list_models(&caller).await?.into_iter().find(|model| model.id == name_or_id);
    found.map(Json).ok_or_else(|| OpenAiError::unknown_model(&name_or_id))
}

/// Builds the chat call from the caller and the headers that OpenAI's clients send.
pub(crate) fn chat_call(
    caller: Caller,
    trace: TraceId,
    headers: &HeaderMap,
) -> Result<ChatCall, OpenAiError> {
    let project = match headers.get("openai-project").map(HeaderValue::to_str) {
        None => None,
        Some(Ok(project)) if project.trim().is_empty() => {
            let message = "OpenAI-Project is empty: name a project, or omit the header".to_owned();
            return Err(OpenAiError::invalid(message));
        }
        Some(Ok(project)) => Some(project.trim()),
        Some(Err(_)) => return Err(OpenAiError::invalid("OpenAI-Project is not text".to_owned())),
    };
    // OpenAI's clients send their retry count.
    let is_repeat = headers.get("x-stainless-retry-count").is_some_and(|count| count != "0");
    Ok(ChatCall {
        caller,
        project: project.map(ToOwned::to_owned),
        trace_id: trace.to_string(),
        is_repeat,
        link: None,
    })
}
