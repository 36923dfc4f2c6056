//! A lane in front of providers that fail on demand.

use std::collections::VecDeque;
use std::sync::Mutex;

use cynode_llm_wire::openai::Delta;
use tokio::time::Instant;

use super::*;

/// Fails with these errors in order, one per request, then answers.
#[derive(Default)]
struct FailingProvider {
    errors: Mutex<VecDeque<ProviderError>>,
    /// Whether a stream fails after its first chunk rather than before.
    fails_mid_stream: bool,
    request_times: Mutex<Vec<Instant>>,
}

impl FailingProvider {
    fn next_outcome(&self) -> Result<(), ProviderError> {
        self.request_times.lock().unwrap().push(Instant::now());
        self.errors.lock().unwrap().pop_front().map_or(Ok(()), Err)
    }
}

#[async_trait]
impl Provider for FailingProvider {
    async fn chat(
        &self,
        _: &ChatRequest,
        _: Option<&ProviderCredential>,
    ) -> Result<ChatCompletion, ProviderError> {
        self.next_outcome().map(|()| ChatCompletion::default())
    }

    async fn stream(
        &self,
        _: &ChatRequest,
        _: Option<&ProviderCredential>,
    ) -> Result<ChunkStream, ProviderError> {
        let chunk = Ok(ChatChunk::new(Delta::text("hi"), None));
        let chunks = match self.next_outcome() {
            Err(error) if self.fails_mid_stream => vec![chunk, Err(error)],
            Err(error) => vec![Err(error)],
            Ok(()) => vec![chunk],
        };
        Ok(stream::iter(chunks).boxed())
    }

    async fn models(&self, _: Option<&ProviderCredential>) -> Result<Vec<String>, ProviderError> {
        self.next_outcome().map(|()| Vec::new())
    }
}

fn lane(
    errors: impl IntoIterator<Item = ProviderError>,
) -> (Arc<FailingProvider>, ResilientProvider) {
    let provider = Arc::new(FailingProvider {
        errors: Mutex::new(errors.into_iter().collect()),
        ..FailingProvider::default()
    });
    let shared: Arc<dyn Provider> = Arc::<FailingProvider>::clone(&provider);
    (provider, ResilientProvider::new(shared, ResilienceOptions::default()))
}

fn down() -> ProviderError {
    ProviderError::Unavailable { status: 500, retry_after: None }
}

fn limited(seconds: u64) -> ProviderError {
    ProviderError::RateLimited { retry_after: Some(Duration::from_secs(seconds)) }
}

