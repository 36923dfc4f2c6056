//! Errors in Anthropic's format.
//!
//! Start at [`AnthropicError`]. It is made from an [`OpenAiError`], so that both model APIs of agents reject the same
//! requests with the same messages; only status and form differ.

use axum::Json;
use axum::response::{IntoResponse, Response};
use cynode_llm_wire::anthropic::MessagesErrorBody;
use http::StatusCode;
use serde_json::Value;

use crate::openai_error::{OpenAiError, PROVIDER_UNAVAILABLE_CODE, QUOTA_CODE, add_retry_headers};

/// Status of `overloaded_error`.
const OVERLOADED: u16 = 529;

/// An error response in Anthropic's format.
#[derive(Debug)]
pub(crate) struct AnthropicError {
    status: StatusCode,
    /// Boxed to keep `Result`s small.
    body: Box<MessagesErrorBody>,
    retry_after_s: Option<u64>,
    /// Whether clients must not retry automatically.
    is_final: bool,
}

impl AnthropicError {
    pub(crate) fn invalid(message: String) -> Self {
        Self::from(OpenAiError::invalid(message))
    }

    /// The body, for a stream that has started.
    pub(crate) fn into_body(self) -> MessagesErrorBody {
        *self.body
    }
}

impl<E: Into<OpenAiError>> From<E> for AnthropicError {
    fn from(error: E) -> Self {
        let error: OpenAiError = error.into();
        let detail = &error.body().error;
        let code = detail.code.as_ref().and_then(Value::as_str).unwrap_or_default();
        // Clients retry 429 unless told not to; a request over budget would be rejected again.
        let is_over_budget = code == QUOTA_CODE;
        let status = match code {
            QUOTA_CODE => StatusCode::TOO_MANY_REQUESTS,
            PROVIDER_UNAVAILABLE_CODE => {
                StatusCode::from_u16(OVERLOADED).unwrap_or(StatusCode::SERVICE_UNAVAILABLE)
            }
            _ => error.status,
        };
        Self {
            status,
            body: Box::new(MessagesErrorBody::new(error_type(status), &detail.message)),
            retry_after_s: error.retry_after_s,
            is_final: error.is_final || is_over_budget,
        }
    }
}

/// The error type that Anthropic documents for a status.
fn error_type(status: StatusCode) -> &'static str {
    use StatusCode as S;
    match status {
        S::UNAUTHORIZED => "authentication_error",
        S::FORBIDDEN => "permission_error",
        S::NOT_FOUND => "not_found_error",
        S::PAYLOAD_TOO_LARGE => "request_too_large",
        S::TOO_MANY_REQUESTS => "rate_limit_error",
        S::GATEWAY_TIMEOUT | S::REQUEST_TIMEOUT => "timeout_error",
        status if status.as_u16() == OVERLOADED => "overloaded_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "api_error",
    }
}

impl IntoResponse for AnthropicError {
    fn into_response(self) -> Response {
        let response = (self.status, Json(self.body)).into_response();
        add_retry_headers(response, self.retry_after_s, self.is_final)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cynode_models::egress::{EgressError, ProviderError, TimeoutPhase};
    use cynode_resources::StoreError;
    use http::header::RETRY_AFTER;

    use super::*;
    use crate::openai_error::SHOULD_RETRY;

    fn failed(cause: ProviderError) -> EgressError {
        EgressError::Provider { provider: "p".to_owned(), cause }
    }

    #[test]
    fn every_error_of_messages_has_the_status_and_type_that_anthropic_documents() {
        use EgressError as E;
        use ProviderError as P;
        let text = || "why".to_owned();
        let full_names = vec!["a/m".to_owned()];
        let framework = |status| OpenAiError::from_framework_status(status).into();
        let wait = Duration::from_secs(7);
        let table: [(AnthropicError, u16, &str); 17] = [
            (AnthropicError::invalid(text()), 400, "invalid_request_error"),
            (OpenAiError::not_an_agent("no").into(), 401, "authentication_error"),
            (E::Denied(text()).into(), 403, "permission_error"),
            (E::NoProvider.into(), 404, "not_found_error"),
            (E::UnknownModel(text()).into(), 404, "not_found_error"),
            (E::Ambiguous { model: text(), full_names }.into(), 400, "invalid_request_error"),
            (framework(StatusCode::METHOD_NOT_ALLOWED), 405, "invalid_request_error"),
            (framework(StatusCode::PAYLOAD_TOO_LARGE), 413, "request_too_large"),
            (framework(StatusCode::GATEWAY_TIMEOUT), 504, "timeout_error"),
            (E::OverBudget(text()).into(), 429, "rate_limit_error"),
            (failed(P::RateLimited { retry_after: Some(wait) }).into(), 429, "rate_limit_error"),
            (failed(P::Busy).into(), 529, "overloaded_error"),
            (failed(P::CircuitOpen { retry_after: wait }).into(), 529, "overloaded_error"),
            (failed(P::Truncated).into(), 502, "api_error"),
            (failed(P::Timeout { phase: TimeoutPhase::FirstByte }).into(), 504, "timeout_error"),
            (E::Store(StoreError::Closed).into(), 503, "api_error"),
            (E::Aborted("stopped").into(), 408, "timeout_error"),
        ];
        for (error, status, kind) in table {
            let message = error.body.error.message.clone();
            assert_eq!(
                (error.status.as_u16(), &*error.body.error.kind),
                (status, kind),
                "{message}"
            );
        }
    }

    #[test]
    fn clients_of_messages_are_told_when_to_retry_and_when_not() {
        let headers = |error: EgressError| {
            let response = AnthropicError::from(error).into_response();
            let header = |name| {
                let value = response.headers().get(name);
                value.map(|value| value.to_str().unwrap().to_owned())
            };
            (header(RETRY_AFTER), header(SHOULD_RETRY))
        };
        let limited = ProviderError::RateLimited { retry_after: Some(Duration::from_secs(7)) };

        assert_eq!(headers(failed(limited)), (Some("7".to_owned()), None));
        let spent = EgressError::OverBudget("spent".to_owned());
        assert_eq!(headers(spent), (None, Some("false".to_owned())));
    }
}
