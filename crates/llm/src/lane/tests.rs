//! A lane before providers that fail as told.

use std::collections::VecDeque;
use std::sync::Mutex;

use cynode_wire::openai::Delta;
use tokio::time::Instant;

use super::*;

/// Fails as told, one line for each request, then answers.
#[derive(Default)]
struct Told {
    errors: Mutex<VecDeque<ProviderError>>,
    /// Whether a stream fails after its first piece rather than before.
    breaks_off: bool,
    seen: Mutex<Vec<Instant>>,
}

impl Told {
    fn next(&self) -> Result<(), ProviderError> {
        self.seen.lock().unwrap().push(Instant::now());
        self.errors.lock().unwrap().pop_front().map_or(Ok(()), Err)
    }
}

#[async_trait]
impl Provider for Told {
    async fn chat(
        &self,
        _: &ChatRequest,
        _: Option<&SecretString>,
    ) -> Result<ChatCompletion, ProviderError> {
        self.next().map(|()| ChatCompletion::default())
    }

    async fn stream(
        &self,
        _: &ChatRequest,
        _: Option<&SecretString>,
    ) -> Result<ChunkStream, ProviderError> {
        let piece = Ok(ChatChunk::of(Delta::text("hi"), None));
        let pieces = match self.next() {
            Err(error) if self.breaks_off => vec![piece, Err(error)],
            Err(error) => vec![Err(error)],
            Ok(()) => vec![piece],
        };
        Ok(stream::iter(pieces).boxed())
    }

    async fn models(&self, _: Option<&SecretString>) -> Result<Vec<String>, ProviderError> {
        self.next().map(|()| Vec::new())
    }
}

fn lane(errors: impl IntoIterator<Item = ProviderError>) -> (Arc<Told>, Lane) {
    let told =
        Arc::new(Told { errors: Mutex::new(errors.into_iter().collect()), ..Told::default() });
    let provider: Arc<dyn Provider> = Arc::<Told>::clone(&told);
    (told, Lane::new(provider, LaneOptions::default()))
}

fn down() -> ProviderError {
    ProviderError::Unavailable { status: 500, retry_after: None }
}

fn limited(seconds: u64) -> ProviderError {
    ProviderError::RateLimited { retry_after: Some(Duration::from_secs(seconds)) }
}

async fn chat(lane: &Lane) -> Result<(), ProviderError> {
    lane.chat(&ChatRequest::default(), None).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_for_a_moment_is_asked_again() {
    let (told, lane) = lane([down(), ProviderError::Truncated]);

    assert_eq!(chat(&lane).await, Ok(()));
    assert_eq!(told.seen.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn attempts_end_and_the_last_error_is_told() {
    let (told, lane) = lane(vec![down(); 9]);

    assert_eq!(chat(&lane).await, Err(down()));
    assert_eq!(told.seen.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_provider_asks_for_is_kept() {
    let (told, lane) = lane([limited(7)]);

    assert_eq!(chat(&lane).await, Ok(()));
    let seen = told.seen.lock().unwrap();
    assert_eq!(seen[1].duration_since(seen[0]).as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_too_long_a_wait_is_not_waited_for() {
    let (told, lane) = lane([limited(3600)]);

    assert_eq!(chat(&lane).await, Err(limited(3600)));
    assert_eq!(told.seen.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_at_fault_is_not_sent_again() {
    let rejected = ProviderError::Rejected { status: 400, message: "no".to_owned() };
    let (told, lane) = lane([rejected.clone()]);

    assert_eq!(chat(&lane).await, Err(rejected));
    assert_eq!(told.seen.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_begun_again_only_before_its_first_piece() {
    let (told, before) = lane([down()]);
    let pieces: Vec<_> =
        before.stream(&ChatRequest::default(), None).await.unwrap().collect().await;
    assert_eq!(pieces.len(), 1);
    assert_eq!(told.seen.lock().unwrap().len(), 2);

    let errors = Mutex::new(VecDeque::from([down()]));
    let told = Arc::new(Told { errors, breaks_off: true, ..Told::default() });
    let provider: Arc<dyn Provider> = Arc::<Told>::clone(&told);
    let after = Lane::new(provider, LaneOptions::default());
    let pieces: Vec<_> = after.stream(&ChatRequest::default(), None).await.unwrap().collect().await;
    assert_eq!(pieces.last(), Some(&Err(down())));
    assert_eq!(told.seen.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_all_the_time_is_left_alone_and_tried_after_a_rest() {
    let (told, lane) = lane(vec![down(); 5]);

    assert_eq!(chat(&lane).await, Err(down()));
    assert_eq!(chat(&lane).await, Err(ProviderError::Resting));
    assert!(lane.is_resting());
    assert_eq!(told.seen.lock().unwrap().len(), breaker::FAILURES as usize);
    tokio::time::advance(breaker::REST).await;
    assert_eq!(chat(&lane).await, Ok(()));
    assert!(!lane.is_resting());
}

#[tokio::test(start_paused = true)]
async fn a_stream_keeps_its_turn_until_it_is_dropped() {
    let told: Arc<dyn Provider> = Arc::new(Told::default());
    let options = LaneOptions { concurrency: 1, ..LaneOptions::default() };
    let lane = Lane::new(told, options);

    let stream = lane.stream(&ChatRequest::default(), None).await.unwrap();
    assert_eq!(chat(&lane).await, Err(ProviderError::Busy));
    drop(stream);
    assert_eq!(chat(&lane).await, Ok(()));
}
