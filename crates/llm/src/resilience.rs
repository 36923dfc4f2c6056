//! Access to one provider with a concurrency limit, a circuit breaker, rate-limit back-off and retries.
//!
//! Start at [`ResilientProvider`], which is a [`Provider`] itself. A request is retried only until the first chunk of its
//! answer was passed to the caller.

mod backoff;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use backon::Retryable as _;
use cynode_domain::backoff::Backoff;
use cynode_http::{CircuitBreaker, CircuitBreakerOptions, CircuitOpen};
use cynode_llm_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use futures_util::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{ChunkStream, Provider, ProviderCredential, ProviderError};
use backoff::{BackoffKey, RateLimitBackoff};

const BREAKER: CircuitBreakerOptions =
    CircuitBreakerOptions { failure_threshold: 5, open_duration: Duration::from_secs(15) };

/// Concurrency and retries of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResilienceOptions {
    /// The most requests in flight.
    pub concurrency: usize,
    /// How long a request waits for a free slot.
    pub turn: Duration,
    /// The most attempts per request.
    pub max_attempts: u32,
    /// The pause before the second attempt; it doubles with each further attempt.
    pub pause: Duration,
    /// The longest pause between two attempts. A longer `Retry-After` ends the retries.
    pub max_retry_pause: Duration,
}

impl Default for ResilienceOptions {
    fn default() -> Self {
        Self {
            concurrency: 16,
            turn: Duration::from_secs(30),
            max_attempts: 3,
            pause: Duration::from_millis(250),
            max_retry_pause: Duration::from_secs(10),
        }
    }
}

/// A provider behind its limits. All requests to one provider share one lane.
pub struct ResilientProvider {
    provider: Arc<dyn Provider>,
    slots: Arc<Semaphore>,
    /// The slot for listing models, so that long answers do not delay it.
    list_slot: Arc<Semaphore>,
    breaker: Arc<CircuitBreaker>,
    /// Back-offs that the provider demanded, shared by all requests.
    backoff: RateLimitBackoff,
    options: ResilienceOptions,
}

impl ResilientProvider {
    pub fn new(provider: Arc<dyn Provider>, options: ResilienceOptions) -> Self {
        let slots = Arc::new(Semaphore::new(options.concurrency.clamp(1, Semaphore::MAX_PERMITS)));
        let breaker = Arc::new(CircuitBreaker::new(BREAKER));
        let backoff = RateLimitBackoff::default();
        Self { provider, slots, list_slot: Arc::new(Semaphore::new(1)), breaker, backoff, options }
    }

    /// Whether the circuit breaker is open. Does not change its state.
    pub fn is_circuit_open(&self) -> bool {
        self.breaker.is_open()
    }

    /// Sends a request and retries transient failures. Releases the slot while it waits for the next attempt.
    async fn send_with_retries<T, F>(
        &self,
        (who, turns): (BackoffKey, &Arc<Semaphore>),
        mut send: impl FnMut() -> F,
    ) -> Result<(T, OwnedSemaphorePermit), ProviderError>
    where
        F: Future<Output = Result<T, ProviderError>>,
    {
        let backoff = Backoff { first: self.options.pause, cap: self.options.max_retry_pause };
        let retries = self.options.max_attempts.saturating_sub(1);
        let send = || self.send_once((who, turns), send());
        send.retry(backoff.jittered_delays().with_max_times(retries as usize))
            .sleep(tokio::time::sleep)
            .when(ProviderError::is_transient)
            .adjust(|error, delay| self.retry_pause(error, delay?))
            .notify(|error, pause| tracing::debug!(%error, ?pause, "provider request retried"))
            .await
    }

