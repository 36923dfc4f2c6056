//! The only way to a model provider: provider selection, access check, budget, call record.
//!
//! Start at [`Egress::chat`] and [`Egress::stream`]; [`Inference`] identifies the caller and the
//! purpose. `resolve` resolves a model name to candidates in the order of the caller's [`ModelRouting`].
//! Before a request is sent, each candidate is checked against the access rules (`access`) and the
//! budget (ADR 21): the maximum cost of the call (`cost_estimate`) is reserved (`reserve`). `redaction` redacts
//! secrets in the answer.
//!
//! Invariants: no answer is returned before its access decision is persisted; only the outgoing
//! call sees a provider's secret; every call has a row with its outcome, also when the caller
//! disconnects (`call_record`).

mod access;
mod budget;
mod call;
mod call_log;
mod call_record;
mod call_span;
mod candidates;
mod cost_estimate;
mod detached;
mod inference;
mod lanes;
mod price_lookup;
mod prices;
mod probe;
mod providers;
mod record_buffer;
mod redacted_stream;
mod redaction;
mod reserve;
mod resolve;
mod routing;
mod snapshot;
mod structured;
mod timeouts;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::model::ProviderKind;
use cynode_llm_wire::openai::ChatChunk;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::Store;
use futures_util::Stream;

use crate::{credentials::CredentialError, credentials::CredentialManager};
use cynode_resources::Signals;
use cynode_resources::preferences::PreferenceError;
use lanes::LanePool;
use probe::ProbeResults;
use snapshot::EgressSnapshot;

pub use call_log::CallLogError;
pub use cynode_llm::{ProviderError, TimeoutPhase};
pub use cynode_wire::providers::ModelView;
pub use inference::Inference;
pub use price_lookup::PricedModel;
pub use providers::ProviderAdminError;
pub use record_buffer::CallRecordBuffer;
pub use routing::ModelRouting;

