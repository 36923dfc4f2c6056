//! Health of the database and the blob store: write probes and quarantined rows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_runtime::clock::SharedClock;
use cynode_store::{QuarantinedRow, Store};
use tracing::error;

use cynode_blobs::BlobStore;

/// Time to live of a successful probe: more frequent checks cause no more writes.
const PROBE_TTL: chrono::Duration = chrono::Duration::seconds(5);
/// Timeout of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(8);

/// Rows in quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineSummary {
    /// Total count.
    pub count: i64,
    pub rows: Vec<QuarantinedRow>,
}

/// Probes storage. Cheap to clone.
#[derive(Clone)]
pub struct StorageHealth {
    store: Store,
    blobs: BlobStore,
    clock: SharedClock,
    /// Time of the last successful probe.
    written_at: Arc<Mutex<Option<DateTime<Utc>>>>,
}

impl StorageHealth {
    pub fn new(store: Store, blobs: BlobStore, clock: SharedClock) -> Self {
        Self { store, blobs, clock, written_at: Arc::default() }
    }

    /// Returns why storage is not writable; `None` if it is. Probes by writing.
    pub async fn check_writable(&self) -> Option<String> {
        let now = self.clock.now();
        let written_at = *self.written_at.lock().unwrap_or_else(PoisonError::into_inner);
        if written_at.is_some_and(|then| (then..then + PROBE_TTL).contains(&now)) {
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
        match tokio::time::timeout(PROBE_TIMEOUT, written).await {
            Ok(Ok(())) => None,
            Ok(Err(fault)) => {
                error!(error = &fault as &dyn std::error::Error, "database not writable");
                Some(
                    "the database is not writable; check its disk space and the orchestrator's log"
                        .into(),
                )
            }
            Err(_) => Some("the database does not respond".to_owned()),
        }
    }

    async fn probe_blobs(&self) -> Option<String> {
        let fault = self.blobs.probe().await.err()?;
        error!(error = &fault as &dyn std::error::Error, "blob directory not writable");
        Some(
            "attachments and artifacts cannot be stored; check the disk space of the data directory"
                .into(),
        )
    }

    /// Returns the number of quarantined rows and the oldest `limit` of them.
    pub async fn load_quarantine(
        &self,
        limit: u32,
    ) -> Result<QuarantineSummary, cynode_store::Error> {
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let number = tx.quarantine_count().await?;
                    let rows = if limit > 0 { tx.quarantine_list(limit).await? } else { vec![] };
                    Ok(QuarantineSummary { count: number, rows })
                })
            })
            .await
    }
}
