//! The one way out to models: which provider, whether it may be asked, at what cost, on record.
//!
//! Start at [`Egress::chat`] and [`Egress::stream`]; [`Inference`] says who asks and for what. A name of
//! a model becomes candidates in the order of the caller's [`Routing`] (`choose`); each is held against
//! access rules (`policy`) and the budget (`budget`) before anything is sent.
//!
//! Invariants: nothing is sent without an allowing decision on record; secrets of providers are seen
//! by nobody but the call itself; every call has a row that says what came of it, also when whoever
//! asked went away.

mod inference;
mod routing;

use std::pin::Pin;

use cynode_domain::model::ProviderKind;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::Tasks;
use cynode_store::Store;
use cynode_wire::models::ModelsView;
use cynode_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use futures_util::Stream;

use crate::{Caller, Signals};

pub use cynode_wire::models::ModelView;
pub use inference::Inference;
pub use routing::Routing;

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
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// The pieces of an answer. Dropping it gives the call up, which is recorded too.
pub type EgressStream = Pin<Box<dyn Stream<Item = Result<ChatChunk, EgressError>> + Send>>;

/// Asks models. Cheap to clone.
#[derive(Clone)]
#[expect(dead_code, reason = "filled in by the commits that follow")]
pub struct Egress {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    tasks: Tasks,
}

#[expect(clippy::unused_async, reason = "filled in by the commits that follow")]
impl Egress {
    /// Asks providers kept in `store`; what must be written after a caller went away is left to
    /// `tasks`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals, tasks: Tasks) -> Self {
        Self { store, clock, signals, tasks }
    }

    /// The models that a caller may use.
    pub async fn models(&self, _caller: &Caller) -> Result<ModelsView, EgressError> {
        Ok(ModelsView::default())
    }

    /// Asks a model and waits for the whole answer.
    pub async fn chat(
        &self,
        _inference: &Inference,
        _request: ChatRequest,
    ) -> Result<ChatCompletion, EgressError> {
        Err(EgressError::NoProvider)
    }

    /// Asks a model for an answer in pieces. What fails before the first piece is an error here and
    /// may have been tried at several providers; what fails later is an item of the stream.
    pub async fn stream(
        &self,
        _inference: &Inference,
        _request: ChatRequest,
    ) -> Result<EgressStream, EgressError> {
        Err(EgressError::NoProvider)
    }
}
