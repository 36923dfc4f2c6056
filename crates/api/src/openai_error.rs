//! Errors in OpenAI's format, for users and agents.
//!
//! Start at [`OpenAiError`]. User routes have one error type (`cynodeai_error`) and distinguish errors by
//! code; the agents' route has the error types that model clients know, and maps [`EgressError`] by variant
//! because the codes of model clients are finer than its class.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use cynode_domain::error_class::{Classified, ErrorClass};
use cynode_domain::text::truncate_chars;
use cynode_llm_wire::openai::{CREDENTIAL_CODE, ErrorBody, NO_PROVIDER_CODE};
use cynode_models::{egress::EgressError, egress::ProviderError};
use cynode_ops::chat::ChatError;
use cynode_resources::AccountError;
use cynode_resources::agents::AgentTokenError;
use cynode_resources::request_limits::RequestRefusal;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use tracing::{error, warn};

/// Header that tells OpenAI's and Anthropic's clients whether to retry automatically, regardless of the status.
pub(crate) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// Error type of the user routes.
const USER_ERROR_TYPE: &str = "cynodeai_error";
const RATE_LIMIT_CODE: &str = "rate_limit_exceeded";
/// Code of agents' requests over budget.
pub(crate) const QUOTA_CODE: &str = "insufficient_quota";
/// Code if the provider is overloaded or unreachable.
pub(crate) const PROVIDER_UNAVAILABLE_CODE: &str = "provider_unavailable";

/// An error response in OpenAI's format.
#[derive(Debug)]
pub(crate) struct OpenAiError {
    pub(crate) status: StatusCode,
    /// Boxed to keep `Result`s small.
    body: Box<ErrorBody>,
    pub(crate) retry_after_s: Option<u64>,
    /// Whether clients must not retry automatically.
    pub(crate) is_final: bool,
}

impl OpenAiError {
    /// An error of a user route. Status 503 sets `Retry-After`.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>, code: &str) -> Self {
        let retry_after_s = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        Self { retry_after_s, ..Self::with_type(status, message, USER_ERROR_TYPE, code) }
    }

    /// An error with an explicit type.
    pub(crate) fn with_type(
        status: StatusCode,
        message: impl Into<String>,
        kind: &str,
        code: &str,
    ) -> Self {
        let body = Box::new(ErrorBody::new(message, kind, code));
        Self { status, body, retry_after_s: None, is_final: false }
    }

    pub(crate) fn invalid(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message, "invalid_request")
    }

    pub(crate) fn unauthenticated() -> Self {
        let message = "send an API token as `Authorization: Bearer …`; see: cynork token create";
        Self::new(StatusCode::UNAUTHORIZED, message, "authentication_required")
    }

    /// The token is unknown, expired or revoked.
    pub(crate) fn bad_token() -> Self {
        let message = "the token is unknown, expired or revoked; see: cynork token create";
        Self::new(StatusCode::UNAUTHORIZED, message, "authentication_required")
    }

    /// The caller has no agent token.
    pub(crate) fn not_an_agent(message: &str) -> Self {
        let (status, kind) = (StatusCode::UNAUTHORIZED, "authentication_error");
        Self::with_type(status, message, kind, "invalid_api_key")
    }

    /// The agent's user or project has too many requests.
    pub(crate) fn agent_over_limit(refusal: RequestRefusal) -> Self {
        let (status, kind) = (StatusCode::TOO_MANY_REQUESTS, "rate_limit_error");
        Self::with_type(status, refusal.to_string(), kind, RATE_LIMIT_CODE)
            .with_retry_after(Duration::from_secs(refusal.retry_after_seconds))
    }

    /// The token could not be checked; the log gets the cause.
    fn token_check_failed(cause: &(dyn std::error::Error + 'static), kind: &str) -> Self {
        error!(error = cause, "token check failed");
        let message = "the token could not be checked: try again shortly";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let refusal = Self::with_type(status, message, kind, "storage_unavailable");
        Self { retry_after_s: Some(1), ..refusal }
    }

    /// Errors that the framework raises.
    pub(crate) fn from_framework_status(status: StatusCode) -> Self {
        use StatusCode as S;
        let (message, code) = match status {
            S::NOT_FOUND => (
                "there is no such route here; chat is at /v1/chat/completions and /v1/responses, the \
                 list of models at /v1/models",
                "unknown_url",
            ),
            S::METHOD_NOT_ALLOWED => {
                ("this route does not support that method", "method_not_allowed")
            }
            S::PAYLOAD_TOO_LARGE => return Self::too_large(),
            S::GATEWAY_TIMEOUT | S::REQUEST_TIMEOUT => {
                ("the request timed out", "cynodeai_completion_timeout")
            }
            status if status.is_server_error() => {
                ("internal error; the server log has the cause", "internal_error")
            }
            _ => ("the request is malformed", "invalid_request"),
        };
        Self::new(status, message, code)
    }

    fn too_large() -> Self {
        let message = "the body exceeds the size limit of this route";
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message, "request_too_large")
    }

    pub(crate) fn unknown_model(model: &str) -> Self {
        let model = truncate_chars(model, 100);
        let message = format!("there is no model \"{model}\", or you may not use it");
        Self::new(StatusCode::NOT_FOUND, message, "model_not_found")
    }

    /// The body, for a stream that has started.
    pub(crate) fn body(&self) -> &ErrorBody {
        &self.body
    }

    /// Tells clients not to retry automatically: a retry would fail again or repeat a side effect.
    fn without_retry(self) -> Self {
        Self { retry_after_s: None, is_final: true, ..self }
    }

    /// Tells clients when to retry.
    fn with_retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Self { retry_after_s: Some(seconds.max(1)), ..self }
    }

    pub(crate) fn with_param(mut self, param: &str) -> Self {
        self.body.error.param = Some(param.to_owned());
        self
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let response = (self.status, Json(self.body)).into_response();
        add_retry_headers(response, self.retry_after_s, self.is_final)
    }
}

