//! A lane to one provider: so many requests at once, rests when it fails, and retries.
//!
//! Start at [`Lane`], which is a [`Provider`] itself. What came out of a stream cannot be taken back,
//! so a request is sent again only as long as nothing of its answer was given out.

mod breaker;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use futures_util::{StreamExt, stream};
use secrecy::SecretString;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{ChunkStream, Provider, ProviderError};
use breaker::Breaker;

/// How a lane treats its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneOptions {
    /// How many requests are under way at once.
    pub concurrency: usize,
    /// How long a request waits for its turn.
    pub turn: Duration,
    /// How often a request is sent at most.
    pub attempts: u32,
    /// How long to wait before the second attempt; it doubles with each further one.
    pub pause: Duration,
    /// The longest wait between two attempts. A provider that asks for more is not waited for.
    pub longest_pause: Duration,
}

impl Default for LaneOptions {
    fn default() -> Self {
        Self {
            concurrency: 16,
            turn: Duration::from_secs(30),
            attempts: 3,
            pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(10),
        }
    }
}

/// A lane to one provider. Every request to it should go through the same lane.
pub struct Lane {
    provider: Arc<dyn Provider>,
    turns: Arc<Semaphore>,
    breaker: Arc<Breaker>,
    options: LaneOptions,
}

impl Lane {
    /// A lane to `provider`.
    pub fn new(provider: Arc<dyn Provider>, options: LaneOptions) -> Self {
        let turns = Arc::new(Semaphore::new(options.concurrency.clamp(1, Semaphore::MAX_PERMITS)));
        Self { provider, turns, breaker: Arc::default(), options }
    }

    /// Whether the provider is left alone now; asking changes nothing.
    pub fn is_resting(&self) -> bool {
        self.breaker.is_open()
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit, ProviderError> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        match tokio::time::timeout(self.options.turn, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(ProviderError::Busy),
        }
    }

    /// Sends until there is an answer, or no hope of one.
    async fn persist<T, F>(&self, mut send: impl FnMut() -> F) -> Result<T, ProviderError>
    where
        F: Future<Output = Result<T, ProviderError>>,
    {
        let mut attempt = 1;
        loop {
            if !self.breaker.admit() {
                return Err(ProviderError::Resting);
            }
            let result = send().await;
            self.breaker.judge(result.as_ref().err());
            let error = match result {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(pause) = self.pause(attempt, &error) else { return Err(error) };
            tracing::debug!(attempt, %error, "the provider is asked again");
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// How long to wait before the next attempt; `None` if there is none.
    fn pause(&self, attempt: u32, error: &ProviderError) -> Option<Duration> {
        if attempt >= self.options.attempts || !error.is_transient() {
            return None;
        }
        let longest = self.options.longest_pause;
        if let Some(asked) = error.retry_after() {
            return (asked <= longest).then_some(asked);
        }
        let doubled = self.options.pause.saturating_mul(1 << (attempt - 1).min(16));
        Some(jittered(doubled.min(longest)))
    }
}

/// Between half and the whole, so that requests that failed together do not come back together.
fn jittered(pause: Duration) -> Duration {
    let random = u32::try_from(RandomState::new().build_hasher().finish() >> 32).unwrap_or(0);
    let half = pause / 2;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[async_trait]
impl Provider for Lane {
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&SecretString>,
    ) -> Result<ChatCompletion, ProviderError> {
        let _turn = self.turn().await?;
        self.persist(|| self.provider.chat(request, secret)).await
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&SecretString>,
    ) -> Result<ChunkStream, ProviderError> {
        let turn = self.turn().await?;
        let begun = self
            .persist(|| async {
                let mut pieces = self.provider.stream(request, secret).await?;
                let first = pieces.next().await.transpose()?;
                Ok((first, pieces))
            })
            .await?;
        Ok(watched(begun, turn, Arc::clone(&self.breaker)))
    }

    async fn models(&self, secret: Option<&SecretString>) -> Result<Vec<String>, ProviderError> {
        let _turn = self.turn().await?;
        self.persist(|| self.provider.models(secret)).await
    }
}

/// The pieces, which keep their turn until the last, and tell the breaker when they break off.
fn watched(
    (first, rest): (Option<ChatChunk>, ChunkStream),
    turn: OwnedSemaphorePermit,
    breaker: Arc<Breaker>,
) -> ChunkStream {
    let rest = rest.inspect(move |piece| {
        let _ = &turn;
        if let Err(error) = piece {
            breaker.judge(Some(error));
        }
    });
    stream::iter(first.map(Ok)).chain(rest).boxed()
}

#[cfg(test)]
mod tests;
