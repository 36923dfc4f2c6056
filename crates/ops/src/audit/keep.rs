//! Whose chain this process writes, and how long records are kept.

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
use cynode_store::{
    AuditLane, AuditRecord, AuditStore, ChainHead, Sealed, SettingStore, Store, Tx,
};
use tracing::{info, warn};

use super::{AuditError, AuditLog, micros};

/// Days that records are kept; for good without it.
const RETENTION_DAYS: &str = "mcp.audit.retention_days";

const INTERVAL: Duration = Duration::from_hours(1);
/// Records removed at a time: removal never holds up writers for long.
const PAGE: u32 = 2000;

impl AuditLog {
    /// Opens the log for this data directory, whose file `instance.id` names its chain. Calls that
    /// were going on when the last process of this directory ended are recorded as interrupted.
    pub async fn open(
        store: Store,
        clock: SharedClock,
        data_dir: &Path,
    ) -> Result<Self, AuditError> {
        let path = data_dir.join("instance.id");
        let failed = |cause| AuditError::Instance { path: path.display().to_string(), cause };
        let chain = instance(&path).map_err(failed)?;
        let now = {
            let clock = clock.clone();
            Arc::new(move || micros(clock.now()))
        };
        let lane = AuditLane::open(&store, chain, ChainId::generate(), now).await?;
        if lane.chain() != chain {
            write(&path, lane.chain()).map_err(failed)?;
        }
        Ok(Self { store, clock, lane })
    }

    /// Removes records that are older than they are to be kept, every hour, until the process
    /// stops.
    pub async fn run(self, shutdown: Shutdown) {
        loop {
            match self.retain().await {
                Ok(0) => {}
                Ok(removed) => info!("{removed} audit records were removed because of their age"),
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "audit retention failed");
                }
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }

    /// Removes records that are older than they are to be kept: from the beginning of each chain,
    /// up to the first that is younger or belongs to a call that goes on. Gives how many.
    pub async fn retain(&self) -> Result<u64, AuditError> {
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
                        Box::pin(async move { forget(tx, &head, end, micros(now)).await })
                    })
                    .await?;
                removed += some;
                if some < u64::from(PAGE) {
                    break;
                }
            }
        }
        Ok(removed)
    }
}

async fn forget(
    tx: &mut Tx,
    head: &ChainHead,
    end: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<u64, AuditError> {
    let from = tx.chain_anchor(head.chain).await?.map_or(0, |(seq, _)| seq);
    let oldest = tx.chain_records(head.chain, from, PAGE).await?;
    let is_over = |sealed: &&Sealed| {
        let time = match &sealed.record {
            Ok(AuditRecord::Call(call)) => call.created_at,
            Ok(AuditRecord::Outcome(outcome)) => outcome.recorded_at,
            // What cannot be read is evidence.
            Err(_) => return false,
        };
        time < end && sealed.seal.seq < head.open_from
    };
    let Some(last) = oldest.iter().take_while(is_over).last() else {
        return Ok(0);
    };
    Ok(tx.chain_forget(head.chain, (last.seal.seq, &last.seal.hash), now).await?)
}

/// The chain of this data directory, made when first needed. An empty file is what a power cut left of
/// one that an earlier version wrote: a new chain begins, and the old one stays in the database.
fn instance(path: &Path) -> io::Result<ChainId> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return begin(path),
        Err(error) => return Err(error),
    };
    if text.trim().is_empty() {
        warn!("{} was empty: a new chain of audit records begins", path.display());
        return begin(path);
    }
    text.trim().parse().map_err(|error| {
        let reason = format!(
            "it does not hold the id of an audit chain ({error}); \
             remove the file to begin a new chain"
        );
        io::Error::new(io::ErrorKind::InvalidData, reason)
    })
}

fn begin(path: &Path) -> io::Result<ChainId> {
    let chain = ChainId::generate();
    write(path, chain)?;
    Ok(chain)
}

fn write(path: &Path, chain: ChainId) -> io::Result<()> {
    durable_file::replace(path, format!("{chain}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_instance_file_begins_a_new_chain_and_a_damaged_one_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance.id");
        let first = instance(&path).unwrap();
        assert_eq!(instance(&path).unwrap(), first);

        fs::write(&path, "").unwrap();
        let second = instance(&path).unwrap();
        assert_ne!(second, first);
        assert_eq!(instance(&path).unwrap(), second);

        fs::write(&path, "garbage").unwrap();
        let rejected = instance(&path).unwrap_err().to_string();
        assert!(rejected.contains("remove the file"), "{rejected}");
    }
}
