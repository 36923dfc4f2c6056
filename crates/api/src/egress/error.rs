//! Refusals of calls to models: as problems for people, in OpenAI's shape for agents.

use axum::Json;
use axum::response::{IntoResponse, Response};
use cynode_ops::credentials::CredentialError;
use cynode_ops::egress::{CallsError, EgressError, ProviderAdminError, ProviderError};
use cynode_runtime::problem::Kind;
use cynode_wire::openai::ErrorBody;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use crate::error::ApiError;

impl From<CredentialError> for ApiError {
    fn from(error: CredentialError) -> Self {
        use CredentialError as E;
        let detail = error.to_string();
        match error {
            E::NotFound => Self::new(Kind::NotFound, detail),
            E::Exists { .. } | E::Conflict => Self::new(Kind::Conflict, detail),
            E::Forbidden(_) => Self::new(Kind::Forbidden, detail),
            E::Invalid(_) => Self::new(Kind::Validation, detail),
            // Whoever sets credentials must hear what to do about the key.
            E::KeyMissing { .. }
            | E::KeyUnknown { .. }
            | E::Unopenable { .. }
            | E::KeyFile { .. }
            | E::SecretFile(_)
            | E::KeyFileUnwritable { .. } => Self::new(Kind::Unavailable, detail).caused_by(error),
            error @ E::Seal(_) => Self::internal(error),
            E::Store(error) => error.into(),
        }
    }
}

impl From<ProviderAdminError> for ApiError {
    fn from(error: ProviderAdminError) -> Self {
        use ProviderAdminError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::Conflict => Self::new(Kind::Conflict, detail),
            E::Invalid(_) | E::Address(_) => Self::new(Kind::Validation, detail),
            E::Egress(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}

impl From<CallsError> for ApiError {
    fn from(error: CallsError) -> Self {
        let detail = error.to_string();
        match error {
            CallsError::Page(_) => Self::new(Kind::Validation, detail),
            CallsError::Store(error) => error.into(),
        }
    }
}

impl From<EgressError> for ApiError {
    fn from(error: EgressError) -> Self {
        use EgressError as E;
        let detail = error.to_string();
        match error {
            E::NoProvider | E::NoCredential { .. } | E::Provider { .. } => {
                Self::new(Kind::Unavailable, detail)
            }
            E::UnknownModel(_) => Self::new(Kind::NotFound, detail),
            E::Ambiguous { .. } => Self::new(Kind::Validation, detail),
            E::Denied(_) | E::OverBudget(_) => Self::new(Kind::Forbidden, detail),
            E::Credential(error) => error.into(),
            E::Preferences(error) => (*error).into(),
            E::Store(error) => error.into(),
        }
    }
}

/// A refusal in the shape that OpenAI's clients read.
pub(super) struct Refusal {
    status: StatusCode,
    body: ErrorBody,
    retry_after_s: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: &str, kind: &str, code: &str) -> Self {
        Self { status, body: ErrorBody::new(message, kind, code), retry_after_s: None }
    }

    /// What is said where the status was sent already.
    pub(super) fn body(&self) -> &ErrorBody {
        &self.body
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"cynode\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<EgressError> for Refusal {
    fn from(error: EgressError) -> Self {
        use EgressError as E;
        use StatusCode as S;
        let message = error.to_string();
        let (status, kind, code) = match &error {
            E::NoProvider | E::UnknownModel(_) => {
                (S::NOT_FOUND, "invalid_request_error", "model_not_found")
            }
            E::Ambiguous { .. } => (S::BAD_REQUEST, "invalid_request_error", "model_ambiguous"),
            E::Denied(_) => (S::FORBIDDEN, "permission_error", "permission_denied"),
            // A client must not try again by itself: it would be refused again.
            E::OverBudget(_) => (S::FORBIDDEN, "insufficient_quota", "insufficient_quota"),
            E::NoCredential { .. } | E::Credential(_) => {
                (S::SERVICE_UNAVAILABLE, "server_error", "credential_unusable")
            }
            E::Provider { cause, .. } => of_provider(cause),
            E::Preferences(_) => {
                (S::BAD_REQUEST, "invalid_request_error", "preferences_unreadable")
            }
            E::Store(_) => (S::SERVICE_UNAVAILABLE, "server_error", "storage_unavailable"),
        };
        let mut refusal = Self::new(status, &message, kind, code);
        if let E::Credential(cause) = &error {
            tracing::error!(error = %cause, "a credential cannot be used");
            "the credential for the provider cannot be used: ask an administrator"
                .clone_into(&mut refusal.body.error.message);
        }
        if let E::Provider { cause, .. } = &error {
            refusal.retry_after_s = cause.retry_after().map(|wait| wait.as_secs().max(1));
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
        P::Unavailable { .. } | P::Connect { .. } | P::Busy | P::Resting => {
            (S::SERVICE_UNAVAILABLE, "server_error", "provider_unavailable")
        }
        P::Malformed { .. } | P::Truncated | P::TooLarge { .. } => {
            (S::BAD_GATEWAY, "server_error", "provider_failed")
        }
    }
}
