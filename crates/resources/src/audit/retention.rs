//! Opening this process's audit chain, and retention.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::ids::ChainId;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::durable_file;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{AuditRecord, AuditWriter, ChainHead, SealedRecord, Store, Tx};
use tracing::{info, warn};

use super::{AuditError, AuditLog, truncate_to_micros};

/// Setting: days to retain records; without it they are never deleted.
const RETENTION_DAYS: &str = "mcp.audit.retention_days";

const RETENTION_INTERVAL: Duration = Duration::from_hours(1);
/// Records deleted per transaction, so that retention does not block writers for long.
const DELETE_BATCH: u32 = 2000;

impl AuditLog {
    /// Opens the log for this data directory, whose file `instance.id` holds the chain id. Calls that
    /// were open when the last process of this directory ended are recorded as interrupted.
    pub async fn open(
        store: Store,
        clock: SharedClock,
        data_dir: &Path,
    ) -> Result<Self, AuditError> {
        let path = data_dir.join("instance.id");
        let failed = |cause| AuditError::Instance { path: path.display().to_string(), cause };
        let chain = load_chain_id(&path).map_err(failed)?;
        let now = {
            let clock = clock.clone();
            Arc::new(move || truncate_to_micros(clock.now()))
        };
        let lane = AuditWriter::open(&store, chain, ChainId::generate(), now).await?;
        if lane.chain() != chain {
            write_chain_id(&path, lane.chain()).map_err(failed)?;
        }
        Ok(Self { store, clock, lane })
    }

    /// Applies retention every hour until shutdown.
    pub async fn run(self, shutdown: Shutdown) {
        loop {
            match self.apply_retention().await {
                Ok(0) => {}
                Ok(removed) => info!(removed, "expired audit records deleted"),
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "audit retention failed");
                }
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(RETENTION_INTERVAL) => {}
            }
        }
    }

    /// Deletes expired records: from the beginning of each chain up to the first record that is younger
    /// or belongs to an open call. Returns the number of deleted records.
    pub async fn apply_retention(&self) -> Result<u64, AuditError> {
        let (days, chains) = self
            .store
            .read(|tx| {
                Box::pin(async move {
                    let setting = tx.setting_list(RETENTION_DAYS, None, 1).await?;
                    let setting = setting.into_iter().find(|found| found.key == RETENTION_DAYS);
                    let days = setting.and_then(|setting| setting.value.as_u64());
                    Ok::<_, AuditError>((days, tx.chain_list().await?))
                })
            })
            .await?;
        let days = days.filter(|days| *days > 0).and_then(|days| i64::try_from(days).ok());
        let age = days.and_then(chrono::Duration::try_days);
        let now = self.clock.now();
        let Some(end) = age.and_then(|age| now.checked_sub_signed(age)) else {
            return Ok(0);
        };
        let mut removed = 0;
        for head in chains {
            loop {
                let head = head.clone();
                let some = self
                    .store
                    .write(move |tx| {
                        Box::pin(async move {
                            delete_expired(tx, &head, end, truncate_to_micros(now)).await
                        })
                    })
                    .await?;
                removed += some;
                if some < u64::from(DELETE_BATCH) {
                    break;
                }
            }
        }
        Ok(removed)
    }
}

async fn delete_expired(
    tx: &mut Tx,
    head: &ChainHead,
    end: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<u64, AuditError> {
    let from = tx.chain_anchor(head.chain).await?.map_or(0, |(seq, _)| seq);
    let oldest = tx.chain_records(head.chain, from, DELETE_BATCH).await?;
    let is_over = |sealed: &&SealedRecord| {
        let time = match &sealed.record {
            Ok(AuditRecord::Call(call)) => call.created_at,
            Ok(AuditRecord::Outcome(outcome)) => outcome.recorded_at,
            // An unreadable record is evidence.
            Err(_) => return false,
        };
        time < end && sealed.seal.seq < head.open_from
    };
    let Some(last) = oldest.iter().take_while(is_over).last() else {
        return Ok(0);
    };
    Ok(tx.chain_truncate(head.chain, (last.seal.seq, &last.seal.hash), now).await?)
}

/// The chain id of this data directory, generated on first use. An empty file (an earlier version
/// and a power failure) starts a new chain; the old one stays in the database.
fn load_chain_id(path: &Path) -> io::Result<ChainId> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return create_chain_id(path),
        Err(error) => return Err(error),
    };
    if text.trim().is_empty() {
        warn!(path = %path.display(), "audit chain file is empty, starting a new chain");
        return create_chain_id(path);
    }
    text.trim().parse().map_err(|error| {
        let reason = format!(
            "it does not contain an audit chain id ({error}); \
             remove the file to start a new chain"
        );
        io::Error::new(io::ErrorKind::InvalidData, reason)
    })
}

fn create_chain_id(path: &Path) -> io::Result<ChainId> {
    let chain = ChainId::generate();
    write_chain_id(path, chain)?;
    Ok(chain)
}

fn write_chain_id(path: &Path, chain: ChainId) -> io::Result<()> {
    durable_file::replace(path, format!("{chain}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_instance_file_begins_a_new_chain_and_a_damaged_one_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance.id");
        let first = load_chain_id(&path).unwrap();
        assert_eq!(load_chain_id(&path).unwrap(), first);

        fs::write(&path, "").unwrap();
        let second = load_chain_id(&path).unwrap();
        assert_ne!(second, first);
        assert_eq!(load_chain_id(&path).unwrap(), second);

        fs::write(&path, "garbage").unwrap();
        let rejected = load_chain_id(&path).unwrap_err().to_string();
        assert!(rejected.contains("remove the file"), "{rejected}");
    }
}
