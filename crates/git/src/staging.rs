//! The staging directory of a checkout: its owner, mode and durability.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::Path;

use crate::checkout::{CheckoutRequest, Owner};
use crate::error::GitError;

/// Mode of a workspace that did not exist before.
const WORKSPACE_MODE: u32 = 0o755;

/// Gives the files to their owner, and the directory the mode of the workspace that it replaces.
pub(crate) async fn finish_staging(
    staging: &Path,
    request: &CheckoutRequest,
) -> Result<(), GitError> {
    let replaced = fs::symlink_metadata(&request.workspace).ok();
    let mode = replaced.as_ref().map_or(WORKSPACE_MODE, |replaced| replaced.mode() & 0o7777);
    let owner = request.owner;
    let root = staging.to_owned();
    let finished = tokio::task::spawn_blocking(move || {
        if let Some(owner) = owner {
            change_owner(&root, owner)?;
        } else if let Some(replaced) = replaced {
            lchown(&root, Some(replaced.uid()), Some(replaced.gid()))?;
        }
        fs::set_permissions(&root, Permissions::from_mode(mode))
    });
    let finished = finished.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    finished.map_err(GitError::io("change the owner of", staging))
}

/// Writes the files of the checkout to disk: the record that follows says that it is complete.
pub(crate) async fn sync_file_system(staging: &Path) -> Result<(), GitError> {
    let path = staging.to_owned();
    let synced = tokio::task::spawn_blocking(move || {
        let directory = fs::File::open(path)?;
        nix::unistd::syncfs(&directory).map_err(io::Error::from)
    });
    let synced = synced.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    synced.map_err(GitError::io("sync", staging))
}

/// Links are changed, not followed.
fn change_owner(root: &Path, owner: Owner) -> io::Result<()> {
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        lchown(&path, Some(owner.uid), Some(owner.gid))?;
        if fs::symlink_metadata(&path)?.is_dir() {
            for entry in fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
    }
    Ok(())
}
