//! The directory that an image is unpacked to.
//!
//! Every operation starts at an open directory and names one entry in it. Links are resolved here, inside the root, and
//! never by the kernel: an absolute target starts at the root, and `..` does not leave it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::ImageError;
use crate::limits::MAX_DEPTH;

/// Links that are resolved for one path, as many as the kernel allows.
const MAX_LINKS: u32 = 40;
/// Parts of a path while links are being resolved.
const MAX_PENDING: usize = 4096;

pub(crate) struct RootTree {
    root: OwnedFd,
}

/// An open directory and its path below the root, without links.
pub(crate) struct TreeDir {
    pub(crate) fd: OwnedFd,
    pub(crate) path: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingDirs {
    Create,
    Report,
}

impl RootTree {
    pub(crate) fn open(path: &Path) -> Result<Self, ImageError> {
        let root = rustix::fs::open(path, dir_flags(), Mode::empty());
        let root = root.map_err(|error| ImageError::io(path)(error.into()))?;
        Ok(Self { root })
    }

    /// Opens a directory below the root; `None` if it is missing and is not to be created.
    pub(crate) fn open_dir(
        &self,
        parts: &[&OsStr],
        missing: MissingDirs,
    ) -> Result<Option<TreeDir>, ImageError> {
        let mut pending: VecDeque<OsString> = parts.iter().map(|&part| part.to_owned()).collect();
        let shown: PathBuf = parts.iter().collect();
        let failed = |error: Errno| ImageError::entry(&shown, error.to_string());
        let mut above: Vec<(OsString, OwnedFd)> = vec![];
        let mut links = 0;
        while let Some(name) = pending.pop_front() {
            match name.as_bytes() {
                b"" | b"." => continue,
                b".." => {
                    above.pop();
                    continue;
                }
                _ if above.len() >= MAX_DEPTH => {
                    let reason = format!("more than {MAX_DEPTH} directories are above it");
                    return Err(ImageError::entry(&shown, reason));
                }
                _ => {}
            }
            let dir = above.last().map_or(&self.root, |(_, dir)| dir);
            match open_subdir(dir, &name) {
                Ok(found) => above.push((name, found)),
                Err(Errno::NOENT) if missing == MissingDirs::Create => {
                    rustix::fs::mkdirat(dir, &name, dir_mode(0o755)).map_err(failed)?;
                    let found = open_subdir(dir, &name).map_err(failed)?;
                    // Whatever the umask of the node is.
                    rustix::fs::fchmod(&found, dir_mode(0o755)).map_err(failed)?;
                    above.push((name, found));
                }
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    let target = rustix::fs::readlinkat(dir, &name, Vec::new());
                    let target = target.map_err(|error| match error {
                        Errno::INVAL => ImageError::entry(&shown, "a file is above it"),
                        error => failed(error),
                    })?;
                    links += 1;
                    let target = OsString::from_vec(target.into_bytes());
                    let parts = target.as_bytes().split(|byte| *byte == b'/');
                    let parts = parts.map(|part| OsStr::from_bytes(part).to_owned());
                    if target.as_bytes().starts_with(b"/") {
                        above.clear();
                    }
                    for part in parts.collect::<Vec<_>>().into_iter().rev() {
                        pending.push_front(part);
                    }
                    if links > MAX_LINKS || pending.len() > MAX_PENDING {
                        return Err(ImageError::entry(&shown, "too many links are above it"));
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
        let path = above.iter().map(|(name, _)| name).collect();
        let fd = match above.pop() {
            Some((_, fd)) => fd,
            None => self.root.try_clone().map_err(ImageError::io(&shown))?,
        };
        Ok(Some(TreeDir { fd, path }))
    }
}

impl TreeDir {
    /// Creates a directory, or keeps the one that is there. Anything else of that name is replaced.
    pub(crate) fn make_dir(&self, name: &OsStr, mode: u32) -> Result<(), Errno> {
        let mode = dir_mode(mode);
        match rustix::fs::mkdirat(&self.fd, name, mode) {
            Err(Errno::EXIST) => {
                if entry_kind(&self.fd, name)? != Some(FileType::Directory) {
                    self.remove(name)?;
                    rustix::fs::mkdirat(&self.fd, name, mode)?;
                }
            }
            outcome => outcome?,
        }
        rustix::fs::fchmod(open_subdir(&self.fd, name)?, mode)
    }

    /// Creates an empty file that replaces anything of that name.
    pub(crate) fn create_file(&self, name: &OsStr) -> Result<File, Errno> {
        self.remove(name)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
    }

    pub(crate) fn make_symlink(&self, name: &OsStr, target: &[u8]) -> Result<(), Errno> {
        self.remove(name)?;
        rustix::fs::symlinkat(OsStr::from_bytes(target), &self.fd, name)
    }

    /// Adds a name of the file `target`, which is not followed if it is a link.
    pub(crate) fn make_hard_link(
        &self,
        name: &OsStr,
        (target_dir, target): (&Self, &OsStr),
    ) -> Result<(), Errno> {
        match entry_kind(&target_dir.fd, target)? {
            None => return Err(Errno::NOENT),
            Some(FileType::RegularFile | FileType::Symlink) => {}
            Some(_) => return Err(Errno::PERM),
        }
        if target_dir.path == self.path && target == name {
            return Ok(());
        }
        self.remove(name)?;
        rustix::fs::linkat(&target_dir.fd, target, &self.fd, name, AtFlags::empty())
    }

    /// Removes an entry and everything below it; links are removed, not followed.
    pub(crate) fn remove(&self, name: &OsStr) -> Result<(), Errno> {
        remove_entry(&self.fd, name)
    }

    /// Names of the entries.
    pub(crate) fn list(&self) -> Result<Vec<OsString>, Errno> {
        list_names(&self.fd)
    }

    /// Opens a directory in this one; `None` if there is none of that name.
    pub(crate) fn open_child(&self, name: &OsStr) -> Result<Option<Self>, Errno> {
        match open_subdir(&self.fd, name) {
            Ok(fd) => Ok(Some(Self { fd, path: self.path.join(name) })),
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn remove_entry(dir: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    let child = open_subdir(dir, name)?;
    for entry in list_names(&child)? {
        remove_entry(&child, &entry)?;
    }
    rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)
}

fn list_names(dir: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = vec![];
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

fn entry_kind(dir: &OwnedFd, name: &OsStr) -> Result<Option<FileType>, Errno> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open_subdir(dir: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, dir_flags(), Mode::empty())
}

/// The owner, who is the node's user, can always enter and remove a directory.
fn dir_mode(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & 0o777 | 0o700)
}

fn dir_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}
