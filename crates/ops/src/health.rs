//! Whether state can be written, and what of it cannot be read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_runtime::clock::SharedClock;
use cynode_store::{QuarantineStore, QuarantinedRow, Store};
use tracing::error;

use crate::Blobs;

/// How long a probe that succeeded is good for: whoever asks more often causes no more writes.
const FRESH: chrono::Duration = chrono::Duration::seconds(5);
/// How long a probe may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// Rows in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// How many there are.
    pub number: i64,
    /// The oldest of them.
    pub rows: Vec<QuarantinedRow>,
}

/// Whether state can be written and read. Cheap to clone.
#[derive(Clone)]
pub struct Health {
    store: Store,
    blobs: Blobs,
    clock: SharedClock,
    /// When everything could be written.
    written_at: Arc<Mutex<Option<DateTime<Utc>>>>,
}

impl Health {
    /// The health of `store` and `blobs`.
    pub fn new(store: Store, blobs: Blobs, clock: SharedClock) -> Self {
        Self { store, blobs, clock, written_at: Arc::default() }
    }

    /// Why nothing can be written; nothing if everything can. It is found out by writing.
    pub async fn write_fault(&self) -> Option<String> {
        let now = self.clock.now();
        let written_at = *self.written_at.lock().unwrap_or_else(PoisonError::into_inner);
        if written_at.is_some_and(|then| (then..then + FRESH).contains(&now)) {
            return None;
        }
        let fault = match self.probe_store().await {
            None => self.probe_blobs().await,
            fault => fault,
        };
        let written_at = fault.is_none().then_some(now);
        *self.written_at.lock().unwrap_or_else(PoisonError::into_inner) = written_at;
        fault
    }

    async fn probe_store(&self) -> Option<String> {
        let written = self.store.write(|tx| Box::pin(async move { tx.write_probe().await }));
        match tokio::time::timeout(PATIENCE, written).await {
            Ok(Ok(())) => None,
            Ok(Err(fault)) => {
                error!(error = &fault as &dyn std::error::Error, "database not writable");
                Some(
                    "the database cannot be written: is its disk full? The log has the cause"
                        .into(),
                )
            }
            Err(_) => Some("the database does not answer".to_owned()),
        }
    }

    async fn probe_blobs(&self) -> Option<String> {
        let fault = self.blobs.probe().await.err()?;
        error!(error = &fault as &dyn std::error::Error, "blob directory not writable");
        Some(
            "attachments and artifacts cannot be stored: is the disk of the data directory full?"
                .into(),
        )
    }

    /// Rows that cannot be read, and the oldest `limit` of them.
    pub async fn quarantined(&self, limit: u32) -> Result<Quarantined, cynode_store::Error> {
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let number = tx.quarantine_count().await?;
                    let rows = if limit > 0 { tx.quarantine_list(limit).await? } else { vec![] };
                    Ok(Quarantined { number, rows })
                })
            })
            .await
    }
}
