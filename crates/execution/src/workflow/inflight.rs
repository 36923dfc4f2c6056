//! In-flight cache of project manager answers, computed in the background of the requests that need them.
//!
//! A runner asks, waits, and asks again; it gets the same answer. Answers are cached briefly: the effect that the
//! runner records is what counts. After a restart they are computed again, which is safe because computing them has
//! no side effects.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cynode_runtime::tasks::BackgroundTasks;
use tokio::time::Instant;

use crate::handoff::HandoffError;
use cynode_resources::Signals;
use cynode_resources::signals::Topic;

/// How long an unfetched answer is cached.
const CACHE_TTL: Duration = Duration::from_mins(10);
/// Total attempts per question, which also bounds how often a question can crash the project manager.
const MAX_ATTEMPTS: u32 = 4;
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long to wait for an unreachable project manager: a restart takes a while on a busy machine.
const MAX_UNREACHABLE: Duration = Duration::from_secs(30);

/// Answers that are being computed or were not fetched yet. Cheap to clone.
pub(super) struct InFlightCache<K, V> {
    signals: Signals,
    answers: Arc<Mutex<HashMap<K, InFlightEntry<V>>>>,
    background: BackgroundTasks,
}

struct InFlightEntry<V> {
    started_at: Instant,
    /// `None` while it is being computed.
    answer: Option<V>,
}

impl<K, V> Clone for InFlightCache<K, V> {
    fn clone(&self) -> Self {
        let (signals, background) = (self.signals.clone(), self.background.clone());
        Self { signals, answers: Arc::clone(&self.answers), background }
    }
}

impl<K, V> InFlightCache<K, V>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Clone + Send + 'static,
{
    pub(super) fn new(signals: Signals) -> Self {
        Self { signals, answers: Arc::default(), background: BackgroundTasks::new() }
    }

    /// Returns the answer if it is ready; starts computing it if no earlier call did. [`Topic::Results`] is signalled
    /// when it is ready.
    pub(super) fn get_or_start(
        &self,
        key: K,
        make: impl Future<Output = V> + Send + 'static,
    ) -> Option<V> {
        let mut answers = self.lock();
        answers
            .retain(|_, making| making.answer.is_none() || making.started_at.elapsed() < CACHE_TTL);
        if let Some(making) = answers.get(&key) {
            return making.answer.clone();
        }
        answers.insert(key.clone(), InFlightEntry { started_at: Instant::now(), answer: None });
        let guard = InFlightSlotGuard { cache: self.clone(), key };
        self.background.spawn("answer of the project manager", async move {
            let answer = Some(make.await);
            let InFlightSlotGuard { cache: beside, key } = &guard;
            beside.lock().insert(key.clone(), InFlightEntry { started_at: Instant::now(), answer });
            beside.signals.send(Topic::Results);
        });
        None
    }

    /// Whether an answer with a matching key is being computed.
    pub(super) fn is_in_flight(&self, of: impl Fn(&K) -> bool) -> bool {
        self.lock().iter().any(|(key, making)| making.answer.is_none() && of(key))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, InFlightEntry<V>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drop guard of a cache entry. If the computation panics or is stopped, dropping the guard removes the entry, and
/// the next call starts again. No signal is sent then, so that a computation that always panics runs at most once
/// per call.
struct InFlightSlotGuard<K: Eq + Hash, V> {
    cache: InFlightCache<K, V>,
    key: K,
}

impl<K: Eq + Hash, V> Drop for InFlightSlotGuard<K, V> {
    fn drop(&mut self) {
        let mut answers = self.cache.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.get(&self.key).is_some_and(|making| making.answer.is_none()) {
            answers.remove(&self.key);
        }
    }
}

/// Retries while the project manager is unreachable; only for handoffs without side effects.
pub(super) async fn retry_unreachable<A, F>(mut ask: impl FnMut() -> F) -> Result<A, HandoffError>
where
    F: Future<Output = Result<A, HandoffError>>,
{
    let begun = Instant::now();
    let mut tries = 0;
    loop {
        match ask().await {
            Err(HandoffError::Unreachable(_)) if begun.elapsed() < MAX_UNREACHABLE => {}
            Err(error) if error.is_retryable() && tries + 1 < MAX_ATTEMPTS => tries += 1,
            answer => return answer,
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

#[cfg(test)]
mod tests {
    use cynode_store::DatabaseEngine;

    use super::*;

    /// Lets the background tasks run.
    async fn run_background_tasks() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn an_answer_whose_making_panicked_is_made_anew_for_who_asks_next() {
        let beside: InFlightCache<u8, &str> =
            InFlightCache::new(Signals::new(DatabaseEngine::Sqlite));

        assert_eq!(beside.get_or_start(1, async { panic!("a defect") }), None);
        run_background_tasks().await;
        assert_eq!(beside.get_or_start(1, async { "an answer" }), None);
        run_background_tasks().await;

        assert_eq!(beside.get_or_start(1, async { "another" }), Some("an answer"));
    }

    /// How often and for how long a failing call is retried.
    async fn count_retries(fault: fn() -> HandoffError) -> (u32, Duration) {
        let (begun, mut times) = (Instant::now(), 0);
        let answer: Result<(), _> = retry_unreachable(|| {
            times += 1;
            async move { Err(fault()) }
        })
        .await;
        assert!(answer.is_err());
        (times, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_not_there_is_waited_for_and_who_dies_of_a_question_is_asked_it_seldom() {
        let (_, waited) = count_retries(|| HandoffError::Unreachable("it starts".to_owned())).await;
        let (times, _) = count_retries(|| HandoffError::ConnectionLost("it died".to_owned())).await;
        let (once, _) = count_retries(|| HandoffError::Failed("it says no".to_owned())).await;

        assert!(waited >= MAX_UNREACHABLE && waited < 2 * MAX_UNREACHABLE, "{waited:?}");
        assert_eq!((times, once), (MAX_ATTEMPTS, 1));
    }
}
