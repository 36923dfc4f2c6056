//! Writing files so that a crash leaves either the old state or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::Serialize;

/// Writes `value` as JSON under `path`: complete and on disk, or not there at all.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let partial = path.with_extension("partial");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_all()?;
    fs::rename(&partial, path)?;
    sync_parent(path)
}

/// Makes an empty file that survives a crash.
pub(crate) fn mark(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    sync_parent(path)
}

/// Makes the entry `path` in its directory durable.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}
