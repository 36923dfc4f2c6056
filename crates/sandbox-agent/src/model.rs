//! Asks the model behind the sandbox's listener.

use std::sync::Arc;
use std::time::Duration;

use cynode_llm::{
    ChunkCollector, InvalidEndpoint, Provider, ProviderEndpoint, ProviderError, ProviderKind,
    ProviderLimits, connect,
};
use cynode_llm_wire::openai::{ChatCompletion, ChatRequest};
use futures_util::StreamExt as _;

use crate::repetition::RepetitionGuard;

/// The longest pause before a retry.
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// The error code of a spent budget.
const QUOTA_CODE: &str = "insufficient_quota";
/// The start of egress's message about a spent budget. Egress rejects with status 403, whose code the client of
/// providers does not pass on.
const BUDGET_MESSAGE: &str = "the budget of ";

/// How often and when a request is sent again while the model is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Requests in total, at least one.
    pub attempts: u32,
    /// The pause before the first retry; each further one is twice as long.
    pub first_pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 5, first_pause: Duration::from_secs(1) }
    }
}

/// A client of the models that the job may use.
pub(crate) struct ModelClient {
    provider: Arc<dyn Provider>,
    /// The preferred one first.
    models: Vec<String>,
    /// The model in use; earlier ones were rejected.
    current: usize,
    retry: RetryPolicy,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ModelError {
    /// The budget rejected the call.
    #[error("{0}")]
    Budget(String),
    /// The request has a form that the model's server does not accept.
    #[error("{0}")]
    Unsupported(String),
    /// The model refused this request, or its answer is too large.
    #[error("{0}")]
    Refused(String),
    /// The model failed for good.
    #[error("{0}")]
    Lost(String),
}

impl ModelClient {
    pub(crate) fn new(
        url: &str,
        models: &[String],
        retry: RetryPolicy,
    ) -> Result<Self, InvalidEndpoint> {
        let mut endpoint = ProviderEndpoint::new(ProviderKind::OpenAi, url);
        endpoint.limits = ProviderLimits::local();
        Ok(Self { provider: connect(&endpoint)?, models: models.to_vec(), current: 0, retry })
    }

    /// Sends a request to the current model, with retries, and to the next model where one is not available.
    pub(crate) async fn ask(&mut self, request: ChatRequest) -> Result<ChatCompletion, ModelError> {
        let mut request = request;
        let mut attempt = 1;
        loop {
            request.model = self.models.get(self.current).cloned();
            let error = match self.collect_answer(&request).await {
                Ok(completion) => return Ok(completion),
                Err(error) => error,
            };
            if is_model_rejected(&error) && self.current + 1 < self.models.len() {
                self.current += 1;
                continue;
            }
            if !is_retryable(&error) || attempt >= self.retry.attempts {
                return Err(classify(error));
            }
            let exponent = 2u32.saturating_pow(attempt - 1);
            let pause = error.retry_after().unwrap_or(self.retry.first_pause * exponent);
            if pause > MAX_PAUSE {
                return Err(classify(error));
            }
            attempt += 1;
            tokio::time::sleep(pause).await;
        }
    }

    /// Streams, so that a slow model can be distinguished from a silent one.
    async fn collect_answer(&self, request: &ChatRequest) -> Result<ChatCompletion, ProviderError> {
        let mut chunks = self.provider.stream(request, None).await?;
        let mut collector = ChunkCollector::default();
        let mut guard = RepetitionGuard::default();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            collector.push(&chunk);
            if guard.is_repeating(&chunk) {
                // Dropping the stream cancels the request. The answer counts as cut off.
                let mut answer = collector.finish();
                for choice in &mut answer.choices {
                    choice.finish_reason = Some("length".to_owned());
                }
                return Ok(answer);
            }
        }
        Ok(collector.finish())
    }
}

/// Whether another model may answer: this one is unknown or denied.
fn is_model_rejected(error: &ProviderError) -> bool {
    if let ProviderError::Unauthorized { message } = error {
        return !message.starts_with(BUDGET_MESSAGE);
    }
    matches!(error, ProviderError::Rejected { status: 404, .. })
}

fn is_retryable(error: &ProviderError) -> bool {
    error.is_transient()
        || matches!(
            error,
            ProviderError::Timeout { .. } | ProviderError::Malformed { .. } | ProviderError::Busy
        )
}

fn classify(error: ProviderError) -> ModelError {
    use ProviderError as E;
    let text = error.to_string();
    match error {
        E::Rejected { status: 402 | 429, message, .. } => ModelError::Budget(message),
        E::Rejected { code: Some(code), message, .. } if code == QUOTA_CODE => {
            ModelError::Budget(message)
        }
        E::Unauthorized { message } if message.starts_with(BUDGET_MESSAGE) => {
            ModelError::Budget(message)
        }
        // Every retry was rejected too.
        E::RateLimited { .. } => ModelError::Budget(text),
        E::Rejected { status: 400 | 415 | 422 | 501, .. } => ModelError::Unsupported(text),
        E::Refused { message } => ModelError::Refused(message),
        E::TooLarge { .. } => ModelError::Refused(text),
        E::Unauthorized { .. }
        | E::Unavailable { .. }
        | E::Connect { .. }
        | E::Timeout { .. }
        | E::Rejected { .. }
        | E::Malformed { .. }
        | E::Truncated
        | E::Busy
        | E::CircuitOpen { .. } => ModelError::Lost(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_budget_is_recognised_in_each_of_its_forms() {
        let rejected = |status, code: Option<&str>| ProviderError::Rejected {
            status,
            message: "no".to_owned(),
            code: code.map(str::to_owned),
        };
        let denied = |message: &str| ProviderError::Unauthorized { message: message.to_owned() };
        for error in [
            rejected(402, None),
            rejected(429, Some(QUOTA_CODE)),
            rejected(403, Some(QUOTA_CODE)),
            denied("the budget of project \"x\" is spent: 1 of 1 USD (k)"),
            ProviderError::RateLimited { retry_after: None },
        ] {
            assert!(matches!(classify(error.clone()), ModelError::Budget(_)), "{error:?}");
        }
        assert!(matches!(classify(denied("no such model")), ModelError::Lost(_)));
        assert!(matches!(classify(rejected(400, None)), ModelError::Unsupported(_)));
    }
}
