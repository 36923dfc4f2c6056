//! Chat errors and their codes for clients.

use std::time::Duration;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use tracing::warn;

use super::answer_buffer::clean_for_storage;
use cynode_execution::handoff::HandoffError;
use cynode_models::{egress::EgressError, egress::ProviderError};
use cynode_resources::preferences::PreferenceError;
use cynode_resources::projects::ProjectError;

/// Shown while the project manager is unreachable.
const MANAGER_UNREACHABLE: &str = "the project manager is not reachable; try again shortly, or check it with \
                    `cynork status`";

#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("{message}")]
    Invalid {
        message: String,
        /// The field at fault.
        param: Option<&'static str>,
    },
    /// Also returned if the caller may not see the project.
    #[error("there is no project \"{0}\"")]
    UnknownProject(String),
    /// Also returned if the caller may not use the model.
    #[error("{0}")]
    UnknownModel(String),
    #[error("{0}")]
    Denied(String),
    #[error("{0}")]
    OverBudget(String),
    /// The limit of concurrent turns is reached; retry shortly.
    #[error("too many concurrent chat requests; try again shortly")]
    Busy,
    /// The project manager or the provider is unreachable; retry later.
    #[error("{0}")]
    Unavailable(String),
    /// The provider asked for a delay before the next request.
    #[error("{message}")]
    RetryLater { message: String, retry_after: Duration },
    /// The project manager or the provider failed.
    #[error("{0}")]
    Failed(String),
    #[error("no complete answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The client disconnected or stopped reading.
    #[error("the request was canceled")]
    Canceled,
    /// The process is shutting down; retry shortly.
    #[error("the orchestrator is shutting down; try again shortly")]
    Stopping,
    /// The same request was handed off before and may have had side effects.
    #[error(
        "this request was already handed to the project manager, which may have acted on it: \
         check the result, then send what is left as a new message"
    )]
    AlreadyHandedOff,
    /// Failed after the handoff to the project manager, which may have acted.
    #[error(transparent)]
    FailedAfterHandoff(Box<Self>),
    #[error("the conversation could not be saved")]
    Store(#[from] cynode_store::Error),
}

impl Classified for ChatError {
    fn classify(&self) -> Classification<'_> {
        let class = match self {
            Self::Invalid { .. } | Self::Store(cynode_store::Error::NulCharacter) => {
                ErrorClass::Invalid
            }
            Self::UnknownProject(_) | Self::UnknownModel(_) => ErrorClass::NotFound,
            Self::Denied(_) => ErrorClass::Forbidden,
            Self::OverBudget(_) => ErrorClass::RateLimited,
            Self::AlreadyHandedOff => ErrorClass::Conflict,
            // A turn that was not saved can be repeated, whatever the cause.
            Self::Busy
            | Self::Unavailable(_)
            | Self::RetryLater { .. }
            | Self::Stopping
            | Self::Store(_) => ErrorClass::Unavailable,
            Self::Failed(_) => ErrorClass::UpstreamFailed,
            Self::Timeout(_) => ErrorClass::Timeout,
            Self::Canceled => ErrorClass::Canceled,
            Self::FailedAfterHandoff(error) => return error.classify(),
        };
        Classification::new(class, self)
    }
}

