//! The files of the workspace before and after the job, to list the changed ones.
//!
//! Content hashes are compared rather than tool calls or `git status`: commands change files too, and a workspace
//! need not be a repository. `.git`, `node_modules` and `target` are left out. Files after the first
//! `MAX_HASHED_BYTES` are compared by size and time of their last change, and files after the first `MAX_FILES` not
//! at all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::workspace::{Workspace, is_skipped_directory};

const MAX_FILES: usize = 50_000;
const MAX_HASHED_BYTES: u64 = 512 << 20;

/// The files of a workspace at one time.
#[derive(Debug, Default)]
pub struct WorkspaceSnapshot {
    files: BTreeMap<String, FileState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    stamp: FileStamp,
    /// Absent where the file was not hashed.
    hash: Option<[u8; 32]>,
}

/// What the kernel changes with every write.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    bytes: u64,
    inode: u64,
    changed: (i64, i64),
}

impl FileState {
    fn differs_from(&self, other: &Self) -> bool {
        match (self.hash, other.hash) {
            (Some(hash), Some(other)) => hash != other,
            (_, _) => self.stamp != other.stamp,
        }
    }
}

impl WorkspaceSnapshot {
    /// Reads the workspace.
    pub fn take(workspace: &Workspace) -> Self {
        let mut snapshot = Self::default();
        let mut hashable_bytes = MAX_HASHED_BYTES;
        let mut directories = vec![workspace.root().to_owned()];
        while let Some(directory) = directories.pop() {
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            for entry in entries.flatten() {
                let Ok(metadata) = entry.metadata() else { continue };
                let path = entry.path();
                if metadata.is_dir() {
                    if !is_skipped_directory(&entry.file_name()) {
                        directories.push(path);
                    }
                    continue;
                }
                if snapshot.files.len() >= MAX_FILES {
                    return snapshot;
                }
                let name = path.strip_prefix(workspace.root()).unwrap_or(&path);
                let name = name.to_string_lossy().into_owned();
                let stamp = FileStamp {
                    bytes: metadata.len(),
                    inode: metadata.ino(),
                    changed: (metadata.ctime(), metadata.ctime_nsec()),
                };
                let hash = hash_entry(&path, &metadata, &mut hashable_bytes);
                snapshot.files.insert(name, FileState { stamp, hash });
            }
        }
        snapshot
    }

    /// Returns the sorted paths of files that were added, changed or removed between `earlier` and `self`.
    pub fn changed_since(&self, earlier: &Self) -> Vec<String> {
        let changed = self.files.iter().filter(|(path, state)| {
            earlier.files.get(*path).is_none_or(|old| state.differs_from(old))
        });
        let removed = earlier.files.iter().filter(|(path, _)| !self.files.contains_key(*path));
        let mut paths: Vec<String> = changed.chain(removed).map(|(path, _)| path.clone()).collect();
        paths.sort();
        paths
    }
}

/// Hashes a regular file or the target of a link while bytes are left to hash.
fn hash_entry(path: &Path, metadata: &fs::Metadata, left: &mut u64) -> Option<[u8; 32]> {
    if metadata.is_symlink() {
        let target = fs::read_link(path).ok()?;
        return Some(Sha256::digest(target.as_os_str().as_encoded_bytes()).into());
    }
    if !metadata.is_file() || metadata.len() > *left {
        return None;
    }
    *left -= metadata.len();
    hash_file(path).ok()
}

fn hash_file(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(digest.finalize().into());
        }
        digest.update(&buffer[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_added_changed_or_removed_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        for directory in ["src", ".git", "target"] {
            fs::create_dir(folder.path().join(directory)).unwrap();
        }
        for name in ["src/same", "src/touched", "src/changed", "src/removed"] {
            write(name, name);
        }
        let workspace = Workspace::open(folder.path()).unwrap();
        let before = WorkspaceSnapshot::take(&workspace);

        write("src/touched", "src/touched");
        write("src/changed", "src/CHANGED");
        write("src/added", "new");
        write(".git/index", "skipped");
        write("target/out", "skipped");
        fs::remove_file(folder.path().join("src/removed")).unwrap();
        std::os::unix::fs::symlink("src/same", folder.path().join("link")).unwrap();
        let after = WorkspaceSnapshot::take(&workspace);

        let expected = ["link", "src/added", "src/changed", "src/removed"];
        assert_eq!(after.changed_since(&before), expected);
    }
}
