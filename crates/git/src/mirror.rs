//! Mirrors: bare repositories with the branches and tags of a remote.
//!
//! Invariant: only the broker writes a mirror, under its lock. A mirror appears under its name when its first fetch
//! has completed, so that a killed fetch leaves nothing that is trusted later.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use cynode_domain::git::{BranchName, CommitId, RepositoryUrl, TaskKey};
use cynode_runtime::durable_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::broker::{GitBroker, remove_tree};
use crate::command::GitCommand;
use crate::credential::GitCredential;
use crate::error::GitError;
use crate::lock::{LockMode, MirrorLock};
use crate::remote::{LocalService, RemoteAccess};

const RECORD_FILE: &str = "cynode-mirror.json";
const BRANCHES: &str = "+refs/heads/*:refs/heads/*";
const TAGS: &str = "+refs/tags/*:refs/tags/*";

/// How much history is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryDepth {
    Full,
    /// The newest commits of each branch.
    Commits(NonZeroU32),
}

/// A mirror on this node. It stays usable until it is evicted.
#[derive(Debug, Clone)]
pub struct Mirror {
    url: RepositoryUrl,
    path: PathBuf,
    lock_path: PathBuf,
    default_branch: Option<BranchName>,
}

/// What the broker remembers of a mirror.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MirrorRecord {
    pub(crate) url: String,
    pub(crate) default_branch: Option<BranchName>,
    /// Seconds since 1970.
    pub(crate) used_at: i64,
}

impl Mirror {
    pub fn url(&self) -> &RepositoryUrl {
        &self.url
    }

    /// The branch that `HEAD` of the remote named at the last update.
    pub fn default_branch(&self) -> Option<&BranchName> {
        self.default_branch.as_ref()
    }

    /// The git directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the mirror has only the newest history.
    pub(crate) fn is_shallow(&self) -> bool {
        self.path.join("shallow").exists()
    }

    fn objects_dir(&self) -> PathBuf {
        self.path.join("objects")
    }
}

impl GitBroker {
    /// Fetches all branches and tags of `url` into its mirror, and removes those that the remote no longer has.
    ///
    /// Creates the mirror if there is none. Rewritten history replaces the old one. Concurrent calls, also of other
    /// processes, run one after the other.
    #[tracing::instrument(skip_all, fields(git.url = %url))]
    pub async fn update_mirror(
        &self,
        url: &RepositoryUrl,
        credential: Option<&GitCredential>,
        depth: HistoryDepth,
    ) -> Result<Mirror, GitError> {
        let mut mirror = self.mirror_of(url);
        let lock = self.lock_mirror(&mirror, LockMode::Exclusive).await?;
        let remote = RemoteAccess::open(self, url, credential).await?;
        mirror.default_branch = remote.read_head().await?.branch;
        if read_record(&mirror.path).is_some() {
            remove_leftovers(&mirror.path);
            self.fetch_into(&remote, &mirror, &lock, depth).await?;
        } else {
            self.create_mirror(&remote, &mirror, &lock, depth).await?;
        }
        tracing::info!("mirror updated");
        Ok(mirror)
    }

    /// The mirror of `url`, without reaching the remote.
    pub fn find_mirror(&self, url: &RepositoryUrl) -> Result<Mirror, GitError> {
        let mut mirror = self.mirror_of(url);
        let missing = || GitError::MirrorMissing { url: url.to_string() };
        mirror.default_branch = read_record(&mirror.path).ok_or_else(missing)?.default_branch;
        Ok(mirror)
    }

    /// Removes the refs of a task. The commits stay until the next garbage collection.
    pub async fn remove_refs(&self, mirror: &Mirror, task: &TaskKey) -> Result<(), GitError> {
        let lock = self.lock_mirror(mirror, LockMode::Exclusive).await?;
        let listing = self
            .mirror_command(mirror, "for-each-ref")
            .args(["--format=%(refname)", &task.ref_prefix()])
            .read(1024 * 1024)
            .await?;
        for name in String::from_utf8_lossy(&listing).lines() {
            self.mirror_command(mirror, "update-ref")
                .args(["-d", name])
                .input(lock.child_input()?)
                .run()
                .await?;
        }
        Ok(())
    }

    /// Waits for the lock of a mirror that must exist for [`LockMode::Shared`].
    pub(crate) async fn lock_mirror(
        &self,
        mirror: &Mirror,
        mode: LockMode,
    ) -> Result<MirrorLock, GitError> {
        let (wait, url) = (self.options.limits.lock_wait, mirror.url.as_str());
        let lock = MirrorLock::acquire(&mirror.lock_path, mode, wait, url).await?;
        if mode == LockMode::Shared {
            self.touch_mirror(mirror)?;
        }
        Ok(lock)
    }

    /// Records the use of a mirror; fails if it was evicted.
    pub(crate) fn touch_mirror(&self, mirror: &Mirror) -> Result<(), GitError> {
        let record = read_record(&mirror.path);
        let record =
            record.ok_or_else(|| GitError::MirrorMissing { url: mirror.url.to_string() })?;
        write_record(&mirror.path, &MirrorRecord { used_at: self.now_seconds(), ..record })
    }

