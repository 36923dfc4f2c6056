//! Applies the entries of one layer to the directory of an image.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use crate::error::ImageError;
use crate::limits::UnpackLimits;
use crate::root_tree::{MissingDirs, RootTree, TreeDir};
use crate::tar_entries::{EntryKind, LayerEntry, TarEntries};
use crate::verified_reader::CancelFlag;

/// A name with this prefix removes the entry that lower layers have under the rest of it.
const WHITEOUT: &[u8] = b".wh.";
/// The entry that hides everything that lower layers have in its directory.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Names of the bookkeeping of a file system, which are no files of the image.
const METADATA: &[u8] = b".wh..wh.";

/// What all layers of an image may still add.
#[derive(Debug)]
pub(crate) struct LayerBudget {
    limits: UnpackLimits,
    entries: u64,
    name_bytes: u64,
    /// Bytes that the unpacked files take, rounded up for each.
    pub(crate) disk_bytes: u64,
    /// Devices and pipes that were left out.
    pub(crate) skipped: u64,
}

impl LayerBudget {
    pub(crate) fn new(limits: UnpackLimits) -> Self {
        Self { limits, entries: 0, name_bytes: 0, disk_bytes: 0, skipped: 0 }
    }

    fn count<R: Read>(&mut self, entry: &LayerEntry<'_, R>) -> Result<(), ImageError> {
        self.entries += 1;
        self.name_bytes += (entry.path.len() + entry.link.len()) as u64;
        self.disk_bytes = self.disk_bytes.saturating_add(entry.size.div_ceil(4096).max(1) * 4096);
        for (what, value, limit) in [
            ("the number of entries of the image", self.entries, self.limits.entries),
            ("the length of all names of the image", self.name_bytes, self.limits.name_bytes),
        ] {
            if value > limit {
                return Err(ImageError::Limit { what: what.to_owned(), limit });
            }
        }
        Ok(())
    }
}

/// Applies a layer, read as an uncompressed tar stream.
pub(crate) fn apply_layer(
    tree: &RootTree,
    stream: &mut dyn Read,
    budget: &mut LayerBudget,
    flag: &CancelFlag,
) -> Result<(), ImageError> {
    let mut archive = tar::Archive::new(stream);
    let unreadable = |cause: io::Error| ImageError::invalid("a layer of the image", cause);
    let mut entries = TarEntries::new(archive.entries().map_err(unreadable)?.raw(true));
    let mut layer = LayerWriter { tree, own: BTreeSet::new() };
    while let Some(entry) = entries.next_entry()? {
        flag.check()?;
        budget.count(&entry)?;
        if entry.kind == EntryKind::Special {
            budget.skipped += 1;
            continue;
        }
        layer.apply(entry)?;
    }
    Ok(())
}

struct LayerWriter<'a> {
    tree: &'a RootTree,
    /// Paths that this layer added: its whiteouts concern lower layers only.
    own: BTreeSet<PathBuf>,
}

