//! What a refusal looks like to OpenAI's clients, people's and agents' alike.
//!
//! Start at [`OpenAiError`]. Routes for people name one class of errors (`cynodeai_error`) and tell faults by
//! code; the way out for agents names the classes that model clients know. Which status, class and
//! code an error of `ops` gets is decided here and nowhere else.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use cynode_ops::AccountError;
use cynode_ops::agents::AgentError;
use cynode_ops::chat::ChatError;
use cynode_ops::egress::{EgressError, ProviderError};
use cynode_wire::openai::{CREDENTIAL_CODE, ErrorBody, NO_PROVIDER_CODE};
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use tracing::{error, warn};

/// Where OpenAI's clients look for whether to ask again by themselves, whatever the status is.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
/// The class of every error of the routes for people.
const KIND: &str = "cynodeai_error";

/// A refusal in OpenAI's shape.
#[derive(Debug)]
pub(crate) struct OpenAiError {
    status: StatusCode,
    /// Boxed, since few answers are refusals and all have room for one.
    body: Box<ErrorBody>,
    retry_after_s: Option<u64>,
    /// Whether programs must not ask again by themselves.
    is_final: bool,
}

impl OpenAiError {
    /// A refusal on a route for people. What is away for a moment is asked for again soon.
    pub(crate) fn new(status: StatusCode, message: impl Into<String>, code: &str) -> Self {
        let retry_after_s = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        Self { retry_after_s, ..Self::of_kind(status, message, KIND, code) }
    }

    /// A refusal that names its class.
    pub(crate) fn of_kind(
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

    /// A token came, and nobody knows it.
    pub(crate) fn bad_token() -> Self {
        let message = "the token is unknown, expired or revoked; see: cynork token create";
        Self::new(StatusCode::UNAUTHORIZED, message, "authentication_required")
    }

    /// Whoever asks is none of those whom the way out is for.
    pub(crate) fn not_an_agent(message: &str) -> Self {
        let (status, kind) = (StatusCode::UNAUTHORIZED, "authentication_error");
        Self::of_kind(status, message, kind, "invalid_api_key")
    }

    /// What the framework itself refuses.
    pub(crate) fn of_framework(status: StatusCode) -> Self {
        use StatusCode as S;
        let (message, code) = match status {
            S::NOT_FOUND => (
                "there is no such route here; chat is at /v1/chat/completions and /v1/responses, the \
                 list of models at /v1/models",
                "unknown_url",
            ),
            S::METHOD_NOT_ALLOWED => ("this route does not have that method", "method_not_allowed"),
            S::PAYLOAD_TOO_LARGE => return Self::too_large(),
            S::GATEWAY_TIMEOUT | S::REQUEST_TIMEOUT => {
                ("the answer took too long", "cynodeai_completion_timeout")
            }
            status if status.is_server_error() => {
                ("something failed on our side; the log has the cause", "internal_error")
            }
            _ => ("the request could not be understood", "invalid_request"),
        };
        Self::new(status, message, code)
    }

    fn too_large() -> Self {
        let message = "the body is larger than this route takes";
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message, "request_too_large")
    }

    pub(crate) fn unknown_model(model: &str) -> Self {
        let model: String = model.chars().take(100).collect();
        let message = format!("there is no model \"{model}\", or you may not use it");
        Self::new(StatusCode::NOT_FOUND, message, "model_not_found")
    }

    /// The body, for a stream that has begun.
    pub(crate) fn body(&self) -> &ErrorBody {
        &self.body
    }

    /// Tells programs not to ask again by themselves: it would not help, or do something twice.
    fn once(self) -> Self {
        Self { retry_after_s: None, is_final: true, ..self }
    }

    /// Tells programs when to ask again.
    fn after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Self { retry_after_s: Some(seconds.max(1)), ..self }
    }

    pub(crate) fn at(mut self, param: &str) -> Self {
        self.body.error.param = Some(param.to_owned());
        self
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"cynode\""));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if self.is_final {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }
}

