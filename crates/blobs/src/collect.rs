//! Removes content that no row refers to, and what interrupted uploads left behind.
//!
//! A transaction that adds a file shares the lock of the blob's group from before the rename until its commit; the
//! collector removes content only in a transaction that has the lock alone and finds no row. So an upload of the same
//! content comes before, and its row is found, or after, and its file is placed again. Content is set aside in the directory of
//! incomplete uploads and deleted after the commit: a collector that lost its database connection, and with it the lock,
//! learns so at the commit and restores the content; if it dies before, the next collector does.
//!
//! The grace period adds to that for processes of the previous release, which do not share locks.

mod blob_files;

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::{durable_file, failpoint};
use cynode_store::Store;
use tokio::fs;
use tokio::task::spawn_blocking;
use tracing::{error, info, warn};

use crate::{BlobStore, create_private_dir, group_of};
use blob_files::{remove_if_present, staged_hash};

/// The name of blobs in the quarantine.
pub const BLOBS_TABLE: &str = "blobs";
const INTERVAL: Duration = Duration::from_secs(30);
/// How many files a pass examines, and how many it removes in one transaction.
const EXAMINED: usize = 2000;
const REMOVED_AT_ONCE: usize = 50;
/// The age that content without a row has at least when it is removed.
const GRACE: Duration = Duration::from_hours(1);
/// The same for temporary files: longer than any upload pauses.
const LEFTOVER_GRACE: Duration = Duration::from_hours(24);
/// Holds the id of the database that the content belongs to.
const DATABASE_FILE: &str = "database.id";

/// Why a pass failed.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error(
        "the files in {} belong to another database, and none is removed. If that database is gone for good, \
         remove the files; if this database uses some of them, delete {DATABASE_FILE} there", .0.display()
    )]
    OtherDatabase(PathBuf),
    #[error("the directory of blobs cannot be read or changed")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// What a pass did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CollectedBlobs {
    /// Blobs that were removed, and their bytes.
    pub blobs: u64,
    pub bytes: u64,
    /// Files of interrupted uploads that were removed.
    pub temporary_files: u64,
    /// Blobs that were found aside and are in use.
    pub restored: u64,
}

/// Where the next pass begins.
#[derive(Debug, Clone, Default)]
struct PassPosition {
    group: u16,
    /// Files of the group up to this name were examined.
    after: String,
}

impl PassPosition {
    /// Whether every group was visited.
    fn is_start(&self) -> bool {
        self.group == 0 && self.after.is_empty()
    }
}

/// Collects unused blobs. Several processes may share one directory and one database.
#[derive(Clone)]
pub struct BlobCollector {
    store: Store,
    blobs: BlobStore,
    clock: SharedClock,
}

impl BlobCollector {
    pub fn new(store: Store, blobs: BlobStore, clock: SharedClock) -> Self {
        Self { store, blobs, clock }
    }

    /// Collects until shutdown.
    pub async fn run(self, shutdown: Shutdown) {
        let mut position = PassPosition::default();
        let mut is_reported = false;
        loop {
            match self.collect_next(&mut position).await {
                Ok(collected) => report(collected),
                Err(CollectError::OtherDatabase(_)) if is_reported => {}
                Err(error @ CollectError::OtherDatabase(_)) => {
                    is_reported = true;
                    error!(error = &error as &dyn std::error::Error, "blobs not collected");
                }
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "blobs not collected");
                }
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }

    /// Visits every group once.
    pub async fn collect_all(&self) -> Result<CollectedBlobs, CollectError> {
        let mut position = PassPosition::default();
        let mut sum = CollectedBlobs::default();
        loop {
            let pass = self.collect_next(&mut position).await?;
            sum.blobs += pass.blobs;
            sum.bytes += pass.bytes;
            sum.temporary_files += pass.temporary_files;
            sum.restored += pass.restored;
            if position.is_start() {
                return Ok(sum);
            }
        }
    }

    /// Runs one pass: leftovers of uploads, then the next files.
    async fn collect_next(
        &self,
        position: &mut PassPosition,
    ) -> Result<CollectedBlobs, CollectError> {
        self.check_database().await?;
        let mut collected = self.clean_incoming().await?;
        let candidates = self.list_old_blobs(position).await?;
        let used = self.load_used(candidates.clone()).await?;
        let unused: Vec<_> = candidates.into_iter().filter(|hash| !used.contains(hash)).collect();
        for group in unused.chunk_by(|one, next| group_of(one) == group_of(next)) {
            for hashes in group.chunks(REMOVED_AT_ONCE) {
                let (blobs, bytes) = self.remove_unused(hashes.to_vec()).await?;
                collected.blobs += blobs;
                collected.bytes += bytes;
            }
        }
        Ok(collected)
    }

    /// Lists the hashes of the next blobs that are old enough, by group; advances the position.
    async fn list_old_blobs(&self, position: &mut PassPosition) -> io::Result<Vec<String>> {
        let (blobs, before) = (self.blobs.clone(), self.end_of_grace(GRACE));
        let mut next = position.clone();
        // One call for all of them: each blocking call can start a thread.
        let listed =
            spawn_blocking(move || Ok((blobs.list_old_blobs(&mut next, before)?, next))).await;
        let (hashes, next) = listed.map_err(io::Error::other).flatten()?;
        *position = next;
        Ok(hashes)
    }

