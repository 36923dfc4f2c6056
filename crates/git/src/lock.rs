//! The lock of a mirror, across threads and processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::command::ChildInput;
use crate::error::GitError;

const RETRY_AFTER: Duration = Duration::from_millis(20);

/// How a mirror is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockMode {
    /// Reads objects and refs.
    Shared,
    /// Changes or removes them.
    Exclusive,
}

/// A held lock of a mirror, released when it and the git process that inherited it have ended.
///
/// The file is outside the mirror, so that it survives eviction.
#[derive(Debug)]
pub(crate) struct MirrorLock {
    file: File,
}

impl MirrorLock {
    /// Waits for the lock, at most `limit`.
    ///
    /// Waits by polling: a blocking wait would occupy a thread after the caller is cancelled.
    pub(crate) async fn acquire(
        path: &Path,
        mode: LockMode,
        limit: Duration,
        url: &str,
    ) -> Result<Self, GitError> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(lock) = Self::try_acquire(path, mode)? {
                return Ok(lock);
            }
            if Instant::now() >= deadline {
                return Err(GitError::MirrorBusy { url: url.to_owned() });
            }
            sleep(RETRY_AFTER).await;
        }
    }

    /// Returns `None` if another operation holds the lock.
    pub(crate) fn try_acquire(path: &Path, mode: LockMode) -> Result<Option<Self>, GitError> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(GitError::io("open", path))?;
        let locked = match mode {
            LockMode::Shared => file.try_lock_shared(),
            LockMode::Exclusive => file.try_lock(),
        };
        match locked {
            Ok(()) => Ok(is_file_at(&file, path).then_some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(cause)) => Err(GitError::io("lock", path)(cause)),
        }
    }

    /// Removes the file of an exclusive lock with what it protects. A waiting operation then locks a new file.
    pub(crate) fn remove_file(self, path: &Path) {
        if let Err(error) = fs::remove_file(path) {
            tracing::warn!(path = %path.display(), %error, "lock file not removed");
        }
        drop(self.file);
    }

    /// The lock as the standard input of a git process that changes the mirror: if the broker is killed, the lock
    /// is held until that process ends, so that no other operation meets it.
    pub(crate) fn child_input(&self) -> Result<ChildInput, GitError> {
        let file = self.file.try_clone();
        Ok(ChildInput::File(file.map_err(GitError::io("open", Path::new("mirror lock")))?))
    }
}

/// Whether the open file is still the one at `path`: its last holder may have removed it.
fn is_file_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(found)) => (open.dev(), open.ino()) == (found.dev(), found.ino()),
        _ => false,
    }
}
