//! Middleware of every request: trace id, span, problem bodies for errors, metrics.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use cynode_domain::ids::TraceId;
use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField};
use cynode_runtime::problem::ProblemKind;
use cynode_runtime::trace_recorder::log_event;
use cynode_wire::problem::Problem;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderValue, Method, StatusCode};
use tracing::{Instrument, debug, error, info_span, warn};

use crate::anthropic_error::AnthropicError;
use crate::error::{ApiError, INTERNAL_DETAIL};
use crate::identity::requires_authentication;
use crate::openai_error::OpenAiError;

const TRACE_HEADER: &str = "x-trace-id";
const TRACEPARENT_HEADER: &str = "traceparent";
/// Path prefixes that OpenAI's clients call, implemented or not.
const OPENAI_ROUTES: [&str; 11] = [
    "/v1/audio",
    "/v1/batches",
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/egress/chat",
    "/v1/embeddings",
    "/v1/files",
    "/v1/images",
    "/v1/models",
    "/v1/moderations",
    "/v1/responses",
];
/// Path prefix that Anthropic's clients call.
const ANTHROPIC_ROUTES: &str = "/v1/egress/messages";

pub(crate) async fn handle_request(mut request: Request, next: Next) -> Response {
    let trace = trace_id(&request);
    request.extensions_mut().insert(trace);
    let method = request.method().clone();
    let shape = ErrorFormat::for_path(request.uri().path());
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "unknown".to_owned(), |path| path.as_str().to_owned());
    let span = info_span!("request", trace_id = %trace, http.method = %method, http.route = %route);
    let began = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.in_scope(|| {
        if status.is_client_error() || status.is_server_error() {
            response = render_error(std::mem::take(&mut response), trace, shape);
        }
        debug!(http.status = status.as_u16(), "request served");
    });
    metrics::counter!(
        "cynode_http_requests_total",
        "method" => method_label(&method), "route" => route.clone(), "status" => status.as_str().to_owned(),
    )
    .increment(1);
    metrics::histogram!("cynode_http_request_seconds", "route" => route)
        .record(began.elapsed().as_secs_f64());
    if let Ok(value) = HeaderValue::from_str(&trace.to_string()) {
        response.headers_mut().insert(TRACE_HEADER, value);
    }
    // Responses contain tokens and per-user data.
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().entry(CACHE_CONTROL).or_insert(no_store);
    response
}

/// Maps unknown methods to `other`: clients may send any method, and metric labels are never freed.
fn method_label(method: &Method) -> &'static str {
    let all = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let names = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    all.iter().position(|known| known == method).map_or("other", |index| names[index])
}

/// The trace id that the client sent, as `x-trace-id` or as `traceparent`, or a new one.
fn trace_id(request: &Request) -> TraceId {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let given = header(TRACE_HEADER).and_then(|text| text.parse().ok());
    given
        .or_else(|| parse_traceparent(header(TRACEPARENT_HEADER)?))
        .unwrap_or_else(TraceId::generate)
}

/// Reads the trace id of W3C Trace Context; later versions may have more parts.
fn parse_traceparent(text: &str) -> Option<TraceId> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |part: &str, len| {
        part.len() == len && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_whole = is_hex(version, 2) && is_hex(span, 16) && is_hex(flags, 2) && is_hex(trace, 32);
    let is_null = |part: &str| part.bytes().all(|b| b == b'0');
    let is_extended = version == "00" && parts.next().is_some();
    if !is_whole || version == "ff" || is_extended || is_null(trace) || is_null(span) {
        return None;
    }
    trace.parse().ok()
}

/// The format of errors that the framework raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorFormat {
    Problem,
    OpenAi,
    Anthropic,
}