    /// Fails if the directory belongs to another database, which may use content that this one does not know.
    async fn check_database(&self) -> Result<(), CollectError> {
        let id = self.store.read(|tx| Box::pin(async move { tx.blob_database_id().await })).await?;
        let path = self.blobs.directory.join(DATABASE_FILE);
        match fs::read_to_string(&path).await {
            Ok(known) if known == id => return Ok(()),
            Ok(_) if !self.blobs.is_empty().await? => {
                return Err(CollectError::OtherDatabase(self.blobs.directory.clone()));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Err(_) if self.knows_no_content().await? => {
                return Err(CollectError::OtherDatabase(self.blobs.directory.clone()));
            }
            Ok(_) | Err(_) => {}
        }
        create_private_dir(&self.blobs.directory).await?;
        Ok(durable_file::replace(&path, id.as_bytes())?)
    }

    /// Whether there is old content, and this database uses none of the first files: a directory of an earlier version
    /// does not name its database.
    async fn knows_no_content(&self) -> Result<bool, CollectError> {
        let first = self.list_old_blobs(&mut PassPosition::default()).await?;
        Ok(!first.is_empty() && self.load_used(first).await?.is_empty())
    }

    /// Files that were modified before are older than `grace`.
    fn end_of_grace(&self, grace: Duration) -> DateTime<Utc> {
        self.clock.now() - grace
    }

    async fn load_used(&self, hashes: Vec<String>) -> Result<HashSet<String>, CollectError> {
        if hashes.is_empty() {
            return Ok(HashSet::new());
        }
        Ok(self
            .store
            .read(move |tx| Box::pin(async move { tx.blobs_in_use(&hashes).await }))
            .await?)
    }

    /// Removes blobs of one group that no row refers to. Removes none while a transaction adds a file to the group.
    async fn remove_unused(&self, hashes: Vec<String>) -> Result<(u64, u64), CollectError> {
        create_private_dir(&self.blobs.incoming()).await?;
        let aside = Arc::new(Mutex::new(vec![]));
        let (moved, blobs, before) =
            (Arc::clone(&aside), self.blobs.clone(), self.end_of_grace(GRACE));
        let group = hashes.first().map(|hash| group_of(hash).to_owned()).unwrap_or_default();
        let committed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    if !tx.blob_group_lock(&group).await? {
                        return Ok(());
                    }
                    let used = tx.blobs_in_use(&hashes).await?;
                    for hash in hashes.into_iter().filter(|hash| !used.contains(hash)) {
                        tx.quarantine_remove(BLOBS_TABLE, &hash).await?;
                        if let Some(blob) = blobs.set_aside(&hash, before)? {
                            moved.lock().unwrap_or_else(PoisonError::into_inner).push(blob);
                        }
                    }
                    failpoint::hit("blobs_set_aside", "collector");
                    Ok::<_, CollectError>(())
                })
            })
            .await;
        let aside = std::mem::take(&mut *aside.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = committed {
            // The lock may have been lost in the middle: an upload may use the content by now.
            for blob in aside {
                self.blobs.restore(&blob.hash, &blob.path).await?;
            }
            return Err(error);
        }
        let mut removed = (0, 0);
        for blob in aside {
            remove_if_present(&blob.path).await?;
            removed = (removed.0 + 1, removed.1 + blob.bytes);
        }
        Ok(removed)
    }

    /// Restores content that a killed process had set aside or had not made durable, and removes old leftovers.
    async fn clean_incoming(&self) -> Result<CollectedBlobs, CollectError> {
        let (directory, before) = (self.blobs.incoming(), self.end_of_grace(LEFTOVER_GRACE));
        let blobs = self.blobs.clone();
        let listed = spawn_blocking(move || blobs.list_incoming()).await;
        let files = listed.map_err(io::Error::other).flatten()?;
        let hashes: Vec<_> = files.iter().filter_map(|(name, _)| staged_hash(name)).collect();
        let used = self.load_used(hashes).await?;
        let mut collected = CollectedBlobs::default();
        for (name, modified_at) in files {
            let path = directory.join(&name);
            let hash = staged_hash(&name).filter(|hash| used.contains(hash));
            if let Some(hash) = hash.filter(|hash| !self.blobs.blob_path(hash).exists()) {
                self.blobs.restore(&hash, &path).await?;
                collected.restored += 1;
                continue;
            }
            if modified_at < before {
                remove_if_present(&path).await?;
                collected.temporary_files += 1;
            }
        }
        Ok(collected)
    }
}

/// Logs and counts what a pass did.
fn report(collected: CollectedBlobs) {
    if collected == CollectedBlobs::default() {
        return;
    }
    let CollectedBlobs { blobs, bytes, temporary_files, restored } = collected;
    metrics::counter!("cynode_blobs_collected_total").increment(blobs);
    metrics::counter!("cynode_blobs_collected_bytes_total").increment(bytes);
    metrics::counter!("cynode_blob_temporary_files_removed_total").increment(temporary_files);
    metrics::counter!("cynode_blobs_restored_total").increment(restored);
    info!(blobs, bytes, temporary_files, restored, "blobs collected");
}