async fn chat(lane: &ResilientProvider) -> Result<(), ProviderError> {
    lane.chat(&ChatRequest::default(), None).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_for_a_moment_is_asked_again() {
    let (provider, lane) = lane([down(), ProviderError::Truncated]);

    assert_eq!(chat(&lane).await, Ok(()));
    assert_eq!(provider.request_times.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn attempts_end_and_the_last_error_is_told() {
    let (provider, lane) = lane(vec![down(); 9]);

    assert_eq!(chat(&lane).await, Err(down()));
    assert_eq!(provider.request_times.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_provider_asks_for_is_kept() {
    let (provider, lane) = lane([limited(7)]);

    assert_eq!(chat(&lane).await, Ok(()));
    let seen = provider.request_times.lock().unwrap();
    let waited = seen[1].duration_since(seen[0]);
    assert!((7.0..9.0).contains(&waited.as_secs_f32()), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_too_long_a_wait_is_not_waited_for() {
    let (provider, lane) = lane([limited(3600)]);

    assert_eq!(chat(&lane).await, Err(limited(3600)));
    assert_eq!(provider.request_times.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_provider_asks_for_holds_for_every_request() {
    let (provider, lane) = lane([limited(60)]);
    assert_eq!(chat(&lane).await, Err(limited(60)));

    tokio::time::advance(Duration::from_secs(20)).await;
    assert_eq!(chat(&lane).await, Err(limited(40)));
    assert_eq!(lane.stream(&ChatRequest::default(), None).await.err(), Some(limited(40)));
    assert_eq!(provider.request_times.lock().unwrap().len(), 1);
    // The remaining wait is short enough for a retry.
    tokio::time::advance(Duration::from_secs(35)).await;
    assert_eq!(chat(&lane).await, Ok(()));
    let seen = provider.request_times.lock().unwrap();
    let waited = seen[1].duration_since(seen[0]);
    assert!((60.0..62.0).contains(&waited.as_secs_f32()), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn the_wait_of_one_account_or_model_is_nobody_else_s() {
    let (provider, lane) = lane([limited(60)]);
    let (own, theirs) = (ProviderCredential::from("own"), ProviderCredential::from("theirs"));
    let other = ChatRequest { model: Some("other".to_owned()), ..ChatRequest::default() };
    let request = ChatRequest { model: Some("m".to_owned()), ..ChatRequest::default() };
    assert!(lane.chat(&request, Some(&own)).await.is_err());

    assert!(lane.chat(&request, Some(&theirs)).await.is_ok());
    assert!(lane.chat(&other, Some(&own)).await.is_ok());
    assert!(lane.chat(&request, Some(&own)).await.is_err());
    assert_eq!(provider.request_times.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_at_fault_is_not_sent_again() {
    let rejected = ProviderError::Rejected { status: 400, message: "no".to_owned(), code: None };
    let (provider, lane) = lane([rejected.clone()]);

    assert_eq!(chat(&lane).await, Err(rejected));
    assert_eq!(provider.request_times.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_begun_again_only_before_its_first_piece() {
    let (provider, before) = lane([down()]);
    let chunks: Vec<_> =
        before.stream(&ChatRequest::default(), None).await.unwrap().collect().await;
    assert_eq!(chunks.len(), 1);
    assert_eq!(provider.request_times.lock().unwrap().len(), 2);

    let errors = Mutex::new(VecDeque::from([down()]));
    let provider =
        Arc::new(FailingProvider { errors, fails_mid_stream: true, ..FailingProvider::default() });
    let shared: Arc<dyn Provider> = Arc::<FailingProvider>::clone(&provider);
    let after = ResilientProvider::new(shared, ResilienceOptions::default());
    let chunks: Vec<_> = after.stream(&ChatRequest::default(), None).await.unwrap().collect().await;
    assert_eq!(chunks.last(), Some(&Err(down())));
    assert_eq!(provider.request_times.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_all_the_time_is_left_alone_and_tried_after_a_rest() {
    let (provider, lane) = lane(vec![down(); 5]);

    assert_eq!(chat(&lane).await, Err(down()));
    assert!(matches!(chat(&lane).await, Err(ProviderError::CircuitOpen { .. })));
    assert!(lane.is_circuit_open());
    assert_eq!(provider.request_times.lock().unwrap().len(), BREAKER.failure_threshold as usize);
    tokio::time::advance(BREAKER.open_duration).await;
    assert_eq!(chat(&lane).await, Ok(()));
    assert!(!lane.is_circuit_open());
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_breaks_off_every_stream_is_left_alone() {
    let errors = Mutex::new(vec![ProviderError::Truncated; 6].into());
    let provider =
        Arc::new(FailingProvider { errors, fails_mid_stream: true, ..FailingProvider::default() });
    let provider: Arc<dyn Provider> = Arc::<FailingProvider>::clone(&provider);
    let lane = ResilientProvider::new(provider, ResilienceOptions::default());
    let broken = async || {
        let chunks = lane.stream(&ChatRequest::default(), None).await?;
        Ok::<_, ProviderError>(chunks.collect::<Vec<_>>().await.len())
    };
    for _ in 0..BREAKER.failure_threshold {
        assert_eq!(broken().await, Ok(2));
    }

    assert!(matches!(broken().await, Err(ProviderError::CircuitOpen { .. })));
    tokio::time::advance(BREAKER.open_duration).await;
    assert_eq!(broken().await, Ok(2));
    assert!(lane.is_circuit_open(), "one more failure is enough");
    tokio::time::advance(BREAKER.open_duration).await;
    assert_eq!(broken().await, Ok(1));
    assert!(!lane.is_circuit_open());
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_to_ask_again_leaves_its_turn_to_others() {
    let errors = Mutex::new([limited(9)].into());
    let provider = Arc::new(FailingProvider { errors, ..FailingProvider::default() });
    let provider: Arc<dyn Provider> = Arc::<FailingProvider>::clone(&provider);
    let lane = ResilientProvider::new(
        provider,
        ResilienceOptions { concurrency: 1, ..ResilienceOptions::default() },
    );
    let (own, theirs) = (ProviderCredential::from("own"), ProviderCredential::from("theirs"));
    let request = ChatRequest::default();
    let requested_at = Instant::now();

    let first = lane.chat(&request, Some(&own));
    let second = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        lane.chat(&request, Some(&theirs)).await.map(|_| requested_at.elapsed().as_secs())
    };
    let (first, second) = tokio::join!(first, second);

    assert!(first.is_ok());
    assert_eq!(second, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_offers_is_asked_beside_a_long_answer() {
    let provider: Arc<dyn Provider> = Arc::new(FailingProvider::default());
    let lane = ResilientProvider::new(
        provider,
        ResilienceOptions { concurrency: 1, ..ResilienceOptions::default() },
    );
    let long = lane.stream(&ChatRequest::default(), None).await.unwrap();

    assert_eq!(lane.models(None).await, Ok(vec![]));
    drop(long);
}

#[tokio::test(start_paused = true)]
async fn a_stream_keeps_its_turn_until_it_is_dropped() {
    let provider: Arc<dyn Provider> = Arc::new(FailingProvider::default());
    let options = ResilienceOptions { concurrency: 1, ..ResilienceOptions::default() };
    let lane = ResilientProvider::new(provider, options);

    let stream = lane.stream(&ChatRequest::default(), None).await.unwrap();
    assert_eq!(chat(&lane).await, Err(ProviderError::Busy));
    drop(stream);
    assert_eq!(chat(&lane).await, Ok(()));
}
