//! A lane to one provider: so many requests at once, rests when it fails, and retries.
//!
//! Start at [`Lane`], which is a [`Provider`] itself. What came out of a stream cannot be taken back,
//! so a request is sent again only as long as nothing of its answer was given out.

mod breaker;
mod quiet;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use futures_util::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{ChunkStream, Key, Provider, ProviderError};
use breaker::Breaker;
use quiet::{Quiet, Who};

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
    /// What the provider offers is asked beside long answers, by one at a time.
    lists: Arc<Semaphore>,
    breaker: Arc<Breaker>,
    /// What the provider asked for, so that not every request has to be told.
    quiet: Quiet,
    options: LaneOptions,
}

impl Lane {
    /// A lane to `provider`.
    pub fn new(provider: Arc<dyn Provider>, options: LaneOptions) -> Self {
        let turns = Arc::new(Semaphore::new(options.concurrency.clamp(1, Semaphore::MAX_PERMITS)));
        let (breaker, quiet) = (Arc::default(), Quiet::default());
        Self { provider, turns, lists: Arc::new(Semaphore::new(1)), breaker, quiet, options }
    }

    /// Whether the provider is left alone now; asking changes nothing.
    pub fn is_resting(&self) -> bool {
        self.breaker.is_open()
    }

    /// Sends until there is an answer, or no hope of one. Whoever waits for the next attempt leaves
    /// its turn to others.
    async fn persist<T, F>(
        &self,
        (who, turns): (Who, &Arc<Semaphore>),
        mut send: impl FnMut() -> F,
    ) -> Result<(T, OwnedSemaphorePermit), ProviderError>
    where
        F: Future<Output = Result<T, ProviderError>>,
    {
        let mut attempt = 1;
        loop {
            let error = match self.attempt((who, turns), &mut send).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(pause) = self.pause(attempt, &error) else { return Err(error) };
            tracing::debug!(attempt, %error, "the provider is asked again");
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// Sends once, in turn, unless the provider would refuse it or fail at it, as far as is known. That an
    /// answer was good is for the caller to judge.
    async fn attempt<T, F>(
        &self,
        (who, turns): (Who, &Arc<Semaphore>),
        send: &mut impl FnMut() -> F,
    ) -> Result<(T, OwnedSemaphorePermit), ProviderError>
    where
        F: Future<Output = Result<T, ProviderError>>,
    {
        self.quiet.heed(who)?;
        let turn = Arc::clone(turns).acquire_owned();
        let Ok(Ok(turn)) = tokio::time::timeout(self.options.turn, turn).await else {
            return Err(ProviderError::Busy);
        };
        // Others may have learned something meanwhile.
        self.quiet.heed(who)?;
        self.breaker.admit().map_err(|retry_after| ProviderError::Resting { retry_after })?;
        match send().await {
            Ok(answer) => Ok((answer, turn)),
            Err(error) => {
                self.breaker.judge(Some(&error));
                if let Some(wait) = error.retry_after() {
                    self.quiet.keep(who, wait);
                }
                Err(error)
            }
        }
    }

    /// How long to wait before the next attempt; `None` if there is none.
    fn pause(&self, attempt: u32, error: &ProviderError) -> Option<Duration> {
        if attempt >= self.options.attempts || !error.is_transient() {
            return None;
        }
        let longest = self.options.longest_pause;
        if let Some(asked) = error.retry_after() {
            let pause = asked.max(self.options.pause);
            return (asked <= longest).then(|| pause + jittered(pause / 4));
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
        secret: Option<&Key>,
    ) -> Result<ChatCompletion, ProviderError> {
        let who = self.quiet.who(request.model.as_deref(), secret);
        let ask = || self.provider.chat(request, secret);
        let (answer, _) = self.persist((who, &self.turns), ask).await?;
        self.breaker.judge(None);
        Ok(answer)
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&Key>,
    ) -> Result<ChunkStream, ProviderError> {
        let who = self.quiet.who(request.model.as_deref(), secret);
        let ask = || async {
            let mut pieces = self.provider.stream(request, secret).await?;
            let first = pieces.next().await.transpose()?;
            Ok((first, pieces))
        };
        let ((first, rest), turn) = self.persist((who, &self.turns), ask).await?;
        self.breaker.begun();
        let (breaker, is_broken) = (Arc::clone(&self.breaker), false);
        let rest = Watched { rest, breaker, is_broken, _turn: turn };
        let rest = stream::unfold(rest, |mut rest| async move {
            let piece = rest.next().await?;
            Some((piece, rest))
        });
        Ok(stream::iter(first.map(Ok)).chain(rest).boxed())
    }

    async fn models(&self, secret: Option<&Key>) -> Result<Vec<String>, ProviderError> {
        let who = self.quiet.who(None, secret);
        let ask = || self.provider.models(secret);
        let (models, _) = self.persist((who, &self.lists), ask).await?;
        self.breaker.judge(None);
        Ok(models)
    }
}

/// Pieces that keep their turn until the last, and tell the breaker how they end.
struct Watched {
    rest: ChunkStream,
    breaker: Arc<Breaker>,
    is_broken: bool,
    _turn: OwnedSemaphorePermit,
}

impl Watched {
    async fn next(&mut self) -> Option<Result<ChatChunk, ProviderError>> {
        let piece = self.rest.next().await;
        match &piece {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                self.is_broken = true;
                self.breaker.judge(Some(error));
            }
            None if self.is_broken => {}
            None => self.breaker.judge(None),
        }
        piece
    }
}

#[cfg(test)]
mod tests;
