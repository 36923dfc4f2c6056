//! Crash-safe file writes: a crash leaves either the old state or the new one.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use cynode_runtime::durable_file;
use serde::Serialize;

/// Writes `value` as JSON to `path`, atomically and durably.
pub fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    durable_file::replace(path, &serde_json::to_vec(value)?)
}

/// Creates an empty file durably.
pub(crate) fn create_marker(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    durable_file::sync_parent(path)
}