impl ErrorFormat {
    /// The format of the API that the path belongs to, also for routes of it that are not implemented.
    fn for_path(path: &str) -> Self {
        let is_below = |route: &str| {
            path.strip_prefix(route).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if OPENAI_ROUTES.into_iter().any(is_below) {
            Self::OpenAi
        } else if is_below(ANTHROPIC_ROUTES) {
            Self::Anthropic
        } else {
            Self::Problem
        }
    }
}

/// Adds the headers of a framework error, except those of its body.
fn with_headers(mut response: Response, refused: &Response) -> Response {
    let is_of_body = |name: &HeaderName| *name == CONTENT_TYPE || *name == CONTENT_LENGTH;
    let others = refused.headers().iter().filter(|(name, _)| !is_of_body(name));
    response.headers_mut().extend(others.map(|(name, value)| (name.clone(), value.clone())));
    response
}

/// Renders the body of an error response, including errors of the framework (unknown route, wrong
/// method, body too large, timeout).
fn render_error(mut response: Response, trace: TraceId, shape: ErrorFormat) -> Response {
    let refusal = response.extensions_mut().remove::<ApiError>();
    let is_ours = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/"));
    let refusal = match refusal {
        Some(refusal) => refusal,
        None if is_ours => return response,
        None => match shape {
            ErrorFormat::OpenAi => {
                let error = OpenAiError::from_framework_status(response.status());
                return with_headers(error.into_response(), &response);
            }
            ErrorFormat::Anthropic => {
                let error = OpenAiError::from_framework_status(response.status());
                return with_headers(AnthropicError::from(error).into_response(), &response);
            }
            ErrorFormat::Problem => framework_error(response.status()),
        },
    };
    log_error(&refusal);
    let mut problem: Problem = refusal.kind.problem(refusal.detail);
    problem.instance = Some(trace.to_string());
    problem.errors = refusal.errors;
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let status = response.status();
    *response.body_mut() = Body::from(body);
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if requires_authentication(status) {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"cynode\""));
    }
    if status == StatusCode::TOO_MANY_REQUESTS {
        headers.entry(RETRY_AFTER).or_insert(HeaderValue::from_static("60"));
    }
    response
}

fn log_error(refusal: &ApiError) {
    match &refusal.cause {
        Some(cause) if refusal.kind == ProblemKind::Internal => {
            error!(error = cause.as_ref() as &dyn std::error::Error, "{}", refusal.detail);
            let error = TraceEntry::new(TraceEventKind::Error);
            let error = error.with(TraceField::ErrorKind, "internal");
            log_event(None, TraceActor::Orchestrator, &error);
        }
        Some(cause) => {
            warn!(error = cause.as_ref() as &dyn std::error::Error, "{}", refusal.detail);
        }
        None => debug!("refused: {}", refusal.detail),
    }
}

fn framework_error(status: StatusCode) -> ApiError {
    match status {
        StatusCode::NOT_FOUND => {
            ApiError::new(ProblemKind::NotFound, "there is no such route: see /v1/openapi.json")
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            ApiError::new(ProblemKind::MethodNotAllowed, "this route does not support that method")
        }
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::new(ProblemKind::TooLarge, "the body exceeds the size limit of this route")
        }
        StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => {
            ApiError::new(ProblemKind::Timeout, "the request timed out")
        }
        status if status.is_server_error() => ApiError::new(ProblemKind::Internal, INTERNAL_DETAIL),
        _ => ApiError::new(ProblemKind::Validation, "the request is malformed"),
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use cynode_runtime::telemetry::tracing_capture::TracingCapture;
    use tower::ServiceExt as _;

    use super::*;

    fn fail(kind: ProblemKind) -> ApiError {
        let cause = std::io::Error::other("the disk of ada@example.org is full");
        ApiError::new(kind, "no").caused_by(cause)
    }

    #[tokio::test]
    async fn an_internal_error_is_an_event_of_the_orchestrator_and_a_refusal_is_none() {
        let (capture, _guard) = TracingCapture::start();
        let routes = Router::new()
            .route("/broken", get(async || fail(ProblemKind::Internal)))
            .route("/refused", get(async || fail(ProblemKind::Conflict)))
            .layer(from_fn(handle_request));

        for (path, status) in [("/broken", 500), ("/refused", 409)] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let response = routes.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), status);
        }

        let [line] = &capture.events("error recorded")[..] else { panic!("not one line") };
        assert_eq!((&*line["trace.kind"], &*line["trace.actor"]), ("error", "orchestrator"));
        assert_eq!(line["trace.fields"], r#"{"error_kind":"internal"}"#);
    }
}
