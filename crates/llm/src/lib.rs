//! Clients of model providers.
//!
//! Start at [`Provider`], which answers chat completions, whole or streamed. [`connect`] returns a client of
//! an [`ProviderEndpoint`]; [`resilience::ResilientProvider`] adds a concurrency limit, a circuit breaker and retries. Requests and
//! responses are `cynode_llm_wire::openai` types, independent of the provider's own API.
//!
//! Invariants: no secret appears in an error or a log; no redirect is followed; every wait and every
//! body is bounded; dropping a stream cancels its request.

mod anthropic;
mod collect;
mod credential;
mod endpoint;
mod error;
mod http;
mod ollama;
mod openai;
pub mod resilience;
mod status;
mod stream;
mod text_calls;

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_llm_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use futures_util::Stream;

pub use collect::{ChunkCollector, refusal};
pub use credential::ProviderCredential;
pub use cynode_domain::model::ProviderKind;
pub use endpoint::{InvalidEndpoint, ProviderEndpoint, ProviderLimits, default_address};
pub use error::{ProviderError, TimeoutPhase};
pub use text_calls::{first_json_object, may_be_tool_call, parse_tool_calls};

/// The chunks of an answer. Dropping the stream cancels the request.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<ChatChunk, ProviderError>> + Send>>;

/// A provider of chat completions.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Returns the whole answer to `request`, even if the request asks for streaming.
    ///
    /// A refusal is an answer too: see [`refusal`]. `created` is 0 if the provider sends no time.
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChatCompletion, ProviderError>;

    /// Streams the answer, even if the request does not ask for streaming.
    ///
    /// Usage is always requested. It arrives in a chunk without choices, which must not reach a client that did
    /// not ask for it. A stream that ends without an error is complete.
    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChunkStream, ProviderError>;

    /// Lists the names of the models that the provider offers.
    async fn models(
        &self,
        secret: Option<&ProviderCredential>,
    ) -> Result<Vec<String>, ProviderError>;
}

/// Returns a client of `endpoint`. Sends nothing yet.
pub fn connect(endpoint: &ProviderEndpoint) -> Result<Arc<dyn Provider>, InvalidEndpoint> {
    Ok(match endpoint.kind {
        ProviderKind::Anthropic => Arc::new(anthropic::AnthropicClient::new(endpoint)?),
        ProviderKind::OpenAi => Arc::new(openai::OpenAiClient::new(endpoint)?),
        ProviderKind::Ollama => Arc::new(ollama::OllamaClient::new(endpoint)?),
    })
}