/// Adds the headers that tell clients of models how to authenticate, when to retry, and whether.
pub(crate) fn add_retry_headers(
    mut response: Response,
    retry_after_s: Option<u64>,
    is_final: bool,
) -> Response {
    let is_unauthenticated = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    if is_unauthenticated {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"cynode\""));
    }
    if let Some(seconds) = retry_after_s {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if is_final {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    response
}

impl From<ChatError> for OpenAiError {
    fn from(error: ChatError) -> Self {
        use ChatError as E;
        if let E::FailedAfterHandoff(cause) = error {
            return Self::from(*cause).without_retry();
        }
        let status = status_of(error.classify().class);
        if status.is_server_error() {
            warn!(error = &error as &dyn std::error::Error, "chat turn failed");
        }
        let refusal = Self::new(status, error.to_string(), error.code());
        match error {
            E::Invalid { param: Some(param), .. } => refusal.with_param(param),
            E::UnknownModel(_) => refusal.with_param("model"),
            E::OverBudget(_) | E::AlreadyHandedOff => refusal.without_retry(),
            E::RetryLater { retry_after, .. } => refusal.with_retry_after(retry_after),
            E::Invalid { param: None, .. }
            | E::UnknownProject(_)
            | E::Denied(_)
            | E::Busy
            | E::Stopping
            | E::FailedAfterHandoff(_)
            | E::Unavailable(_)
            | E::Store(_)
            | E::Failed(_)
            | E::Timeout(_)
            | E::Canceled => refusal,
        }
    }
}

/// The status of a class on the user routes.
fn status_of(class: ErrorClass) -> StatusCode {
    use ErrorClass as C;
    match class {
        C::Invalid | C::PolicyViolation => StatusCode::BAD_REQUEST,
        C::Unauthenticated => StatusCode::UNAUTHORIZED,
        C::Forbidden | C::Disabled => StatusCode::FORBIDDEN,
        C::NotFound => StatusCode::NOT_FOUND,
        C::Canceled => StatusCode::REQUEST_TIMEOUT,
        C::Conflict => StatusCode::CONFLICT,
        C::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        C::StorageLimit => StatusCode::UNPROCESSABLE_ENTITY,
        C::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        C::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        C::UpstreamFailed => StatusCode::BAD_GATEWAY,
        C::Unavailable | C::Outage => StatusCode::SERVICE_UNAVAILABLE,
        C::Timeout => StatusCode::GATEWAY_TIMEOUT,
    }
}

impl From<AccountError> for OpenAiError {
    fn from(refusal: AccountError) -> Self {
        let class = refusal.classify().class;
        if class == ErrorClass::Unauthenticated {
            return Self::bad_token();
        }
        if class == ErrorClass::RateLimited {
            return Self::new(status_of(class), refusal.to_string(), RATE_LIMIT_CODE);
        }
        Self::token_check_failed(&refusal, USER_ERROR_TYPE)
    }
}

impl From<RequestRefusal> for OpenAiError {
    fn from(refusal: RequestRefusal) -> Self {
        let status = StatusCode::TOO_MANY_REQUESTS;
        Self::new(status, refusal.to_string(), RATE_LIMIT_CODE)
            .with_retry_after(Duration::from_secs(refusal.retry_after_seconds))
    }
}

impl From<AgentTokenError> for OpenAiError {
    fn from(refusal: AgentTokenError) -> Self {
        if refusal.classify().class == ErrorClass::Unauthenticated {
            return Self::not_an_agent(&refusal.to_string());
        }
        Self::token_check_failed(&refusal, "server_error")
    }
}

impl From<BytesRejection> for OpenAiError {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return Self::too_large();
        }
        Self::invalid("the body is incomplete".to_owned())
    }
}