#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// Everything is decided by rule. An administrator can add a provider.
    #[error("no model provider is configured; add one: `cynork models add-provider`")]
    NoProvider,
    #[error("no model provider offers \"{0}\"; see `cynork models list`")]
    UnknownModel(String),
    /// The caller must name the model as `provider/model`.
    #[error("several providers offer \"{model}\"; use {}", .full_names.join(" or "))]
    Ambiguous {
        model: String,
        /// Each as `provider/model`.
        full_names: Vec<String>,
    },
    /// Access rules or the provider's row deny every candidate.
    #[error("{0}")]
    Denied(String),
    #[error("{0}")]
    OverBudget(String),
    #[error("no usable credential for provider \"{provider}\"; set one: `cynork creds set`")]
    NoCredential { provider: String, kind: ProviderKind },
    /// The provider failed, and so did every other candidate.
    #[error("provider \"{provider}\": {cause}")]
    Provider { provider: String, cause: ProviderError },
    /// An administrator must repair or replace the credential.
    #[error("the credential for the provider cannot be used: {0}")]
    Credential(#[from] CredentialError),
    #[error("the preferences for this call cannot be read: {0}")]
    Preferences(Box<PreferenceError>),
    /// The stream was aborted before its end.
    #[error("response aborted: {0}")]
    Aborted(&'static str),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for EgressError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NoProvider | Self::NoCredential { .. } => {
                Classification::new(ErrorClass::Unavailable, self)
            }
            Self::Provider { .. } => Classification::new(ErrorClass::UpstreamFailed, self),
            Self::Aborted(_) => Classification::new(ErrorClass::Canceled, self),
            Self::UnknownModel(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Ambiguous { .. } => Classification::new(ErrorClass::Invalid, self),
            Self::Denied(_) | Self::OverBudget(_) => {
                Classification::new(ErrorClass::Forbidden, self)
            }
            Self::Credential(error) => error.classify(),
            Self::Preferences(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

impl EgressError {
    /// Returns whether the next candidate may be tried: no part of an answer was delivered, and the
    /// request itself is not at fault.
    fn may_try_next_provider(&self) -> bool {
        match self {
            Self::Denied(_) | Self::OverBudget(_) | Self::NoCredential { .. } => true,
            Self::Provider { cause, .. } => matches!(
                cause,
                ProviderError::Unavailable { .. }
                    | ProviderError::Connect { .. }
                    | ProviderError::RateLimited { .. }
                    | ProviderError::Busy
                    | ProviderError::CircuitOpen { .. }
                    // Nothing was sent, so another provider cannot cause a double charge.
                    | ProviderError::Timeout { phase: TimeoutPhase::Connect }
            ),
            Self::NoProvider
            | Self::UnknownModel(_)
            | Self::Ambiguous { .. }
            | Self::Credential(_)
            | Self::Preferences(_)
            | Self::Aborted(_)
            | Self::Store(_) => false,
        }
    }
}

/// The chunks of an answer. Dropping the stream cancels the call, which is recorded too.
pub type EgressStream = Pin<Box<dyn Stream<Item = Result<ChatChunk, EgressError>> + Send>>;

/// Calls model providers. Cheap to clone.
#[derive(Clone)]
pub struct Egress {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    credentials: CredentialManager,
    /// Persists records after the caller disconnected.
    tasks: BackgroundTasks,
    lanes: Arc<LanePool>,
    /// The policy snapshot of the latest call.
    snapshot: Arc<Mutex<Option<Arc<EgressSnapshot>>>>,
    /// How each model is made to return a value of a schema.
    probe_results: Arc<ProbeResults>,
    /// Serialises budget reservations.
    budget_lock: Arc<tokio::sync::Mutex<()>>,
}

impl Egress {
    /// Calls the providers configured in `store` with `credentials`. Records of disconnected
    /// callers are persisted on `tasks`.
    pub fn new(
        store: Store,
        clock: SharedClock,
        signals: Signals,
        credentials: CredentialManager,
        tasks: BackgroundTasks,
    ) -> Self {
        let (lanes, snapshot, budget_lock) = (Arc::default(), Arc::default(), Arc::default());
        let probe_results = Arc::default();
        Self {
            store,
            clock,
            signals,
            credentials,
            tasks,
            lanes,
            snapshot,
            probe_results,
            budget_lock,
        }
    }

    /// Sets the timeout for a provider to list its models.
    #[must_use]
    pub fn with_listing_timeout(self, patience: Duration) -> Self {
        Self { lanes: Arc::new(LanePool::with_listing_timeout(patience)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_provider_is_asked_where_nothing_was_sent_or_it_was_turned_away() {
        use ProviderError as P;
        let (text, wait) = (|| "why".to_owned(), std::time::Duration::from_secs(1));
        let table = [
            (P::Unavailable { status: 503, retry_after: None }, true),
            (P::Connect { reason: text() }, true),
            (P::Timeout { phase: TimeoutPhase::Connect }, true),
            (P::RateLimited { retry_after: Some(wait) }, true),
            (P::Busy, true),
            (P::CircuitOpen { retry_after: wait }, true),
            // The provider may be processing the request; another call would be charged twice.
            (P::Timeout { phase: TimeoutPhase::FirstByte }, false),
            (P::Timeout { phase: TimeoutPhase::NextBytes }, false),
            (P::Timeout { phase: TimeoutPhase::WholeAnswer }, false),
            (P::Truncated, false),
            (P::TooLarge { limit: 1 }, false),
            (P::Malformed { reason: text() }, false),
            // Other providers would reject it too, or an operator must act.
            (P::Refused { message: text() }, false),
            (P::Rejected { status: 400, message: text(), code: None }, false),
            (P::Unauthorized { message: text() }, false),
        ];
        for (cause, is_asked) in table {
            let error = EgressError::Provider { provider: "p".to_owned(), cause };
            assert_eq!(error.may_try_next_provider(), is_asked, "{error}");
        }
    }
}
