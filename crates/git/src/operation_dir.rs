//! Directories that live as long as one operation.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::GitError;

/// A private directory that is removed when the operation ends, or by [`remove_stale`] if its process was killed.
#[derive(Debug)]
pub(crate) struct OperationDir {
    path: PathBuf,
    /// A lock of the directory itself: it shows other processes that the operation runs.
    _lock: File,
}

impl OperationDir {
    pub(crate) fn create(parent: &Path) -> Result<Self, GitError> {
        loop {
            let created = tempfile::Builder::new().prefix("op-").tempdir_in(parent);
            let path = created.map_err(GitError::io("create a directory in", parent))?.keep();
            let lock = File::open(&path).and_then(|lock| lock.lock().map(|()| lock));
            match lock {
                Ok(lock) if path.exists() => return Ok(Self { path, _lock: lock }),
                // Another process took it for stale before it was locked.
                _ if !path.exists() => {}
                Ok(_) => {}
                Err(cause) => return Err(GitError::io("lock", &path)(cause)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OperationDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::error!(path = %self.path.display(), %error, "directory of an operation not removed");
        }
    }
}

/// Removes the directories of operations whose process was killed.
pub(crate) fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        // Held while removing, so that the owner notices.
        let Some(_lock) = File::open(&path).ok().filter(|lock| lock.try_lock().is_ok()) else {
            continue;
        };
        if let Err(error) = fs::remove_dir_all(&path) {
            tracing::error!(path = %path.display(), %error, "stale directory not removed");
        }
    }
}