    /// Waits for a slot and sends once, unless a back-off or the circuit breaker rejects the attempt. The caller
    /// reports success to the breaker.
    async fn send_once<T, F>(
        &self,
        (who, turns): (BackoffKey, &Arc<Semaphore>),
        request: F,
    ) -> Result<(T, OwnedSemaphorePermit), ProviderError>
    where
        F: Future<Output = Result<T, ProviderError>>,
    {
        self.backoff.check(who)?;
        let turn = Arc::clone(turns).acquire_owned();
        let Ok(Ok(turn)) = tokio::time::timeout(self.options.turn, turn).await else {
            return Err(ProviderError::Busy);
        };
        // Another request may have caused a back-off meanwhile.
        self.backoff.check(who)?;
        self.breaker
            .admit()
            .map_err(|CircuitOpen { retry_after }| ProviderError::CircuitOpen { retry_after })?;
        match request.await {
            Ok(answer) => Ok((answer, turn)),
            Err(error) => {
                record_error(&self.breaker, &error);
                if let Some(wait) = error.retry_after() {
                    self.backoff.record(who, wait);
                }
                Err(error)
            }
        }
    }

    /// The pause before the next attempt: as long as the provider asked for, or `delay`. `None` if the provider asked
    /// for a longer one than is allowed.
    fn retry_pause(&self, error: &ProviderError, delay: Duration) -> Option<Duration> {
        let Some(retry_after) = error.retry_after() else { return Some(delay) };
        let pause = retry_after.max(self.options.pause);
        let jitter = Backoff { first: pause / 4, cap: pause / 4 }.jittered_delay(1);
        (retry_after <= self.options.max_retry_pause).then_some(pause + jitter)
    }
}

/// Records an error of an attempt. A rejected request is not a failure of the provider.
fn record_error(breaker: &CircuitBreaker, error: &ProviderError) {
    if error.is_provider_failure() {
        breaker.record_failure();
    } else {
        breaker.record_success();
    }
}

#[async_trait]
impl Provider for ResilientProvider {
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChatCompletion, ProviderError> {
        let who = self.backoff.key_for(request.model.as_deref(), secret);
        let ask = || self.provider.chat(request, secret);
        let (answer, _) = self.send_with_retries((who, &self.slots), ask).await?;
        self.breaker.record_success();
        Ok(answer)
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChunkStream, ProviderError> {
        let who = self.backoff.key_for(request.model.as_deref(), secret);
        let ask = || async {
            let mut chunks = self.provider.stream(request, secret).await?;
            let first = chunks.next().await.transpose()?;
            Ok((first, chunks))
        };
        let ((first, rest), turn) = self.send_with_retries((who, &self.slots), ask).await?;
        self.breaker.record_stream_start();
        let (breaker, is_broken) = (Arc::clone(&self.breaker), false);
        let rest = BreakerReportingStream { rest, breaker, is_broken, _slot: turn };
        let rest = stream::unfold(rest, |mut rest| async move {
            let chunk = rest.next().await?;
            Some((chunk, rest))
        });
        Ok(stream::iter(first.map(Ok)).chain(rest).boxed())
    }

    async fn models(
        &self,
        secret: Option<&ProviderCredential>,
    ) -> Result<Vec<String>, ProviderError> {
        let who = self.backoff.key_for(None, secret);
        let ask = || self.provider.models(secret);
        let (models, _) = self.send_with_retries((who, &self.list_slot), ask).await?;
        self.breaker.record_success();
        Ok(models)
    }
}

/// The rest of a stream: holds its slot until the end and reports the outcome to the breaker.
struct BreakerReportingStream {
    rest: ChunkStream,
    breaker: Arc<CircuitBreaker>,
    is_broken: bool,
    _slot: OwnedSemaphorePermit,
}

impl BreakerReportingStream {
    async fn next(&mut self) -> Option<Result<ChatChunk, ProviderError>> {
        let chunk = self.rest.next().await;
        match &chunk {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                self.is_broken = true;
                record_error(&self.breaker, error);
            }
            None if self.is_broken => {}
            None => self.breaker.record_success(),
        }
        chunk
    }
}

#[cfg(test)]
mod tests;
