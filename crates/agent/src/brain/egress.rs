//! Models behind the orchestrator's egress.

use std::sync::Arc;

use async_trait::async_trait;
use cynode_llm::{ChunkCollector, Provider, ProviderCredential, ProviderError, refusal};
use cynode_llm_wire::openai::{ChatCompletion, NO_PROVIDER_CODE};
use futures_util::StreamExt as _;
use secrecy::SecretString;

use super::exchange::ModelExchange;
use super::model::{ChatModel, ModelError, ModelStream};

/// A client of the orchestrator's egress with the token of one handoff.
pub struct EgressModel {
    /// The client of egress, which speaks OpenAI's API.
    egress: Arc<dyn Provider>,
    token: ProviderCredential,
}

impl EgressModel {
    pub fn new(egress: Arc<dyn Provider>, token: SecretString) -> Self {
        Self { egress, token: token.into() }
    }
}

#[async_trait]
impl ChatModel for EgressModel {
    async fn complete(&self, exchange: &ModelExchange) -> Result<ChatCompletion, ModelError> {
        // Streams, so that a slow model can be distinguished from a silent one.
        let mut chunks = self.stream(exchange).await?;
        let mut whole = ChunkCollector::default();
        while let Some(chunk) = chunks.next().await {
            whole.push(&chunk?);
        }
        let completion = whole.finish();
        match refusal(&completion) {
            Some(words) => Err(ModelError::Declined(words.to_owned())),
            None => Ok(completion),
        }
    }

    async fn stream(&self, exchange: &ModelExchange) -> Result<ModelStream, ModelError> {
        let chunks = self.egress.stream(&exchange.request, Some(&self.token)).await;
        Ok(chunks
            .map_err(map_provider_error)?
            .map(|chunk| chunk.map_err(map_provider_error))
            .boxed())
    }
}

/// Maps an error of egress.
fn map_provider_error(error: ProviderError) -> ModelError {
    use ProviderError as E;
    let words = error.to_string();
    match error {
        E::Rejected { code: Some(code), .. } if code == NO_PROVIDER_CODE => ModelError::NoModel,
        E::RateLimited { .. }
        | E::Unavailable { .. }
        | E::Connect { .. }
        | E::Timeout { .. }
        | E::Truncated
        | E::Malformed { .. }
        | E::Busy
        | E::CircuitOpen { .. } => {
            ModelError::Unavailable { message: words, retry_after: error.retry_after() }
        }
        E::Unauthorized { message } | E::Rejected { message, .. } => ModelError::Denied(message),
        E::TooLarge { .. } => ModelError::Unusable(words),
        E::Refused { message } => ModelError::Declined(message),
    }
}
