//! Models, reached through the orchestrator's egress with the token of the handoff.

use std::sync::Arc;

use async_trait::async_trait;
use cynode_llm::{Collector, Key, Provider, ProviderError, refusal};
use cynode_wire::openai::{ChatCompletion, NO_PROVIDER_CODE};
use futures_util::StreamExt as _;
use secrecy::SecretString;

use super::exchange::Exchange;
use super::model::{Model, ModelError, ModelStream};

/// The orchestrator's egress, for one piece of work.
pub struct EgressModel {
    /// A client of egress, which speaks as OpenAI's API does.
    egress: Arc<dyn Provider>,
    /// The token of the handoff.
    token: Key,
}

impl EgressModel {
    /// Models that are asked with this token.
    pub fn new(egress: Arc<dyn Provider>, token: SecretString) -> Self {
        Self { egress, token: token.into() }
    }
}

#[async_trait]
impl Model for EgressModel {
    async fn ask(&self, exchange: &Exchange) -> Result<ChatCompletion, ModelError> {
        // Streamed, so that a slow model can be distinguished from a silent one.
        let mut pieces = self.stream(exchange).await?;
        let mut whole = Collector::default();
        while let Some(piece) = pieces.next().await {
            whole.push(&piece?);
        }
        let completion = whole.finish();
        match refusal(&completion) {
            Some(words) => Err(ModelError::Declined(words.to_owned())),
            None => Ok(completion),
        }
    }

    async fn stream(&self, exchange: &Exchange) -> Result<ModelStream, ModelError> {
        let pieces = self.egress.stream(&exchange.request, Some(&self.token)).await;
        Ok(pieces.map_err(meaning)?.map(|piece| piece.map_err(meaning)).boxed())
    }
}

/// What an error of egress means for whoever asked.
fn meaning(error: ProviderError) -> ModelError {
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
        | E::Resting { .. } => {
            ModelError::Away { message: words, retry_after: error.retry_after() }
        }
        E::Unauthorized { message } | E::Rejected { message, .. } => ModelError::Denied(message),
        E::TooLarge { .. } => ModelError::Unusable(words),
        E::Refused { message } => ModelError::Declined(message),
    }
}
