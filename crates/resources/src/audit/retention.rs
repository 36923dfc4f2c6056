//! Opening this process's audit chain, and retention.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use cynode_domain::ids::ChainId;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::durable_file;
use cynode_store::{
    AccessChange, AuditKeys, AuditWriter, ChainHead, ChainPosition, ChainVerifier, LOG_CHAIN,
    SealedRecord, Store, Tx,
};
use tracing::warn;

use super::signing::{AuditOptions, HeadFile};
use super::{AuditError, AuditLog, truncate_to_micros};

/// Setting: days to retain records; without it they are never deleted.
const RETENTION_DAYS: &str = "mcp.audit.retention_days";

/// Records deleted per transaction, so that retention does not block writers for long.
const DELETE_BATCH: u32 = 2000;

impl AuditLog {
    /// Opens the log for this data directory, whose file `instance.id` holds the chain id. Calls that
    /// were open when the last process of this directory ended are recorded as interrupted.
    pub async fn open(
        store: Store,
        clock: SharedClock,
        options: &AuditOptions,
    ) -> Result<Self, AuditError> {
        let path = options.data_dir.join("instance.id");
        let failed = |cause| AuditError::File { path: path.display().to_string(), cause };
        let is_known_directory = path.exists();
        let chain = load_chain_id(&path).map_err(failed)?;
        let heads = HeadFile::load(&options.head_file())?;
        let has_signed = heads.as_ref().is_some_and(|heads| !heads.heads().is_empty());
        let keys = Arc::new(options.load_keys(has_signed)?);
        let heads = match heads {
            Some(heads) => heads,
            None => create_heads(&store, &keys, options, is_known_directory).await?,
        };
        let now = {
            let clock = clock.clone();
            Arc::new(move || truncate_to_micros(clock.now()))
        };
        let (known, instead) = (heads.get(chain), ChainId::generate());
        let writer_keys = Arc::clone(&keys);
        let lane = AuditWriter::open(&store, chain, known, instead, writer_keys, now).await?;
        if lane.chain() != chain {
            write_chain_id(&path, lane.chain()).map_err(failed)?;
        }
        let heads = Arc::new(Mutex::new(heads));
        Ok(Self { store, clock, lane, keys, heads, is_fault_logged: Arc::default() })
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
        for (head, _) in chains.into_iter().filter(|(head, _)| head.chain != LOG_CHAIN) {
            loop {
                let (head, keys) = (head.clone(), Arc::clone(&self.keys));
                let some = self
                    .store
                    .write(move |tx| {
                        Box::pin(async move {
                            delete_expired(tx, &head, &keys, end, truncate_to_micros(now)).await
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
    keys: &AuditKeys,
    end: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<u64, AuditError> {
    let anchor = tx.chain_anchor(head.chain).await?;
    let start = ChainPosition::start(head.chain);
    let mut verifier = ChainVerifier::after_anchor(start, anchor.as_ref(), vec![], keys);
    let from = verifier.position().seq;
    let mut last = None;
    for SealedRecord { seal, record } in
        tx.chain_records(head.chain, from + 1, DELETE_BATCH).await?
    {
        let is_over = record.as_ref().is_ok_and(|record| record.at() < end);
        verifier.check_record(&seal, record.as_ref().map_err(ToString::to_string));
        // A changed record is evidence, and a new anchor would cover it up.
        if !is_over || seal.seq >= head.open_from || !verifier.is_intact() {
            break;
        }
        last = Some(verifier.position().clone());
    }
    match last {
        Some(last) => {
            // So that a short retention, set for a while, leaves a trace.
            let change = AccessChange {
                by: None,
                action: "audit.expire",
                resource_type: "audit_chain",
                resource: head.chain.to_string(),
                allowed: true,
                reason: Some(format!("records up to {} were deleted", last.seq)),
                task: None,
                at: now,
            };
            tx.access_change_append(&change).await?;
            Ok(tx.chain_truncate(&last, keys, now).await?)
        }
        None => Ok(0),
    }
}

/// Begins to note heads. A directory that has a chain but no notes is one of an earlier version, or its operator deleted
/// them to accept the database: its chains are signed as they are.
async fn create_heads(
    store: &Store,
    keys: &Arc<AuditKeys>,
    options: &AuditOptions,
    is_known_directory: bool,
) -> Result<HeadFile, AuditError> {
    if is_known_directory {
        let keys = Arc::clone(keys);
        store
            .write(move |tx| {
                Box::pin(async move { Ok::<_, AuditError>(tx.chain_sign_all(&keys).await?) })
            })
            .await?;
    }
    let path = options.head_file();
    let mut heads = HeadFile::empty(&path);
    heads.save().map_err(|cause| AuditError::File { path: path.display().to_string(), cause })?;
    Ok(heads)
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