    /// A command on the mirror that reaches no remote.
    pub(crate) fn mirror_command(
        &self,
        mirror: &Mirror,
        operation: &'static str,
    ) -> GitCommand<'_> {
        GitCommand::prepare(self, operation).repository(&mirror.path)
    }

    /// The commit that a ref or commit id of the mirror names.
    pub(crate) async fn resolve_commit(
        &self,
        mirror: &Mirror,
        name: &str,
    ) -> Result<Option<CommitId>, GitError> {
        let printed = self
            .mirror_command(mirror, "rev-parse")
            .args(["--quiet", "--verify", "--end-of-options", &format!("{name}^{{commit}}")])
            .accept(&[0, 1, 128])
            .read(4096)
            .await?;
        Ok(String::from_utf8_lossy(&printed).trim().parse().ok())
    }

    fn mirror_of(&self, url: &RepositoryUrl) -> Mirror {
        // A file name that no other address has.
        let digest = hex::encode(Sha256::digest(url.as_str()));
        Mirror {
            url: url.clone(),
            path: self.state_path("mirrors", format!("{digest}.git")),
            lock_path: self.state_path("mirrors", format!("{digest}.lock")),
            default_branch: None,
        }
    }

    /// Fetches into a directory beside the mirror, and renames it when complete.
    async fn create_mirror(
        &self,
        remote: &RemoteAccess<'_>,
        mirror: &Mirror,
        lock: &MirrorLock,
        depth: HistoryDepth,
    ) -> Result<(), GitError> {
        let incomplete =
            Mirror { path: mirror.path.with_extension("incomplete"), ..mirror.clone() };
        remove_tree(incomplete.path.clone()).await?;
        // A directory under the final name without a record was not made by this function.
        remove_tree(mirror.path.clone()).await?;
        GitCommand::prepare(self, "init")
            .args(["--quiet", "--bare", "--template=", "--initial-branch=main", "--"])
            .arg(&incomplete.path)
            .run()
            .await?;
        self.fetch_into(remote, &incomplete, lock, depth).await?;
        fs::rename(&incomplete.path, &mirror.path)
            .and_then(|()| durable_file::sync_parent(&mirror.path))
            .map_err(GitError::io("create", &mirror.path))
    }

    async fn fetch_into(
        &self,
        remote: &RemoteAccess<'_>,
        mirror: &Mirror,
        lock: &MirrorLock,
        depth: HistoryDepth,
    ) -> Result<(), GitError> {
        let is_shallow = mirror.is_shallow();
        let is_new = read_record(&mirror.path).is_none();
        let depth_option = match depth {
            // A complete mirror is never cut.
            HistoryDepth::Commits(count) if is_shallow || is_new => {
                Some(format!("--depth={count}"))
            }
            HistoryDepth::Full if is_shallow => Some("--unshallow".to_owned()),
            HistoryDepth::Full | HistoryDepth::Commits(_) => None,
        };
        let fetched = remote
            .command("fetch")
            .repository(&mirror.path)
            // Progress ends git soon after the broker was killed: the pipe is closed.
            .args(["--progress", "--prune", "--no-tags", "--force", "--no-write-fetch-head"])
            .args(["--no-recurse-submodules", "--no-auto-maintenance", "--update-head-ok"])
            .args(["--update-shallow", "--refmap="])
            .args(depth_option)
            .args(remote.service_option(LocalService::Fetch))
            .args(["--", mirror.url.as_str(), BRANCHES, TAGS])
            .input(lock.child_input()?)
            .limit_growth(&mirror.objects_dir(), self.options.limits.mirror_bytes)
            .run()
            .await;
        fetched.map_err(|error| remote.classify(error))?;
        if let Some(branch) = &mirror.default_branch {
            self.mirror_command(mirror, "symbolic-ref")
                .args(["HEAD", &branch.ref_name()])
                .input(lock.child_input()?)
                .run()
                .await?;
        }
        let record = MirrorRecord {
            url: mirror.url.to_string(),
            default_branch: mirror.default_branch.clone(),
            used_at: self.now_seconds(),
        };
        write_record(&mirror.path, &record)
    }
}

pub(crate) fn read_record(mirror: &Path) -> Option<MirrorRecord> {
    serde_json::from_slice(&fs::read(mirror.join(RECORD_FILE)).ok()?).ok()
}

fn write_record(mirror: &Path, record: &MirrorRecord) -> Result<(), GitError> {
    let path = mirror.join(RECORD_FILE);
    let json = serde_json::to_vec(record).map_err(std::io::Error::other);
    json.and_then(|json| durable_file::replace(&path, &json)).map_err(GitError::io("write", &path))
}

/// Removes the lock files and partial packs of a git process that was killed.
///
/// The caller holds the mirror's lock, and so would such a process if it were alive.
fn remove_leftovers(mirror: &Path) {
    let mut pending = vec![mirror.to_owned(), mirror.join("refs"), mirror.join("objects/pack")];
    pending.push(mirror.join("objects/info"));
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir && directory.starts_with(mirror.join("refs")) {
                pending.push(entry.path());
            } else if !is_dir
                && (has_extension(&name, "lock") || name.starts_with("tmp_"))
                && let Err(error) = fs::remove_file(entry.path())
            {
                tracing::warn!(path = %entry.path().display(), %error, "leftover not removed");
            }
        }
    }
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}
