//! Background tasks that shutdown waits for.
//!
//! All background work is spawned here and never with `tokio::spawn`, so that a process knows when all
//! of it has ended.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

/// The background tasks of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct BackgroundTasks {
    tracker: TaskTracker,
    /// Canceled when [`BackgroundTasks::finish`] starts.
    ending: CancellationToken,
}

impl BackgroundTasks {
    pub fn new() -> Self {
        Self::default()
    }

    /// Spawns `future` in the caller's span.
    ///
    /// A panic ends this task only; it is logged with `name`.
    pub fn spawn<F>(&self, name: &'static str, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let guarded = async move {
            if let Err(panic) = AssertUnwindSafe(future).catch_unwind().await {
                let reason = panic_message(panic.as_ref());
                tracing::error!(
                    task.name = name,
                    panic = reason,
                    "background task {name} panicked"
                );
            }
        };
        self.tracker.spawn(guarded.in_current_span());
    }

    /// The same for work that is canceled as soon as [`BackgroundTasks::finish`] starts.
    pub fn spawn_until_finish<F>(&self, name: &'static str, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let ending = self.ending.clone();
        self.spawn(name, async move {
            tokio::select! {
                () = future => {}
                () = ending.cancelled() => {}
            }
        });
    }

    /// Resolves when [`BackgroundTasks::finish`] starts; immediately if it has. Long-running work awaits it, persists
    /// its state, and ends.
    pub async fn finishing(&self) {
        self.ending.cancelled().await;
    }

    /// The number of running tasks.
    pub fn running(&self) -> usize {
        self.tracker.len()
    }

    /// Signals every task to end and waits up to `within`; returns whether all ended.
    pub async fn finish(&self, within: Duration) -> bool {
        self.ending.cancel();
        self.tracker.close();
        tokio::time::timeout(within, self.tracker.wait()).await.is_ok()
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn finish_waits_for_spawned_work() {
        let tasks = BackgroundTasks::new();
        let done = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&done);
        tasks.spawn("worker", async move {
            tokio::task::yield_now().await;
            flag.store(true, Ordering::SeqCst);
        });

        assert!(tasks.finish(Duration::from_secs(5)).await);
        assert!(done.load(Ordering::SeqCst));
        assert_eq!(tasks.running(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn finish_says_so_when_work_does_not_end() {
        let tasks = BackgroundTasks::new();
        tasks.spawn("stuck", std::future::pending());
        assert!(!tasks.finish(Duration::from_secs(5)).await);
        assert_eq!(tasks.running(), 1);
    }

    #[tokio::test]
    async fn work_that_watches_for_the_end_is_asked_to_come_to_it() {
        let tasks = BackgroundTasks::new();
        let kept = Arc::new(AtomicBool::new(false));
        let (flag, watched) = (Arc::clone(&kept), tasks.clone());
        tasks.spawn("careful", async move {
            watched.finishing().await;
            flag.store(true, Ordering::SeqCst);
        });
        tasks.spawn_until_finish("careless", std::future::pending());

        assert!(tasks.finish(Duration::from_secs(5)).await);

        assert!(kept.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_panicking_task_is_logged_with_its_name_and_leaves_the_others_alone() {
        let log = crate::telemetry::capture::LogCapture::default();
        let _guard = tracing::subscriber::set_default(log.subscriber());
        let tasks = BackgroundTasks::new();
        tasks.spawn("sweeper", async { panic!("broom broke") });
        let done = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&done);
        tasks.spawn("worker", async move { flag.store(true, Ordering::SeqCst) });

        assert!(tasks.finish(Duration::from_secs(5)).await);

        assert!(done.load(Ordering::SeqCst));
        let line = log.text();
        assert!(line.contains("background task sweeper panicked"), "{line}");
        assert!(line.contains("broom broke"), "{line}");
    }
}
