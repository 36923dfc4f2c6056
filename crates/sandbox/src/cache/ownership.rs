//! Changes the owner of a cache slot's files to the user of the next job.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::dir::{Dir, Type};
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::{Gid, Uid, fchown, fchownat};

/// Deeper trees are refused; supervisors end jobs that build them.
const MAX_DEPTH: u32 = 160;

/// Changes the owner of the directory at `path` and of all files and directories in it, recursively. Symbolic links are
/// changed themselves, never followed.
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
        if is_directory(dir, name, entry.file_type())? {
            change_tree(&openat(dir, name, dir_flags(), Mode::empty())?, owner, depth + 1)?;
        }
    }
    Ok(fchown(dir, Some(owner.0), Some(owner.1))?)
}

/// `listed` is the type in the listing of `dir`, which some file systems do not report.
fn is_directory(dir: &OwnedFd, name: &CStr, listed: Option<Type>) -> io::Result<bool> {
    if let Some(listed) = listed {
        return Ok(listed == Type::Directory);
    }
    let stat = fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    Ok(SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR)
}

fn dir_flags() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn directories_are_found_where_listings_have_no_types() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir(tree.path().join("directory")).unwrap();
        fs::write(tree.path().join("file"), "").unwrap();
        symlink("directory", tree.path().join("link")).unwrap();
        let top = open(tree.path(), dir_flags(), Mode::empty()).unwrap();

        let is_directory = |name| is_directory(&top, name, None).unwrap();

        assert!(is_directory(c"directory"));
        assert!(!is_directory(c"file"));
        assert!(!is_directory(c"link"), "links are not followed");
    }
}
