//! The one way out to models: which provider, whether it may be asked, at what cost, on record.
//!
//! Start at [`Egress::chat`] and [`Egress::stream`]; [`Inference`] says who asks and for what. A name of
//! a model becomes candidates in the order of the caller's [`Routing`] (`choose`); each is held against
//! access rules (`decide`) and the budget (ADR 21) before anything is sent, for which the most that the call may
//! cost (`tariff`) is set aside (`afford`); its answer is looked through for secrets (`scan`).
//!
//! Invariants: no answer is given out whose decision is not on record; secrets of providers are seen
//! by nobody but the call itself; every call has a row that says what came of it, also when whoever
//! asked went away (`record`).

mod afford;
mod apart;
mod budget;
mod call;
mod choose;
mod decide;
mod inference;
mod lanes;
mod look;
mod offers;
mod pieces;
mod prices;
mod probe;
mod providers;
mod record;
mod routing;
mod scan;
mod snapshot;
mod structured;
mod tab;
mod tariff;
mod timeouts;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cynode_domain::model::ProviderKind;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::Tasks;
use cynode_store::Store;
use cynode_wire::openai::ChatChunk;
use futures_util::Stream;

use crate::Signals;
use crate::credentials::{CredentialError, Credentials};
use crate::preferences::PreferenceError;
use lanes::Lanes;
use probe::Structures;
use snapshot::Snapshot;

pub use cynode_llm::{Phase, ProviderError};
pub use cynode_wire::providers::ModelView;
pub use inference::Inference;
pub use look::CallsError;
pub use providers::ProviderAdminError;
pub use routing::Routing;
pub use tab::Tab;

/// Why a model was not asked, or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// There is no provider: everything works by rule. An administrator can add one.
    #[error("no model provider is configured; see: cynork models add-provider")]
    NoProvider,
    /// No provider offers such a model.
    #[error("no model provider offers \"{0}\"")]
    UnknownModel(String),
    /// Several providers offer a model of that name: say which, as `provider/model`.
    #[error("several providers offer \"{model}\": say {}", .full_names.join(" or "))]
    Ambiguous {
        /// The name that was given.
        model: String,
        /// The full names.
        full_names: Vec<String>,
    },
    /// The installation does not let the caller use any provider that could answer.
    #[error("{0}")]
    Denied(String),
    /// The budget is spent.
    #[error("{0}")]
    OverBudget(String),
    /// The provider needs a credential, and the caller has none.
    #[error("there is no usable credential for provider \"{provider}\"; see: cynork creds set")]
    NoCredential {
        /// The provider.
        provider: String,
        /// What it speaks.
        kind: ProviderKind,
    },
    /// The provider failed; those that could have answered instead failed too.
    #[error("provider \"{provider}\": {cause}")]
    Provider {
        /// The provider.
        provider: String,
        /// What went wrong.
        cause: ProviderError,
    },
    /// The credential of the provider cannot be used: an administrator must look.
    #[error("the credential for the provider cannot be used: {0}")]
    Credential(#[from] CredentialError),
    /// The caller's preferences cannot be read.
    #[error("the preferences for this call cannot be read: {0}")]
    Preferences(Box<PreferenceError>),
    /// The answer was given up before its end.
    #[error("the answer was given up: {0}")]
    GivenUp(&'static str),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl EgressError {
    /// Whether another provider may be asked instead: nothing of an answer was given out, and the
    /// request itself is not at fault.
    fn is_about_the_provider(&self) -> bool {
        match self {
            Self::Denied(_) | Self::OverBudget(_) | Self::NoCredential { .. } => true,
            Self::Provider { cause, .. } => matches!(
                cause,
                ProviderError::Unavailable { .. }
                    | ProviderError::Connect { .. }
                    | ProviderError::RateLimited { .. }
                    | ProviderError::Busy
                    | ProviderError::Resting { .. }
                    // Nothing was sent. It was waited for long enough, and is not asked again.
                    | ProviderError::Timeout { phase: Phase::Connect }
            ),
            Self::NoProvider
            | Self::UnknownModel(_)
            | Self::Ambiguous { .. }
            | Self::Credential(_)
            | Self::Preferences(_)
            | Self::GivenUp(_)
            | Self::Store(_) => false,
        }
    }
}

/// The pieces of an answer. Dropping it gives the call up, which is recorded too.
pub type EgressStream = Pin<Box<dyn Stream<Item = Result<ChatChunk, EgressError>> + Send>>;

/// Asks models. Cheap to clone.
#[derive(Clone)]
pub struct Egress {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    credentials: Credentials,
    /// For what must be written after a caller went away.
    tasks: Tasks,
    lanes: Arc<Lanes>,
    /// What calls were last decided by.
    snapshot: Arc<Mutex<Option<Arc<Snapshot>>>>,
    /// How each model is made to answer with a value of a schema.
    structures: Arc<Structures>,
    /// Held while money is set aside.
    purse: Arc<tokio::sync::Mutex<()>>,
}

impl Egress {
    /// Asks providers kept in `store` with `credentials`; what must be written after a caller went away
    /// is left to `tasks`.
    pub fn new(
        store: Store,
        clock: SharedClock,
        signals: Signals,
        credentials: Credentials,
        tasks: Tasks,
    ) -> Self {
        let (lanes, snapshot, purse) = (Arc::default(), Arc::default(), Arc::default());
        let structures = Arc::default();
        Self { store, clock, signals, credentials, tasks, lanes, snapshot, structures, purse }
    }

    /// The same, but a provider may take so long to say which models it offers.
    #[must_use]
    pub fn listing_within(self, patience: Duration) -> Self {
        Self { lanes: Arc::new(Lanes::listing_within(patience)), ..self }
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
            (P::Timeout { phase: Phase::Connect }, true),
            (P::RateLimited { retry_after: Some(wait) }, true),
            (P::Busy, true),
            (P::Resting { retry_after: wait }, true),
            // It may be at work on them, and would be paid twice.
            (P::Timeout { phase: Phase::Begin }, false),
            (P::Timeout { phase: Phase::GoOn }, false),
            (P::Timeout { phase: Phase::Finish }, false),
            (P::Truncated, false),
            (P::TooLarge { limit: 1 }, false),
            (P::Malformed { reason: text() }, false),
            // Others would say the same, or people must know.
            (P::Refused { message: text() }, false),
            (P::Rejected { status: 400, message: text(), code: None }, false),
            (P::Unauthorized { message: text() }, false),
        ];
        for (cause, is_asked) in table {
            let error = EgressError::Provider { provider: "p".to_owned(), cause };
            assert_eq!(error.is_about_the_provider(), is_asked, "{error}");
        }
    }
}
