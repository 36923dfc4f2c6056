//! Small files that survive a power failure.
//!
//! A file that is renamed without a sync can be empty after a power failure: the directory entry was
//! persisted and the content was not. Every small file that a later start depends on is written here.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Atomically creates or replaces a file with mode 0600.
///
/// A reader sees the old or the new content, never a part, also after a power failure.
pub fn replace(path: impl AsRef<Path>, content: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    write_temporary(path, content)?.persist(path)?;
    sync_parent(path)
}

/// Atomically creates a file with mode 0600.
///
/// Fails with [`io::ErrorKind::AlreadyExists`] if the file exists.
pub fn create(path: impl AsRef<Path>, content: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    write_temporary(path, content)?.persist_noclobber(path)?;
    sync_parent(path)
}

/// Makes the directory entry of `path` durable.
pub fn sync_parent(path: impl AsRef<Path>) -> io::Result<()> {
    fs::File::open(parent_dir(path.as_ref()))?.sync_all()
}

/// A synced temporary file in the directory of `path`, with mode 0600.
fn write_temporary(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(parent_dir(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn parent_dir(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_replaced_file_is_whole_private_and_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance.id");
        fs::write(&path, "old and longer").unwrap();

        replace(&path, b"new").unwrap();

        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn creating_a_file_never_replaces_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance.id");
        create(&path, b"first").unwrap();

        let rejected = create(&path, b"second").unwrap_err();

        assert_eq!(rejected.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }
}
