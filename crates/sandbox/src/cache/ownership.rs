//! Gives the files of a slot to the user of its next job.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::dir::{Dir, Type};
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Uid, fchown, fchownat};

/// Deeper trees are refused; supervisors end jobs that build them.
const MAX_DEPTH: u32 = 160;

/// Changes the owner of the directory at `path` and of everything below it. Links are changed themselves, never followed.
///
/// No process may change the tree meanwhile.
pub(super) fn change_owner(path: &Path, uid: u32) -> io::Result<()> {
    let top = open(path, dir_flags(), Mode::empty())?;
    change_tree(&top, (Uid::from_raw(uid), Gid::from_raw(uid)), 0)
}

fn change_tree(dir: &OwnedFd, owner: (Uid, Gid), depth: u32) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("the directories are nested too deep"));
    }
    // Reopened: a cloned descriptor would share the read position.
    for entry in Dir::openat(dir, ".", dir_flags(), Mode::empty())?.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        fchownat(dir, name, Some(owner.0), Some(owner.1), AtFlags::AT_SYMLINK_NOFOLLOW)?;
        if entry.file_type() == Some(Type::Directory) {
            change_tree(&openat(dir, name, dir_flags(), Mode::empty())?, owner, depth + 1)?;
        }
    }
    Ok(fchown(dir, Some(owner.0), Some(owner.1))?)
}

fn dir_flags() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC
}
