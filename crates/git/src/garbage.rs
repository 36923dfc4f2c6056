//! Evicts mirrors and removes what killed operations left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_domain::git::{RepositoryUrl, TaskKey};
use serde::Serialize;

use crate::broker::{GitBroker, remove_tree};
use crate::checkout_record::{self, DirectoryIdentity};
use crate::command::GitCommand;
use crate::directory_size::directory_size;
use crate::error::GitError;
use crate::lock::{LockMode, MirrorLock};
use crate::mirror::read_record;
use crate::operation_dir;

/// Packs of a mirror above which they are joined. Each update adds one.
const MAX_PACKS: usize = 40;

/// Which mirrors stay.
#[derive(Debug, Clone)]
pub struct RetentionPolicy {
    /// Of all mirrors together. The least recently used are evicted first.
    pub max_total_bytes: u64,
    /// Mirrors that were not used for longer are evicted.
    pub max_idle: Duration,
}

/// What a garbage collection did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GarbageReport {
    /// The addresses of evicted mirrors.
    pub evicted: Vec<String>,
    /// Mirrors that should go and stay: in use, or with commits of tasks whose refs were not removed.
    pub retained: Vec<String>,
    /// Of the mirrors that stay.
    pub remaining_bytes: u64,
}

/// A mirror found on disk.
#[derive(Debug)]
struct MirrorUsage {
    path: PathBuf,
    url: String,
    used_at: i64,
    bytes: u64,
}

impl GitBroker {
    /// Evicts mirrors by age and size, joins packs, and removes leftovers of killed operations.
    ///
    /// A mirror that is in use or has refs of a task is never evicted.
    pub async fn collect_garbage(
        &self,
        policy: &RetentionPolicy,
    ) -> Result<GarbageReport, GitError> {
        for name in ["credentials", "imports"] {
            operation_dir::remove_stale(&self.options.state_dir.join(name));
        }
        self.remove_leftover_directories().await?;
        self.remove_checkout_records();
        let mut mirrors = self.list_mirrors();
        // Least recently used first.
        mirrors.sort_by_key(|mirror| mirror.used_at);
        let mut total: u64 = mirrors.iter().map(|mirror| mirror.bytes).sum();
        let max_idle = i64::try_from(policy.max_idle.as_secs()).unwrap_or(i64::MAX);
        let oldest = self.now_seconds().saturating_sub(max_idle);
        let mut report = GarbageReport::default();
        for mirror in mirrors {
            let must_go = mirror.used_at < oldest || total > policy.max_total_bytes;
            if !must_go {
                self.join_packs(&mirror.path).await?;
            } else if self.evict(&mirror.path).await? {
                total = total.saturating_sub(mirror.bytes);
                report.evicted.push(mirror.url);
            } else {
                report.retained.push(mirror.url);
            }
        }
        report.remaining_bytes = self.list_mirrors().iter().map(|mirror| mirror.bytes).sum();
        tracing::info!(
            evicted = report.evicted.len(),
            bytes = report.remaining_bytes,
            "mirrors collected"
        );
        Ok(report)
    }

    /// Removes the refs of a task in every mirror, for a task whose checkout was never completed.
    pub async fn remove_leftover_refs(&self, task: &TaskKey) -> Result<(), GitError> {
        for path in list_entries(&self.options.state_dir.join("mirrors"), "git") {
            // The broker packs no refs.
            if path.join(task.ref_prefix()).is_dir()
                && let Some(record) = read_record(&path)
                && let Ok(url) = RepositoryUrl::try_from(record.url)
                && let Ok(mirror) = self.find_mirror(&url)
            {
                self.remove_refs(&mirror, task).await?;
            }
        }
        Ok(())
    }

    fn list_mirrors(&self) -> Vec<MirrorUsage> {
        let usage = |path: PathBuf| {
            let record = read_record(&path)?;
            let bytes = directory_size(&path);
            Some(MirrorUsage { url: record.url, used_at: record.used_at, bytes, path })
        };
        list_entries(&self.options.state_dir.join("mirrors"), "git").filter_map(usage).collect()
    }

    /// Removes a mirror. Returns whether it did: not while it is in use or has refs of a task.
    async fn evict(&self, mirror: &Path) -> Result<bool, GitError> {
        let lock = mirror.with_extension("lock");
        let Some(held) = MirrorLock::try_acquire(&lock, LockMode::Exclusive)? else {
            return Ok(false);
        };
        let refs = GitCommand::prepare(self, "for-each-ref")
            .repository(mirror)
            .args(["--count=1", "--format=%(refname)", "refs/cynode/"])
            .read(4096)
            .await?;
        if !refs.is_empty() {
            return Ok(false);
        }
        // Renamed first: a kill leaves no partial mirror under its name.
        let removed = mirror.with_extension("removed");
        remove_tree(removed.clone()).await?;
        fs::rename(mirror, &removed).map_err(GitError::io("evict", mirror))?;
        remove_tree(removed).await?;
        held.remove_file(&lock);
        Ok(true)
    }

    /// Joins the packs of a mirror that has many, and drops objects that no ref needs.
    async fn join_packs(&self, mirror: &Path) -> Result<(), GitError> {
        let packs = list_entries(&mirror.join("objects/pack"), "pack").count();
        let lock = mirror.with_extension("lock");
        if packs <= MAX_PACKS {
            return Ok(());
        }
        if let Some(lock) = MirrorLock::try_acquire(&lock, LockMode::Exclusive)? {
            GitCommand::prepare(self, "repack")
                .repository(mirror)
                .args(["-a", "-d", "-q", "--no-write-bitmap-index"])
                .input(lock.child_input()?)
                .run()
                .await?;
        }
        Ok(())
    }

    /// Removes incomplete and evicted mirrors that no operation holds.
    async fn remove_leftover_directories(&self) -> Result<(), GitError> {
        let mirrors = self.options.state_dir.join("mirrors");
        let incomplete =
            list_entries(&mirrors, "incomplete").chain(list_entries(&mirrors, "removed"));
        for path in incomplete {
            let lock = path.with_extension("lock");
            if let Some(_lock) = MirrorLock::try_acquire(&lock, LockMode::Exclusive)? {
                remove_tree(path).await?;
            }
        }
        Ok(())
    }

    /// Removes the records of workspaces that no longer exist, and staging directories that no operation uses.
    fn remove_checkout_records(&self) {
        let checkouts = self.options.state_dir.join("checkouts");
        for lock in list_entries(&checkouts, "lock") {
            let Ok(Some(held)) = MirrorLock::try_acquire(&lock, LockMode::Exclusive) else {
                continue;
            };
            let record = lock.with_extension("json");
            let staging = lock.file_stem().map(|digest| self.state_path("staging", digest));
            let is_installed = checkout_record::read_record(&record).is_some_and(|record| {
                DirectoryIdentity::read(&record.workspace) == Some(record.directory)
            });
            if is_installed {
                continue;
            }
            let _ = fs::remove_file(&record);
            if let Some(staging) = staging {
                let _ = fs::remove_dir_all(staging);
            }
            held.remove_file(&lock);
        }
    }
}

/// The entries of a directory with an extension.
fn list_entries(directory: &Path, extension: &'static str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(move |path| path.extension().is_some_and(|found| found == extension))
}
