//! What a refusal looks like to OpenAI's clients.

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use cynode_ops::AccountError;
use cynode_ops::chat::ChatError;
use cynode_wire::openai::ErrorBody;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use tracing::{error, warn};

/// The class of every error, as clients of this API know it.
const KIND: &str = "cynodeai_error";

/// A refusal in OpenAI's shape.
#[derive(Debug)]
pub(crate) struct OpenAiError {
    status: StatusCode,
    body: ErrorBody,
}

impl OpenAiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>, code: &str) -> Self {
        Self { status, body: ErrorBody::new(message, KIND, code) }
    }

    pub(crate) fn invalid(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message, "invalid_request")
    }

    pub(crate) fn unauthenticated() -> Self {
        let message = "send an API token as `Authorization: Bearer …`; see: cynork token create";
        Self::new(StatusCode::UNAUTHORIZED, message, "authentication_required")
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
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"cynode\""));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<ChatError> for OpenAiError {
    fn from(error: ChatError) -> Self {
        use ChatError as E;
        let status = match &error {
            E::Invalid { .. } | E::Store(cynode_ops::StoreError::NulCharacter) => {
                StatusCode::BAD_REQUEST
            }
            E::UnknownProject(_) | E::UnknownModel(_) => StatusCode::NOT_FOUND,
            E::Denied(_) => StatusCode::FORBIDDEN,
            E::OverBudget(_) => StatusCode::TOO_MANY_REQUESTS,
            E::Busy | E::Unavailable(_) | E::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            E::Failed(_) => StatusCode::BAD_GATEWAY,
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
            E::Invalid { param: None, .. }
            | E::UnknownProject(_)
            | E::Denied(_)
            | E::OverBudget(_)
            | E::Busy
            | E::Unavailable(_)
            | E::Store(_)
            | E::Failed(_)
            | E::Timeout(_)
            | E::Canceled => refusal,
        }
    }
}

impl OpenAiError {
    fn at(mut self, param: &str) -> Self {
        self.body = self.body.at(param);
        self
    }
}

impl From<AccountError> for OpenAiError {
    fn from(refusal: AccountError) -> Self {
        use AccountError as E;
        match refusal {
            E::WrongCredentials | E::BadToken => Self::unauthenticated(),
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

impl From<BytesRejection> for OpenAiError {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            let message = "the body is larger than this route takes";
            return Self::new(StatusCode::PAYLOAD_TOO_LARGE, message, "request_too_large");
        }
        Self::invalid("the body could not be read to its end".to_owned())
    }
}
