//! The files of blobs that a pass looks at: listed, set aside, restored.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use cynode_domain::ids::ArtifactId;
use tokio::fs;

use super::{EXAMINED, PassPosition};
use crate::{BlobStore, create_private_dir, group_of, staged_name, sync_directory};

const GROUPS: u16 = 256;

/// A blob that is about to be removed.
pub(super) struct BlobAside {
    pub(super) hash: String,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

impl BlobStore {
    /// Lists the hashes of the next blobs that were modified before, by group; advances the position. Ends after the last
    /// group. Blocks.
    pub(super) fn list_old_blobs(
        &self,
        position: &mut PassPosition,
        before: DateTime<Utc>,
    ) -> io::Result<Vec<String>> {
        let (mut hashes, mut left) = (vec![], EXAMINED);
        while left > 0 {
            let group = format!("{:02x}", position.group);
            let directory = self.directory.join(&group);
            let mut names = list_names(&directory)?;
            names.retain(|name| is_hash(&format!("{group}{name}")) && *name > position.after);
            names.sort_unstable();
            names.truncate(left);
            match names.last() {
                Some(last) if names.len() == left => position.after.clone_from(last),
                _ => {
                    let group = (position.group + 1) % GROUPS;
                    *position = PassPosition { group, after: String::new() };
                }
            }
            left -= names.len();
            for name in names {
                if modified_at(&directory.join(&name))?.is_some_and(|modified| modified < before) {
                    hashes.push(format!("{group}{name}"));
                }
            }
            if position.is_start() {
                break;
            }
        }
        Ok(hashes)
    }

    /// Lists files of uploads and removals, with the time when each was modified. Blocks.
    pub(super) fn list_incoming(&self) -> io::Result<Vec<(String, DateTime<Utc>)>> {
        let directory = self.incoming();
        let mut names = list_names(&directory)?;
        names.truncate(EXAMINED);
        let with_time = |name: String| match modified_at(&directory.join(&name)) {
            Ok(modified) => modified.map(|modified| Ok((name, modified))),
            Err(error) => Some(Err(error)),
        };
        names.into_iter().filter_map(with_time).collect()
    }

    /// Moves a blob to the directory of incomplete uploads; `None` if it is gone, or was stored again since. Blocks for two
    /// system calls only.
    pub(super) fn set_aside(
        &self,
        hash: &str,
        before: DateTime<Utc>,
    ) -> io::Result<Option<BlobAside>> {
        let from = self.blob_path(hash);
        let found = match std::fs::metadata(&from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        if to_utc(found.modified()?) >= before {
            return Ok(None);
        }
        let path = self.incoming().join(staged_name(hash, ArtifactId::generate()));
        std::fs::rename(from, &path)?;
        Ok(Some(BlobAside { hash: hash.to_owned(), path, bytes: found.len() }))
    }

    /// Moves content back to its final name, unless it is there again.
    pub(super) async fn restore(&self, hash: &str, path: &Path) -> io::Result<()> {
        let to = self.blob_path(hash);
        if to.exists() {
            return remove_if_present(path).await;
        }
        create_private_dir(&self.directory.join(group_of(hash))).await?;
        match fs::rename(path, &to).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => sync_directory(&self.directory.join(group_of(hash))).await,
        }
    }
}

/// Lists the names in a directory; none if it does not exist.
fn list_names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Reads when a file was modified; `None` if it is gone.
fn modified_at(path: &Path) -> io::Result<Option<DateTime<Utc>>> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(found) if !found.is_file() => Ok(None),
        found => Ok(Some(to_utc(found?.modified()?))),
    }
}

pub(super) async fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn to_utc(time: SystemTime) -> DateTime<Utc> {
    time.into()
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The hash in the name of a staged file.
pub(super) fn staged_hash(name: &str) -> Option<String> {
    name.split_once('-').map(|(hash, _)| hash).filter(|hash| is_hash(hash)).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_named_after_a_hash_hold_known_content() {
        let (hash, id) = ("ab".repeat(32), ArtifactId::generate());

        assert_eq!(staged_hash(&staged_name(&hash, id)), Some(hash));
        for name in [id.to_string(), "AB-1".to_owned(), "database.id".to_owned()] {
            assert_eq!(staged_hash(&name), None, "{name}");
        }
    }
}
