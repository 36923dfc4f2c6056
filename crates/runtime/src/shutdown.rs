//! Graceful shutdown of a process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::tasks::BackgroundTasks;

/// Exit code after a second Ctrl-C: 128 + SIGINT.
const INTERRUPTED_EXIT_CODE: i32 = 130;

/// The shutdown signal. Clones share it; it cannot be reset.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
}

impl Shutdown {
    pub fn new() -> Self {
        Self::default()
    }

    /// Triggered by the first SIGTERM or SIGINT. A SIGINT after that exits the process immediately.
    ///
    /// Must be called inside a tokio runtime.
    pub fn on_signals(tasks: &BackgroundTasks) -> io::Result<Self> {
        let shutdown = Self::new();
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        tasks.spawn("signals", shutdown.clone().watch_signals(terminate, interrupt));
        Ok(shutdown)
    }

    /// Triggers the shutdown.
    pub fn trigger(&self) {
        self.token.cancel();
    }

    pub fn is_triggered(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Resolves when the shutdown is triggered; immediately if it was.
    pub async fn triggered(&self) {
        self.token.cancelled().await;
    }

    async fn watch_signals(self, mut terminate: Signal, mut interrupt: Signal) {
        let name = tokio::select! {
            _ = terminate.recv() => Some("SIGTERM"),
            _ = interrupt.recv() => Some("SIGINT"),
            () = self.triggered() => None,
        };
        if let Some(name) = name {
            tracing::info!(signal = name, "stopping on {name}");
        }
        self.trigger();
        exit_on_signal(interrupt);
    }
}

/// The SIGHUP signals of this process, which no longer end it.
#[derive(Debug)]
pub struct Hangups(Signal);

impl Hangups {
    /// Must be called inside a tokio runtime.
    pub fn listen() -> io::Result<Self> {
        signal(SignalKind::hangup()).map(Self)
    }

    /// Resolves at the next signal.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// Exits the process at the next signal.
fn exit_on_signal(mut interrupt: Signal) {
    let impatient = async move {
        if interrupt.recv().await.is_some() {
            #[expect(clippy::disallowed_methods, reason = "second Ctrl-C: do not wait")]
            std::process::exit(INTERRUPTED_EXIT_CODE);
        }
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "waits forever, so a tracked task would keep BackgroundTasks::finish from returning"
    )]
    drop(tokio::spawn(impatient));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn every_clone_hears_the_wish_to_stop_and_keeps_it() {
        let shutdown = Shutdown::new();
        let other = shutdown.clone();
        assert!(!other.is_triggered());

        shutdown.trigger();

        other.triggered().await;
        other.triggered().await;
        assert!(other.is_triggered());
    }

    #[tokio::test]
    async fn waiting_for_signals_does_not_hold_up_the_end() {
        let tasks = BackgroundTasks::new();
        let shutdown = Shutdown::on_signals(&tasks).unwrap();
        shutdown.trigger();
        assert!(tasks.finish(Duration::from_secs(5)).await);
    }
}
