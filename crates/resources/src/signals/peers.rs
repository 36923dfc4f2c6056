//! Exchanges signals with other processes on the same PostgreSQL database.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_store::{Error, NotificationChannel, Store};
use tokio::time::sleep;
use tracing::warn;

use super::Signals;

/// Signals within this time are sent as one notification.
const BATCH_WINDOW: Duration = Duration::from_millis(20);
/// Delay before a reconnect.
const RECONNECT_DELAY: Duration = Duration::from_secs(2);

impl Signals {
    /// Shares signals with other processes until `shutdown`. Does nothing on SQLite, which has a single
    /// process.
    pub async fn share_with_peers(&self, store: &Store, shutdown: Shutdown) {
        loop {
            let shared = async {
                match store.open_notifications().await {
                    Ok(Some(notices)) => self.exchange_notifications(notices).await,
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
            self.peers.is_connected.store(false, Ordering::Relaxed);
            if let Err(error) = ended {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "notification connection lost, polling more often"
                );
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                () = sleep(RECONNECT_DELAY) => {}
            }
        }
    }

    /// Sends and receives until the connection is lost.
    async fn exchange_notifications(&self, mut notices: NotificationChannel) -> Result<(), Error> {
        self.peers.is_connected.store(true, Ordering::Relaxed);
        // Signals may have been missed while disconnected.
        self.wake_local(u32::MAX);
        loop {
            tokio::select! {
                heard = notices.receive() => match heard {
                    Some(word) => self.wake_local(word.parse().unwrap_or(u32::MAX)),
                    None => return Ok(()),
                },
                () = self.peers.wake.notified() => {
                    sleep(BATCH_WINDOW).await;
                    let untold = self.peers.pending_topics.swap(0, Ordering::Relaxed);
                    notices.notify(&untold.to_string()).await?;
                }
            }
        }
    }
}
