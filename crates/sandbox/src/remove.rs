//! Removes a job's directory tree, however deep or inaccessible it is.
//!
//! A job may nest directories deeper than the stack or `PATH_MAX` allows, or remove its own permission to
//! read them. Links are removed, never followed.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// Directories below this are moved up to the top before they are entered.
const MAX_DEPTH: u32 = 64;

/// Removes the directory at `path` recursively. Succeeds if it does not exist.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let top = match open(path, dir_flags(), Mode::empty()) {
        Ok(top) => top,
        Err(Errno::ENOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut removal = TreeRemoval { top, moved: 0 };
    loop {
        let before = removal.moved;
        let top = removal.top.try_clone()?;
        removal.clear_dir(&top, 0)?;
        if removal.moved == before {
            break;
        }
    }
    std::fs::remove_dir(path)
}

struct TreeRemoval {
    top: OwnedFd,
    /// Number of directories moved up, used to make their new names unique.
    moved: u32,
}

impl TreeRemoval {
    fn clear_dir(&mut self, dir: &OwnedFd, depth: u32) -> io::Result<()> {
        for name in list_names(dir)? {
            match unlinkat(dir, name.as_c_str(), UnlinkatFlags::NoRemoveDir) {
                Ok(()) | Err(Errno::ENOENT) => {}
                Err(Errno::EISDIR | Errno::EPERM) => self.remove_dir(dir, &name, depth)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn remove_dir(&mut self, parent: &OwnedFd, name: &CString, depth: u32) -> io::Result<()> {
        if depth >= MAX_DEPTH {
            self.moved += 1;
            let path = format!(".removed-{}", self.moved);
            return Ok(renameat(parent, name.as_c_str(), &self.top, path.as_str())?);
        }
        let dir = open_dir_as_owner(parent, name)?;
        self.clear_dir(&dir, depth + 1)?;
        drop(dir);
        match unlinkat(parent, name.as_c_str(), UnlinkatFlags::RemoveDir) {
            // A directory may have been moved up meanwhile; the next round removes it.
            Ok(()) | Err(Errno::ENOENT | Errno::ENOTEMPTY) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Restores the owner's permissions on a directory and opens it.
fn open_dir_as_owner(parent: &OwnedFd, name: &CString) -> nix::Result<OwnedFd> {
    let owner_may = Mode::S_IRWXU;
    match fchmodat(parent, name.as_c_str(), owner_may, FchmodatFlags::FollowSymlink) {
        // A directory of another owner can still be removed if it is empty.
        Ok(()) | Err(Errno::EPERM) => openat(parent, name.as_c_str(), dir_flags(), Mode::empty()),
        Err(error) => Err(error),
    }
}

fn list_names(dir: &OwnedFd) -> io::Result<Vec<CString>> {
    // Reopened: a cloned descriptor would share the read position of the last listing.
    let mut listing = Dir::openat(dir, ".", dir_flags(), Mode::empty())?;
    let mut names = Vec::new();
    for entry in listing.iter() {
        let name = entry?.file_name().to_owned();
        if name.as_c_str() != c"." && name.as_c_str() != c".." {
            names.push(name);
        }
    }
    Ok(names)
}

fn dir_flags() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use nix::sys::stat::mkdirat;

    use super::*;

    #[test]
    fn a_tree_deeper_than_any_path_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let tree = home.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let mut at = open(&tree, dir_flags(), Mode::empty()).unwrap();
        for _ in 0..5000 {
            mkdirat(&at, "deep", Mode::S_IRWXU).unwrap();
            at = openat(&at, "deep", dir_flags(), Mode::empty()).unwrap();
        }

        remove_tree(&tree).unwrap();

        assert!(!tree.exists());
    }

    #[test]
    fn a_tree_its_owner_may_not_enter_is_removed_and_links_are_not_followed() {
        let (home, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("kept"), "").unwrap();
        let tree = home.path().join("tree");
        fs::create_dir_all(tree.join("closed/inner")).unwrap();
        symlink(outside.path(), tree.join("closed/link")).unwrap();
        fs::set_permissions(tree.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();

        remove_tree(&tree).unwrap();

        assert!(!tree.exists() && outside.path().join("kept").exists());
    }

    #[test]
    fn removing_nothing_is_no_error() {
        let home = tempfile::tempdir().unwrap();

        remove_tree(&home.path().join("absent")).unwrap();
    }
}
