//! Asking models.
//!
//! Start at [`Provider`]: whatever answers chat completions, whole or in pieces. [`connect`] gives a
//! client of an [`Endpoint`]; [`lane::Lane`] puts limits, rests and retries before one. What goes
//! in and out is `cynode_wire::openai`, whatever the provider itself speaks.
//!
//! Invariants: a secret is in no error and no log; no redirect is followed; every wait and every
//! body is bounded; a stream that is dropped ends its request.

mod anthropic;
mod collect;
mod endpoint;
mod error;
mod http;
mod key;
pub mod lane;
mod ollama;
mod openai;
mod status;
mod stream;
mod written;

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use futures_util::Stream;

pub use collect::{Collector, refusal};
pub use cynode_domain::model::ProviderKind;
pub use endpoint::{BadEndpoint, Endpoint, Limits, usual_address};
pub use error::{Phase, ProviderError};
pub use key::Key;
pub use written::{calls_in, may_be_call, object_in};

/// The pieces of an answer. Dropping it ends the request.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<ChatChunk, ProviderError>> + Send>>;

/// Whatever answers chat completions.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The whole answer to `request`, whatever the request says about streaming.
    ///
    /// A model that refuses gives an answer too: see [`refusal`]. `created` is 0 where the provider
    /// does not say when.
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&Key>,
    ) -> Result<ChatCompletion, ProviderError>;

    /// The answer in pieces, whatever the request says about streaming.
    ///
    /// The usage is always asked for; it comes in a piece without choices, which a client that did not ask
    /// for it should not see. A stream that ends without an error was whole.
    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&Key>,
    ) -> Result<ChunkStream, ProviderError>;

    /// The names of the models that the provider offers.
    async fn models(&self, secret: Option<&Key>) -> Result<Vec<String>, ProviderError>;
}

/// A client of what is at `endpoint`. Nothing is sent yet.
pub fn connect(endpoint: &Endpoint) -> Result<Arc<dyn Provider>, BadEndpoint> {
    Ok(match endpoint.kind {
        ProviderKind::Anthropic => Arc::new(anthropic::Anthropic::new(endpoint)?),
        ProviderKind::OpenAi => Arc::new(openai::OpenAi::new(endpoint)?),
        ProviderKind::Ollama => Arc::new(ollama::Ollama::new(endpoint)?),
    })
}
