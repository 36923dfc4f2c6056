//! Why a turn was refused or failed, and the code that clients tell it by.

use std::time::Duration;

use tracing::warn;

use super::gather::kept;
use crate::egress::{EgressError, ProviderError};
use crate::handoff::HandoffError;
use crate::preferences::PreferenceError;
use crate::projects::ProjectError;

/// What whoever asks is told while there is no project manager.
const AWAY: &str = "the project manager cannot be reached: try again shortly; `cynork status` shows \
                    whether it is there";

/// Why a turn was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The request breaks rules: change it.
    #[error("{message}")]
    Invalid {
        /// What is wrong.
        message: String,
        /// With which field.
        param: Option<&'static str>,
    },
    /// There is no such project, or the caller may not see it.
    #[error("there is no project \"{0}\"")]
    UnknownProject(String),
    /// There is no such model, or the caller may not use it: list the models.
    #[error("{0}")]
    UnknownModel(String),
    /// The caller may not.
    #[error("{0}")]
    Denied(String),
    /// The budget is spent.
    #[error("{0}")]
    OverBudget(String),
    /// As many turns are open as may be: ask again shortly.
    #[error("too many conversations are going on: try again shortly")]
    Busy,
    /// Whoever should answer is not there: ask again later.
    #[error("{0}")]
    Unavailable(String),
    /// Whoever should answer is to be left alone for so long: ask again then.
    #[error("{message}")]
    Later {
        /// Why.
        message: String,
        /// How long.
        retry_after: Duration,
    },
    /// Whoever should answer failed.
    #[error("{0}")]
    Failed(String),
    /// The answer took too long.
    #[error("the answer took longer than {} s", .0.as_secs())]
    Timeout(Duration),
    /// The reader went away, or did not read.
    #[error("the request was canceled")]
    Canceled,
    /// The process stops: ask again shortly.
    #[error("the orchestrator stops: try again shortly")]
    Stopping,
    /// The same was handed to the project manager before, who may have acted: look before asking again.
    #[error(
        "this was handed to the project manager before, who may have acted on it: see what came of \
         it, then say anew what is still to be done"
    )]
    Repeated,
    /// It failed after the project manager was asked, who may have acted: look before asking again.
    #[error(transparent)]
    Begun(Box<Self>),
    /// The database does not answer.
    #[error("the conversation could not be kept")]
    Store(#[from] cynode_store::Error),
}

impl ChatError {
    /// A request that breaks rules.
    pub(super) fn invalid(param: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), param: Some(param) }
    }

    /// What programs tell it by.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::Store(cynode_store::Error::NulCharacter) => {
                "invalid_request"
            }
            Self::UnknownProject(_) => "project_not_found",
            Self::UnknownModel(_) => "model_not_found",
            Self::Denied(_) => "permission_denied",
            Self::OverBudget(_) => "insufficient_quota",
            Self::Busy | Self::Unavailable(_) | Self::Later { .. } => "model_unavailable",
            Self::Failed(_) => "orchestrator_inference_failed",
            Self::Timeout(_) => "cynodeai_completion_timeout",
            Self::Canceled => "request_canceled",
            Self::Stopping => "orchestrator_stopping",
            Self::Repeated => "already_handed_over",
            Self::Begun(error) => error.code(),
            Self::Store(_) => "storage_unavailable",
        }
    }

    /// What the record calls it.
    pub(super) const fn outcome(&self) -> &'static str {
        match self {
            Self::Canceled => "canceled",
            Self::Timeout(_) => "timeout",
            Self::Begun(error) => error.outcome(),
            Self::Invalid { .. }
            | Self::UnknownProject(_)
            | Self::UnknownModel(_)
            | Self::Denied(_)
            | Self::OverBudget(_)
            | Self::Busy
            | Self::Unavailable(_)
            | Self::Later { .. }
            | Self::Failed(_)
            | Self::Repeated
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
            error @ (ProjectError::Invalid(_) | ProjectError::Page(_)) => {
                Self::Invalid { message: error.to_string(), param: None }
            }
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
            E::Provider { cause, .. } => failed(&cause, kept(&message)),
            E::Preferences(_) => Self::Failed(message),
            E::GivenUp(_) => Self::Canceled,
            E::Store(error) => Self::Store(error),
        }
    }
}

/// A failure of a provider, by what the caller can do about it.
fn failed(cause: &ProviderError, message: String) -> ChatError {
    use ProviderError as P;
    if let Some(retry_after) = cause.retry_after() {
        return ChatError::Later { message, retry_after };
    }
    match cause {
        P::RateLimited { .. } | P::Busy | P::Resting { .. } => ChatError::Unavailable(message),
        P::Rejected { .. } => ChatError::Invalid { message, param: None },
        // Providers repeat the credential that they do not accept.
        P::Unauthorized { .. } => ChatError::Failed(
            "the provider does not accept the installation's credential".to_owned(),
        ),
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
            // Why it is away tells of this machine, and is for its log.
            E::Away(_) => {
                warn!("{message}");
                Self::Unavailable(AWAY.to_owned())
            }
            E::Busy { .. } => Self::Unavailable(message),
            E::Timeout(within) => Self::Timeout(within),
            E::Lost(_) | E::Failed(_) => Self::Failed(message),
            E::Invalid(_) => Self::Invalid { message, param: None },
            E::Store(error) => Self::Store(error),
        }
    }
}
