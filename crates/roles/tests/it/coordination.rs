//! Fairness and order of a pool under many threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cynode_roles::{Coordinator, PooledWorker};

#[derive(Debug, Default)]
struct CountingWorker(AtomicUsize);

impl PooledWorker for CountingWorker {}

#[test]
fn many_threads_share_the_workers_within_one_of_the_mean() {
    const THREADS: usize = 8;
    const STEPS: usize = 5_003;
    for size in [1, 2, 3, 7] {
        let workers = (0..size).map(|_| CountingWorker::default()).collect();
        let pool = Arc::new(Coordinator::new(workers));
        let callers: Vec<_> = (0..THREADS)
            .map(|_| {
                let pool = Arc::clone(&pool);
                thread::spawn(move || {
                    for _ in 0..STEPS {
                        let worker = pool.assign().unwrap().next().unwrap();
                        worker.0.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        let counts: Vec<usize> =
            pool.workers().iter().map(|worker| worker.0.load(Ordering::Relaxed)).collect();
        let total = THREADS * STEPS;
        assert_eq!(counts.iter().sum::<usize>(), total);
        for count in &counts {
            assert!(count * size + size > total && *count * size < total + size, "{counts:?}");
        }
    }
}

#[test]
fn one_caller_gets_the_workers_in_their_order() {
    let pool = Coordinator::new((0..3).map(|_| CountingWorker::default()).collect());
    let order: Vec<usize> = (0..7)
        .map(|_| {
            let worker = pool.assign().unwrap().next().unwrap();
            pool.workers().iter().position(|it| std::ptr::eq(it, worker)).unwrap()
        })
        .collect();

    assert_eq!(order, [0, 1, 2, 0, 1, 2, 0]);
}