impl LayerWriter<'_> {
    fn apply<R: Read>(&mut self, mut entry: LayerEntry<'_, R>) -> Result<(), ImageError> {
        let path = entry.path.clone();
        let shown = PathBuf::from(OsStr::from_bytes(&path));
        let parts = split_path(&path)?;
        let Some((&name, above)) = parts.split_last() else {
            // The root itself.
            let is_root = entry.kind == EntryKind::Directory;
            return if is_root { Ok(()) } else { Err(ImageError::entry(&shown, "it has no name")) };
        };
        if name.as_bytes().starts_with(WHITEOUT) {
            return self.apply_whiteout(&shown, name, above);
        }
        let dir = self.tree.open_dir(above, MissingDirs::Create)?;
        let dir = dir.ok_or_else(|| ImageError::entry(&shown, "its directory is missing"))?;
        let failed = |error: Errno| ImageError::entry(&shown, error.to_string());
        match entry.kind {
            EntryKind::Directory => dir.make_dir(name, entry.mode).map_err(failed)?,
            EntryKind::Regular => {
                let mut file = dir.create_file(name).map_err(failed)?;
                copy_content(&mut entry, &mut file, &shown)?;
                let mode = Mode::from_raw_mode(entry.mode & 0o777 | 0o400);
                rustix::fs::fchmod(&file, mode).map_err(failed)?;
                set_modified_time(&file, entry.mtime).map_err(failed)?;
            }
            EntryKind::Symlink => {
                if entry.link.is_empty() || entry.link.contains(&0) {
                    return Err(ImageError::entry(&shown, "its target is invalid"));
                }
                dir.make_symlink(name, &entry.link).map_err(failed)?;
            }
            EntryKind::HardLink => self.apply_hard_link(&shown, (&dir, name), &entry.link)?,
            EntryKind::Special => {}
        }
        self.own.insert(dir.path.join(name));
        Ok(())
    }

    fn apply_hard_link(
        &self,
        shown: &Path,
        (dir, name): (&TreeDir, &OsStr),
        link: &[u8],
    ) -> Result<(), ImageError> {
        let missing =
            || ImageError::entry(shown, "the target of the hard link is not in the image");
        let target = split_path(link)?;
        let (&target_name, above) = target.split_last().ok_or_else(missing)?;
        let target_dir = self.tree.open_dir(above, MissingDirs::Report)?.ok_or_else(missing)?;
        dir.make_hard_link(name, (&target_dir, target_name)).map_err(|error| match error {
            Errno::NOENT => missing(),
            error => ImageError::entry(shown, error.to_string()),
        })
    }

    fn apply_whiteout(
        &self,
        shown: &Path,
        name: &OsStr,
        above: &[&OsStr],
    ) -> Result<(), ImageError> {
        let failed = |error: Errno| ImageError::entry(shown, error.to_string());
        let Some(dir) = self.tree.open_dir(above, MissingDirs::Report)? else { return Ok(()) };
        if name.as_bytes() == OPAQUE {
            return self.clear_lower(&dir).map_err(failed);
        }
        if name.as_bytes().starts_with(METADATA) {
            return Ok(());
        }
        let hidden = OsStr::from_bytes(&name.as_bytes()[WHITEOUT.len()..]);
        if matches!(hidden.as_bytes(), b"" | b"." | b"..") {
            return Err(ImageError::entry(shown, "it would remove a directory above it"));
        }
        if self.has_own(&dir.path.join(hidden)) {
            return Ok(());
        }
        dir.remove(hidden).map_err(failed)
    }

    /// Removes everything in a directory that this layer did not add.
    fn clear_lower(&self, dir: &TreeDir) -> Result<(), Errno> {
        for name in dir.list()? {
            if !self.has_own(&dir.path.join(&name)) {
                dir.remove(&name)?;
            } else if let Some(child) = dir.open_child(&name)? {
                self.clear_lower(&child)?;
            }
        }
        Ok(())
    }

    /// Whether this layer added the path, or something below it.
    fn has_own(&self, path: &Path) -> bool {
        let from = (Bound::Included(path), Bound::Unbounded);
        self.own.range::<Path, _>(from).next().is_some_and(|first| first.starts_with(path))
    }
}

/// The parts of the name of an entry: relative, and without `..`.
fn split_path(path: &[u8]) -> Result<Vec<&OsStr>, ImageError> {
    let refused = |reason: &str| Err(ImageError::entry(OsStr::from_bytes(path), reason));
    if path.starts_with(b"/") {
        return refused("its path is absolute");
    }
    if path.contains(&0) {
        return refused("its path contains a NUL byte");
    }
    let parts = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    let parts: Vec<_> = parts.map(OsStr::from_bytes).collect();
    if parts.iter().any(|part| part.as_bytes() == b"..") {
        return refused("its path contains ..");
    }
    Ok(parts)
}

fn copy_content<R: Read>(
    entry: &mut LayerEntry<'_, R>,
    file: &mut File,
    shown: &Path,
) -> Result<(), ImageError> {
    let size = entry.size;
    let copied = io::copy(entry, file);
    let copied = copied.map_err(|cause| ImageError::entry(shown, cause.to_string()))?;
    if copied == size {
        return Ok(());
    }
    Err(ImageError::entry(shown, format!("it ends after {copied} of {size} bytes")))
}

fn set_modified_time(file: &File, seconds: i64) -> Result<(), Errno> {
    let last_modification = Timespec { tv_sec: seconds.max(0), tv_nsec: 0 };
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    rustix::fs::futimens(file, &Timestamps { last_access, last_modification })
}
