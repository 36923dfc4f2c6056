//! One wish to stop, heard by every part of a process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::tasks::Tasks;

/// The exit code of a process that a second Ctrl-C ended at once: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// The wish to stop. Clones share it; once triggered it stays so.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
}

impl Shutdown {
    /// Nobody wishes to stop yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Triggered by the first SIGTERM or SIGINT. A SIGINT after that ends the process at once,
    /// for a person who will not wait.
    ///
    /// Must be called inside a tokio runtime.
    pub fn on_signals(tasks: &Tasks) -> io::Result<Self> {
        let shutdown = Self::new();
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        tasks.spawn("signals", shutdown.clone().watch(terminate, interrupt));
        Ok(shutdown)
    }

    /// Asks every part to stop.
    pub fn trigger(&self) {
        self.token.cancel();
    }

    /// Whether somebody asked to stop.
    pub fn is_triggered(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Returns once somebody asks to stop; at once if that has happened.
    pub async fn triggered(&self) {
        self.token.cancelled().await;
    }

    async fn watch(self, mut terminate: Signal, mut interrupt: Signal) {
        let name = tokio::select! {
            _ = terminate.recv() => Some("SIGTERM"),
            _ = interrupt.recv() => Some("SIGINT"),
            () = self.triggered() => None,
        };
        if let Some(name) = name {
            tracing::info!(signal = name, "stopping on {name}");
        }
        self.trigger();
        exit_on(interrupt);
    }
}

/// Ends the process at the next signal, whatever else it is waiting for.
fn exit_on(mut interrupt: Signal) {
    let impatient = async move {
        if interrupt.recv().await.is_some() {
            #[expect(clippy::disallowed_methods, reason = "the person asked twice: do not wait")]
            std::process::exit(INTERRUPTED);
        }
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "waits for ever, so a tracked task would keep Tasks::finish from returning"
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
        let tasks = Tasks::new();
        let shutdown = Shutdown::on_signals(&tasks).unwrap();
        shutdown.trigger();
        assert!(tasks.finish(Duration::from_secs(5)).await);
    }
}
