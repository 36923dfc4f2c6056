//! Telling other processes on the same PostgreSQL what happened, and hearing what happened there.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_store::{Error, Notices, Store};
use tokio::time::sleep;
use tracing::warn;

use super::Signals;

/// What happens within this time is told at once.
const TOGETHER: Duration = Duration::from_millis(20);
/// How long after a lost connection a new one is tried.
const RETRY: Duration = Duration::from_secs(2);

impl Signals {
    /// Shares signals with other processes until `shutdown`. Does nothing on SQLite, which has one
    /// process only.
    pub async fn share(&self, store: &Store, shutdown: Shutdown) {
        loop {
            let shared = async {
                match store.notices().await {
                    Ok(Some(notices)) => self.exchange(notices).await,
                    Ok(None) => {
                        std::future::pending::<()>().await;
                        Ok(())
                    }
                    Err(error) => Err(error),
                }
            };
            let ended = tokio::select! {
                () = shutdown.triggered() => return,
                ended = shared => ended,
            };
            self.others.are_heard.store(false, Ordering::Relaxed);
            if let Err(error) = ended {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "other orchestrators are not heard: looking more often instead"
                );
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                () = sleep(RETRY) => {}
            }
        }
    }

    /// Tells and hears until the connection is lost.
    async fn exchange(&self, mut notices: Notices) -> Result<(), Error> {
        self.others.are_heard.store(true, Ordering::Relaxed);
        // What happened while nobody was heard.
        self.wake(u32::MAX);
        loop {
            tokio::select! {
                heard = notices.hear() => match heard {
                    Some(word) => self.wake(word.parse().unwrap_or(u32::MAX)),
                    None => return Ok(()),
                },
                () = self.others.wake.notified() => {
                    sleep(TOGETHER).await;
                    let untold = self.others.untold.swap(0, Ordering::Relaxed);
                    notices.tell(&untold.to_string()).await?;
                }
            }
        }
    }
}
