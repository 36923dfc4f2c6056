//! Whoever answers the questions that rules cannot.

use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use cynode_wire::openai::{ChatChunk, ChatCompletion};
use futures_util::Stream;

use super::NoRecord;
use super::exchange::Exchange;

/// The pieces of an answer. Dropping it ends the request.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ChatChunk, ModelError>> + Send>>;

/// Whoever answers.
#[async_trait]
pub trait Model: Send + Sync {
    /// The whole answer.
    async fn ask(&self, exchange: &Exchange) -> Result<ChatCompletion, ModelError>;

    /// The answer in pieces.
    async fn stream(&self, exchange: &Exchange) -> Result<ModelStream, ModelError>;
}

/// Why there is no answer, by what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Nobody is there to be asked: rules decide.
    #[error("no model is configured")]
    NoModel,
    /// No answer this time; the same question may be answered soon.
    #[error("the model did not answer: {message}")]
    Away {
        /// What happened.
        message: String,
        /// When to come back, where somebody said so.
        retry_after: Option<Duration>,
    },
    /// This question will not be answered: it is not allowed, over budget or wrong.
    #[error("the model may not be asked: {0}")]
    Denied(String),
    /// The model will not answer this.
    #[error("the model declines to answer: {0}")]
    Declined(String),
    /// The answer cannot be used, also not the second one.
    #[error("the model's answer cannot be used: {0}")]
    Unusable(String),
    /// A replay has no such exchange.
    #[error(transparent)]
    NoRecord(#[from] NoRecord),
}

impl ModelError {
    /// Whether the same question may be answered if it is asked again soon.
    pub fn may_retry(&self) -> bool {
        matches!(self, Self::Away { .. })
    }
}