impl ChatError {
    pub(super) fn invalid(param: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), param: Some(param) }
    }

    /// Returns the stable error code for clients.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::Store(cynode_store::Error::NulCharacter) => {
                "invalid_request"
            }
            Self::UnknownProject(_) => "project_not_found",
            Self::UnknownModel(_) => "model_not_found",
            Self::Denied(_) => "permission_denied",
            Self::OverBudget(_) => "insufficient_quota",
            Self::Busy | Self::Unavailable(_) | Self::RetryLater { .. } => "model_unavailable",
            Self::Failed(_) => "orchestrator_inference_failed",
            Self::Timeout(_) => "cynodeai_completion_timeout",
            Self::Canceled => "request_canceled",
            Self::Stopping => "orchestrator_stopping",
            Self::AlreadyHandedOff => "already_handed_over",
            Self::FailedAfterHandoff(error) => error.code(),
            Self::Store(_) => "storage_unavailable",
        }
    }

    /// Returns the outcome stored in the turn record.
    pub(super) const fn outcome(&self) -> &'static str {
        match self {
            Self::Canceled => "canceled",
            Self::Timeout(_) => "timeout",
            Self::FailedAfterHandoff(error) => error.outcome(),
            Self::Invalid { .. }
            | Self::UnknownProject(_)
            | Self::UnknownModel(_)
            | Self::Denied(_)
            | Self::OverBudget(_)
            | Self::Busy
            | Self::Unavailable(_)
            | Self::RetryLater { .. }
            | Self::Failed(_)
            | Self::AlreadyHandedOff
            | Self::Stopping
            | Self::Store(_) => "error",
        }
    }
}

impl From<ProjectError> for ChatError {
    fn from(error: ProjectError) -> Self {
        match error {
            ProjectError::NotFound(project) => Self::UnknownProject(project),
            ProjectError::Store(error) => Self::Store(error),
            error @ (ProjectError::Invalid(_)
            | ProjectError::NoRepository(_)
            | ProjectError::Page(_)) => Self::Invalid { message: error.to_string(), param: None },
        }
    }
}

impl From<PreferenceError> for ChatError {
    fn from(error: PreferenceError) -> Self {
        let PreferenceError::Store(error) = error else { return Self::Failed(error.to_string()) };
        Self::Store(error)
    }
}

impl From<EgressError> for ChatError {
    fn from(error: EgressError) -> Self {
        use EgressError as E;
        let message = error.to_string();
        match error {
            E::NoProvider | E::UnknownModel(_) => Self::UnknownModel(message),
            E::Ambiguous { .. } => Self::invalid("model", message),
            E::Denied(_) => Self::Denied(message),
            E::OverBudget(_) => Self::OverBudget(message),
            E::NoCredential { .. } | E::Credential(_) => Self::Unavailable(message),
            E::Provider { cause, .. } => {
                classify_provider_error(&cause, clean_for_storage(&message))
            }
            E::Preferences(_) => Self::Failed(message),
            E::Aborted(_) => Self::Canceled,
            E::Store(error) => Self::Store(error),
        }
    }
}

/// Classifies a provider failure by what the caller can do about it.
fn classify_provider_error(cause: &ProviderError, message: String) -> ChatError {
    use ProviderError as P;
    if let Some(retry_after) = cause.retry_after() {
        return ChatError::RetryLater { message, retry_after };
    }
    match cause {
        P::RateLimited { .. } | P::Busy | P::CircuitOpen { .. } => ChatError::Unavailable(message),
        P::Rejected { .. } => ChatError::Invalid { message, param: None },
        // Providers echo the rejected credential in their message.
        P::Unauthorized { .. } => {
            ChatError::Failed("the provider rejected the installation's credential".to_owned())
        }
        P::Unavailable { .. }
        | P::Connect { .. }
        | P::Timeout { .. }
        | P::Refused { .. }
        | P::Malformed { .. }
        | P::Truncated
        | P::TooLarge { .. } => ChatError::Failed(message),
    }
}

impl From<HandoffError> for ChatError {
    fn from(error: HandoffError) -> Self {
        use HandoffError as E;
        let message = error.to_string();
        match error {
            // The cause contains details of this machine and is only logged.
            E::Unreachable(_) => {
                warn!(error = message, "project manager unreachable");
                Self::Unavailable(MANAGER_UNREACHABLE.to_owned())
            }
            E::Busy { .. } => Self::Unavailable(message),
            E::Timeout(within) => Self::Timeout(within),
            E::ConnectionLost(_) | E::Failed(_) => Self::Failed(message),
            E::Invalid(_) => Self::Invalid { message, param: None },
            E::Store(error) => Self::Store(error),
        }
    }
}