impl From<EgressError> for OpenAiError {
    fn from(error: EgressError) -> Self {
        use EgressError as E;
        use StatusCode as S;
        let message = error.to_string();
        let (status, kind, code) = match &error {
            E::NoProvider => (S::NOT_FOUND, "invalid_request_error", NO_PROVIDER_CODE),
            E::UnknownModel(_) => (S::NOT_FOUND, "invalid_request_error", "model_not_found"),
            E::Ambiguous { .. } => (S::BAD_REQUEST, "invalid_request_error", "model_ambiguous"),
            E::Denied(_) => (S::FORBIDDEN, "permission_error", "permission_denied"),
            // Not 429: a client that retries automatically would be rejected again.
            E::OverBudget(_) => (S::FORBIDDEN, "insufficient_quota", QUOTA_CODE),
            E::NoCredential { .. } | E::Credential(_) => {
                (S::SERVICE_UNAVAILABLE, "server_error", CREDENTIAL_CODE)
            }
            E::Provider { cause, .. } => provider_error_code(cause),
            E::Preferences(_) => {
                (S::BAD_REQUEST, "invalid_request_error", "preferences_unreadable")
            }
            E::Aborted(_) => (S::REQUEST_TIMEOUT, "server_error", "request_canceled"),
            E::Store(_) => (S::SERVICE_UNAVAILABLE, "server_error", "storage_unavailable"),
        };
        if status.is_server_error() {
            warn!(error = &error as &dyn std::error::Error, "model call failed");
        }
        let mut refusal = Self::with_type(status, message, kind, code);
        if let E::Credential(_) = &error {
            "the credential for the provider cannot be used: ask an administrator"
                .clone_into(&mut refusal.body.error.message);
        }
        if let E::Provider { cause, .. } = &error
            && let Some(wait) = cause.retry_after()
        {
            return refusal.with_retry_after(wait);
        }
        refusal
    }
}

fn provider_error_code(cause: &ProviderError) -> (StatusCode, &'static str, &'static str) {
    use ProviderError as P;
    use StatusCode as S;
    match cause {
        P::RateLimited { .. } => (S::TOO_MANY_REQUESTS, "rate_limit_error", RATE_LIMIT_CODE),
        P::Rejected { .. } => (S::BAD_REQUEST, "invalid_request_error", "provider_rejected"),
        P::Refused { .. } => (S::BAD_REQUEST, "invalid_request_error", "content_filter"),
        P::Unauthorized { .. } => (S::BAD_GATEWAY, "server_error", "provider_unauthorized"),
        P::Timeout { .. } => (S::GATEWAY_TIMEOUT, "server_error", "provider_timeout"),
        P::Unavailable { .. } | P::Connect { .. } | P::Busy | P::CircuitOpen { .. } => {
            (S::SERVICE_UNAVAILABLE, "server_error", PROVIDER_UNAVAILABLE_CODE)
        }
        P::Malformed { .. } | P::Truncated | P::TooLarge { .. } => {
            (S::BAD_GATEWAY, "server_error", "provider_failed")
        }
    }
}

#[cfg(test)]
mod tests;
