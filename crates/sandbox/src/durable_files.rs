//! Crash-safe file writes: a crash leaves either the old state or the new one.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use cynode_runtime::durable_file;
use serde::Serialize;

/// Writes `value` as JSON to `path`, atomically and durably.
pub fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    durable_file::replace(path, &serde_json::to_vec(value)?)
}

/// Writes `text` to `path` atomically, but not durably: after a power failure the file may be empty or absent.
pub(crate) fn replace_text(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_added_extension(format!("{}.draft", std::process::id()));
    fs::write(&draft, text)?;
    fs::rename(&draft, path)
}

/// Creates an empty file durably.
pub(crate) fn create_marker(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    durable_file::sync_parent(path)
}
