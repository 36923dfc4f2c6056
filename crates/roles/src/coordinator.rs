//! Assigns work to the workers of a pool, in turn.

use std::sync::PoisonError;

// Under test, every interleaving of the lock is explored; `tests/it` has the threads of the system.
#[cfg(test)]
use loom::sync::Mutex;
#[cfg(not(test))]
use std::sync::Mutex;

/// A member of a pool.
pub trait PooledWorker {
    /// Workers that are not available are assigned last.
    fn is_available(&self) -> bool {
        true
    }
}

/// The pool has no workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are no workers: configure at least one")]
pub struct NoWorkers;

/// Assigns work to pooled workers, round-robin.
///
/// Invariant: while the same workers are available, the numbers of assignments of any two of them differ by at most one,
/// however many callers there are; the turn is taken under one lock.
#[derive(Debug)]
pub struct Coordinator<W> {
    workers: Vec<W>,
    /// Position of the worker whose turn is next.
    next: Mutex<usize>,
}

impl<W: PooledWorker> Coordinator<W> {
    pub fn new(workers: Vec<W>) -> Self {
        Self { workers, next: Mutex::new(0) }
    }

    pub fn workers(&self) -> &[W] {
        &self.workers
    }

    /// Starts an assignment. Its first item is the worker whose turn it is; the others stand in for workers that do
    /// not take the work.
    pub fn assign(&self) -> Result<Assignment<'_, W>, NoWorkers> {
        if self.workers.is_empty() {
            return Err(NoWorkers);
        }
        Ok(Assignment { coordinator: self, tried: Vec::new() })
    }

    /// Takes the turn of a worker that was not tried yet.
    fn take_turn(&self, tried: &[usize]) -> Option<usize> {
        let count = self.workers.len();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let in_turn = || (0..count).map(|n| (*next + n) % count).filter(|at| !tried.contains(at));
        let is_available = |at: &usize| self.workers.get(*at).is_some_and(W::is_available);
        let index = in_turn().find(is_available).or_else(|| in_turn().next())?;
        *next = (index + 1) % count;
        Some(index)
    }
}

/// The workers for one piece of work: each at most once.
#[derive(Debug)]
pub struct Assignment<'a, W> {
    coordinator: &'a Coordinator<W>,
    tried: Vec<usize>,
}

impl<'a, W: PooledWorker> Iterator for Assignment<'a, W> {
    type Item = &'a W;

    fn next(&mut self) -> Option<&'a W> {
        let index = self.coordinator.take_turn(&self.tried)?;
        self.tried.push(index);
        self.coordinator.workers.get(index)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Counts its assignments. The counter is no part of what loom explores.
    #[derive(Debug, Default)]
    struct CountingWorker {
        assigned: AtomicUsize,
        is_away: AtomicBool,
    }

    impl PooledWorker for CountingWorker {
        fn is_available(&self) -> bool {
            !self.is_away.load(Ordering::SeqCst)
        }
    }

    fn pool(count: usize) -> Coordinator<CountingWorker> {
        Coordinator::new((0..count).map(|_| CountingWorker::default()).collect())
    }

    fn assign_once(pool: &Coordinator<CountingWorker>) {
        let worker = pool.assign().unwrap().next().unwrap();
        worker.assigned.fetch_add(1, Ordering::SeqCst);
    }

    fn counts(pool: &Coordinator<CountingWorker>) -> Vec<usize> {
        pool.workers().iter().map(|worker| worker.assigned.load(Ordering::SeqCst)).collect()
    }

    #[test]
    fn in_every_interleaving_of_callers_workers_are_assigned_evenly() {
        loom::model(|| {
            let pool = Arc::new(pool(2));
            let callers: Vec<_> = (0..2)
                .map(|_| {
                    let pool = Arc::clone(&pool);
                    thread::spawn(move || {
                        assign_once(&pool);
                        assign_once(&pool);
                    })
                })
                .collect();
            assign_once(&pool);
            for caller in callers {
                caller.join().unwrap();
            }
            let counts = counts(&pool);
            assert_eq!(counts.iter().sum::<usize>(), 5);
            assert!(counts[0].abs_diff(counts[1]) <= 1, "{counts:?}");
        });
    }

    #[test]
    fn in_every_interleaving_failover_tries_every_worker_once() {
        loom::model(|| {
            let pool = Arc::new(pool(3));
            let other = {
                let pool = Arc::clone(&pool);
                thread::spawn(move || assign_once(&pool))
            };
            let mut tried: Vec<*const CountingWorker> =
                pool.assign().unwrap().map(std::ptr::from_ref).collect();
            other.join().unwrap();
            tried.sort_unstable();
            tried.dedup();
            assert_eq!(tried.len(), 3);
        });
    }

    #[test]
    fn a_pool_without_workers_is_an_error() {
        loom::model(|| {
            assert_eq!(pool(0).assign().unwrap_err(), NoWorkers);
        });
    }

    #[test]
    fn a_worker_that_is_away_is_tried_last_and_the_others_share_evenly() {
        loom::model(|| {
            let pool = pool(3);
            pool.workers()[1].is_away.store(true, Ordering::SeqCst);
            for _ in 0..8 {
                assign_once(&pool);
            }
            assert_eq!(counts(&pool), [4, 0, 4]);

            let order: Vec<bool> = pool.assign().unwrap().map(PooledWorker::is_available).collect();
            assert_eq!(order, [true, true, false]);
        });
    }
}
