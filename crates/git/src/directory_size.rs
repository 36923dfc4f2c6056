//! The size of a directory tree.

use std::fs;
use std::path::Path;

/// The bytes of all files below `directory`, without following links. Files that vanish meanwhile count nothing.
pub(crate) fn directory_size(directory: &Path) -> u64 {
    let mut bytes: u64 = 0;
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                pending.push(entry.path());
            } else {
                bytes = bytes.saturating_add(metadata.len());
            }
        }
    }
    bytes
}
