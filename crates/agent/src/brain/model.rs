//! The trait of models that answer exchanges.

use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use cynode_llm_wire::openai::{ChatChunk, ChatCompletion};
use futures_util::Stream;

use super::MissingRecording;
use super::exchange::ModelExchange;

/// The chunks of an answer. Dropping the stream cancels the request.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ChatChunk, ModelError>> + Send>>;

/// Answers exchanges.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Returns the whole answer.
    async fn complete(&self, exchange: &ModelExchange) -> Result<ChatCompletion, ModelError>;

    /// Streams the answer.
    async fn stream(&self, exchange: &ModelExchange) -> Result<ModelStream, ModelError>;
}

/// Why there is no answer, grouped by what the caller can do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// There is no model: rules decide.
    #[error("no model is configured")]
    NoModel,
    /// The model is unavailable; a retry may succeed.
    #[error("the model did not answer: {message}")]
    Unavailable {
        message: String,
        /// How long to wait before a retry, if known.
        retry_after: Option<Duration>,
    },
    /// The request is not allowed, over budget or invalid.
    #[error("the model request was denied: {0}")]
    Denied(String),
    /// The model refused to answer.
    #[error("the model declines to answer: {0}")]
    Declined(String),
    /// The answer and its repair are both invalid.
    #[error("the model's answer cannot be used: {0}")]
    Unusable(String),
    /// A replay found no recording.
    #[error(transparent)]
    MissingRecording(#[from] MissingRecording),
}

impl ModelError {
    /// Whether a retry may succeed soon.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}