impl From<ChatError> for OpenAiError {
    fn from(error: ChatError) -> Self {
        use ChatError as E;
        if let E::Begun(cause) = error {
            return Self::from(*cause).once();
        }
        let status = match &error {
            E::Invalid { .. } | E::Store(cynode_ops::StoreError::NulCharacter) => {
                StatusCode::BAD_REQUEST
            }
            E::UnknownProject(_) | E::UnknownModel(_) => StatusCode::NOT_FOUND,
            E::Denied(_) => StatusCode::FORBIDDEN,
            E::OverBudget(_) => StatusCode::TOO_MANY_REQUESTS,
            E::Repeated => StatusCode::CONFLICT,
            E::Busy | E::Unavailable(_) | E::Later { .. } | E::Stopping | E::Store(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            E::Failed(_) | E::Begun(_) => StatusCode::BAD_GATEWAY,
            E::Timeout(_) => StatusCode::GATEWAY_TIMEOUT,
            E::Canceled => StatusCode::REQUEST_TIMEOUT,
        };
        if status.is_server_error() {
            warn!(error = &error as &dyn std::error::Error, "a turn of chat failed: {error}");
        }
        let refusal = Self::new(status, error.to_string(), error.code());
        match error {
            E::Invalid { param: Some(param), .. } => refusal.at(param),
            E::UnknownModel(_) => refusal.at("model"),
            E::OverBudget(_) | E::Repeated => refusal.once(),
            E::Later { retry_after, .. } => refusal.after(retry_after),
            E::Invalid { param: None, .. }
            | E::UnknownProject(_)
            | E::Denied(_)
            | E::Busy
            | E::Stopping
            | E::Begun(_)
            | E::Unavailable(_)
            | E::Store(_)
            | E::Failed(_)
            | E::Timeout(_)
            | E::Canceled => refusal,
        }
    }
}

impl From<AccountError> for OpenAiError {
    fn from(refusal: AccountError) -> Self {
        use AccountError as E;
        match refusal {
            E::WrongCredentials => Self::unauthenticated(),
            E::BadToken => Self::bad_token(),
            E::TooManyAttempts => {
                let message = refusal.to_string();
                Self::new(StatusCode::TOO_MANY_REQUESTS, message, "rate_limit_exceeded")
            }
            E::NotAdmin
            | E::Invalid(_)
            | E::HandleTaken(_)
            | E::NoSuchToken
            | E::Page(_)
            | E::Secret(_)
            | E::Store(_) => {
                error!(error = &refusal as &dyn std::error::Error, "a token could not be checked");
                let message = "the token could not be checked: try again shortly";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, message, "storage_unavailable")
            }
        }
    }
}

impl From<AgentError> for OpenAiError {
    fn from(refusal: AgentError) -> Self {
        use AgentError as E;
        match refusal {
            E::BadToken => Self::not_an_agent(&refusal.to_string()),
            E::NotAdmin | E::NotFound | E::Invalid(_) | E::Page(_) | E::Secret(_) | E::Store(_) => {
                error!(error = &refusal as &dyn std::error::Error, "a token could not be checked");
                let message = "the token could not be checked: try again shortly";
                let (status, kind) = (StatusCode::SERVICE_UNAVAILABLE, "server_error");
                let refusal = Self::of_kind(status, message, kind, "storage_unavailable");
                Self { retry_after_s: Some(1), ..refusal }
            }
        }
    }
}

impl From<BytesRejection> for OpenAiError {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return Self::too_large();
        }
        Self::invalid("the body could not be read to its end".to_owned())
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
            // A client must not try again by itself: it would be refused again.
            E::OverBudget(_) => (S::FORBIDDEN, "insufficient_quota", "insufficient_quota"),
            E::NoCredential { .. } | E::Credential(_) => {
                (S::SERVICE_UNAVAILABLE, "server_error", CREDENTIAL_CODE)
            }
            E::Provider { cause, .. } => of_provider(cause),
            E::Preferences(_) => {
                (S::BAD_REQUEST, "invalid_request_error", "preferences_unreadable")
            }
            E::GivenUp(_) => (S::REQUEST_TIMEOUT, "server_error", "request_canceled"),
            E::Store(_) => (S::SERVICE_UNAVAILABLE, "server_error", "storage_unavailable"),
        };
        if status.is_server_error() {
            warn!(error = &error as &dyn std::error::Error, "a model was not asked: {error}");
        }
        let mut refusal = Self::of_kind(status, message, kind, code);
        if let E::Credential(_) = &error {
            "the credential for the provider cannot be used: ask an administrator"
                .clone_into(&mut refusal.body.error.message);
        }
        if let E::Provider { cause, .. } = &error
            && let Some(wait) = cause.retry_after()
        {
            return refusal.after(wait);
        }
        refusal
    }
}

fn of_provider(cause: &ProviderError) -> (StatusCode, &'static str, &'static str) {
    use ProviderError as P;
    use StatusCode as S;
    match cause {
        P::RateLimited { .. } => (S::TOO_MANY_REQUESTS, "rate_limit_error", "rate_limit_exceeded"),
        P::Rejected { .. } => (S::BAD_REQUEST, "invalid_request_error", "provider_rejected"),
        P::Refused { .. } => (S::BAD_REQUEST, "invalid_request_error", "content_filter"),
        P::Unauthorized { .. } => (S::BAD_GATEWAY, "server_error", "provider_unauthorized"),
        P::Timeout { .. } => (S::GATEWAY_TIMEOUT, "server_error", "provider_timeout"),
        P::Unavailable { .. } | P::Connect { .. } | P::Busy | P::Resting { .. } => {
            (S::SERVICE_UNAVAILABLE, "server_error", "provider_unavailable")
        }
        P::Malformed { .. } | P::Truncated | P::TooLarge { .. } => {
            (S::BAD_GATEWAY, "server_error", "provider_failed")
        }
    }
}

#[cfg(test)]
mod tests;
