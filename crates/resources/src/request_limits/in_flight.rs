//! Counts what is in flight, for each user and project.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cynode_domain::ids::{ProjectId, UserId};

/// Requests of different users rarely wait for the same lock.
const SHARDS: usize = 64;

/// What is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CountKey {
    Requests(UserId),
    /// Of agents that act for the user.
    AgentRequests(UserId),
    Streams(UserId),
    ProjectRequests(ProjectId),
    ProjectStreams(ProjectId),
}

/// The counts above zero, in shards with a lock each.
pub(super) struct InFlightCounts {
    shards: [Mutex<HashMap<CountKey, u32>>; SHARDS],
    hasher: RandomState,
}

/// Holds one place of a count until it is dropped.
pub(super) struct InFlightSlot {
    counts: Arc<InFlightCounts>,
    key: CountKey,
}

impl InFlightCounts {
    pub(super) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), hasher: RandomState::new() }
    }

    /// Takes a place; `None` if `limit` places are taken.
    pub(super) fn acquire(self: &Arc<Self>, key: CountKey, limit: u32) -> Option<InFlightSlot> {
        let mut counts = self.lock_shard(key);
        let taken = counts.get(&key).copied().unwrap_or_default();
        if taken >= limit {
            return None;
        }
        counts.insert(key, taken + 1);
        drop(counts);
        Some(InFlightSlot { counts: Arc::clone(self), key })
    }

    fn lock_shard(&self, key: CountKey) -> MutexGuard<'_, HashMap<CountKey, u32>> {
        let hash = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or_default();
        self.shards[hash].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many counts are above zero.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

impl Drop for InFlightSlot {
    fn drop(&mut self) {
        let mut counts = self.counts.lock_shard(self.key);
        if let Some(taken) = counts.get_mut(&self.key) {
            *taken -= 1;
            if *taken == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_ends_with_its_last_slot() {
        let counts = Arc::new(InFlightCounts::new());
        let user = UserId::generate();
        let slots: Vec<_> = (0..3).map(|_| counts.acquire(CountKey::Requests(user), 2)).collect();

        assert_eq!(slots.iter().flatten().count(), 2);
        assert!(counts.acquire(CountKey::Streams(user), 1).is_some(), "counted separately");
        assert!(counts.acquire(CountKey::Requests(UserId::generate()), 1).is_some());
        assert_eq!(counts.len(), 1);
        drop(slots);
        assert_eq!(counts.len(), 0);
    }

    #[test]
    fn concurrent_callers_never_hold_more_than_the_limit() {
        let counts = Arc::new(InFlightCounts::new());
        let key = CountKey::Requests(UserId::generate());

        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let slots = [counts.acquire(key, 3), counts.acquire(key, 3)];
                        let taken = counts.lock_shard(key).get(&key).copied().unwrap_or_default();
                        assert!(taken <= 3);
                        drop(slots);
                    }
                });
            }
        });

        assert_eq!(counts.len(), 0);
    }
}
