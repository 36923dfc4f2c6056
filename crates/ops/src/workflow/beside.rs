//! Answers of the project manager that are made beside the requests that ask for them.
//!
//! A runner asks, waits a while, and asks again; it gets the same answer. Answers are kept here for a
//! while only: what counts is the effect that the runner records. After a restart they are made anew,
//! which does no harm, because nothing is done by making them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cynode_runtime::tasks::Tasks as Background;
use tokio::time::Instant;

use crate::Signals;
use crate::handoff::HandoffError;
use crate::signals::Topic;

/// How long an answer that nobody fetched is kept.
const KEPT: Duration = Duration::from_mins(10);
/// How often the project manager is asked in all. One that dies of a question is asked it no more often.
const TRIES: u32 = 4;
const BETWEEN_TRIES: Duration = Duration::from_secs(1);
/// How long one is waited for that is not there: being started again takes a while on a busy machine.
const ABSENCE: Duration = Duration::from_secs(30);

/// Answers that are being made, and those nobody fetched yet. Cheap to clone.
pub(super) struct Beside<K, V> {
    signals: Signals,
    answers: Arc<Mutex<HashMap<K, Making<V>>>>,
    background: Background,
}

struct Making<V> {
    begun: Instant,
    /// Nothing while it is being made.
    answer: Option<V>,
}

impl<K, V> Clone for Beside<K, V> {
    fn clone(&self) -> Self {
        let (signals, background) = (self.signals.clone(), self.background.clone());
        Self { signals, answers: Arc::clone(&self.answers), background }
    }
}

impl<K, V> Beside<K, V>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Clone + Send + 'static,
{
    pub(super) fn new(signals: Signals) -> Self {
        Self { signals, answers: Arc::default(), background: Background::new() }
    }

    /// The answer, if it is there; begins to make it if nobody has. Who waits for it is woken by
    /// [`Topic::Results`].
    pub(super) fn progress(
        &self,
        key: K,
        make: impl Future<Output = V> + Send + 'static,
    ) -> Option<V> {
        let mut answers = self.lock();
        answers.retain(|_, making| making.answer.is_none() || making.begun.elapsed() < KEPT);
        if let Some(making) = answers.get(&key) {
            return making.answer.clone();
        }
        answers.insert(key.clone(), Making { begun: Instant::now(), answer: None });
        let place = Place { beside: self.clone(), key };
        self.background.spawn("answer of the project manager", async move {
            let answer = Some(make.await);
            let Place { beside, key } = &place;
            beside.lock().insert(key.clone(), Making { begun: Instant::now(), answer });
            beside.signals.send(Topic::Results);
        });
        None
    }

    /// Whether an answer with such a key is being made.
    pub(super) fn is_making(&self, of: impl Fn(&K) -> bool) -> bool {
        self.lock().iter().any(|(key, making)| making.answer.is_none() && of(key))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Making<V>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where an answer is to be put. Left without one, because its making panicked or was stopped, it is
/// free again: whoever asks next begins anew. Nobody is woken for that, so that what panics each time is
/// tried no more often than it is asked for.
struct Place<K: Eq + Hash, V> {
    beside: Beside<K, V>,
    key: K,
}

impl<K: Eq + Hash, V> Drop for Place<K, V> {
    fn drop(&mut self) {
        let mut answers = self.beside.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.get(&self.key).is_some_and(|making| making.answer.is_none()) {
            answers.remove(&self.key);
        }
    }
}

/// Asks again where the project manager went away; only for what does nothing by itself.
pub(super) async fn patiently<A, F>(mut ask: impl FnMut() -> F) -> Result<A, HandoffError>
where
    F: Future<Output = Result<A, HandoffError>>,
{
    let begun = Instant::now();
    let mut tries = 0;
    loop {
        match ask().await {
            Err(HandoffError::Away(_)) if begun.elapsed() < ABSENCE => {}
            Err(error) if error.may_repeat() && tries + 1 < TRIES => tries += 1,
            answer => return answer,
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
}

#[cfg(test)]
mod tests {
    use cynode_store::Engine;

    use super::*;

    /// Lets what was begun beside this go on.
    async fn others() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn an_answer_whose_making_panicked_is_made_anew_for_who_asks_next() {
        let beside: Beside<u8, &str> = Beside::new(Signals::new(Engine::Sqlite));

        assert_eq!(beside.progress(1, async { panic!("a defect") }), None);
        others().await;
        assert_eq!(beside.progress(1, async { "an answer" }), None);
        others().await;

        assert_eq!(beside.progress(1, async { "another" }), Some("an answer"));
    }

    /// How often and how long somebody is asked who answers like that.
    async fn asked(fault: fn() -> HandoffError) -> (u32, Duration) {
        let (begun, mut times) = (Instant::now(), 0);
        let answer: Result<(), _> = patiently(|| {
            times += 1;
            async move { Err(fault()) }
        })
        .await;
        assert!(answer.is_err());
        (times, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_not_there_is_waited_for_and_who_dies_of_a_question_is_asked_it_seldom() {
        let (_, waited) = asked(|| HandoffError::Away("it starts".to_owned())).await;
        let (times, _) = asked(|| HandoffError::Lost("it died".to_owned())).await;
        let (once, _) = asked(|| HandoffError::Failed("it says no".to_owned())).await;

        assert!(waited >= ABSENCE && waited < 2 * ABSENCE, "{waited:?}");
        assert_eq!((times, once), (TRIES, 1));
    }
}
