//! The data directory as `up` sees it: who has it, and where things lie in it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::UpError;

/// A data directory that this process has for itself. The lock lasts as long as this value.
#[derive(Debug)]
pub(crate) struct Place {
    root: PathBuf,
    _lock: File,
}

impl Place {
    /// Makes the directory and those in it where they are missing, and locks it.
    pub(crate) fn prepare(root: &Path) -> Result<Self, UpError> {
        let failed = |cause| UpError::Directory { path: root.to_owned(), cause };
        private_dir(root).map_err(failed)?;
        let root = root.canonicalize().map_err(failed)?;
        let lock = lock(&root)?;
        let place = Self { root, _lock: lock };
        place.fill().map_err(|cause| UpError::Directory { path: place.root.clone(), cause })?;
        Ok(place)
    }

    fn fill(&self) -> io::Result<()> {
        for dir in ["logs", "run", "run/pma", "node"] {
            private_dir(&self.root.join(dir))?;
        }
        self.forget_announcement();
        Ok(())
    }

    /// The directory itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The runner's token, written by the orchestrator.
    pub(crate) fn runner_token(&self) -> PathBuf {
        self.root.join("runner.token")
    }

    /// The token with which nodes join, written by the orchestrator.
    pub(crate) fn join_token(&self) -> PathBuf {
        self.root.join("node-join.token")
    }

    /// The admin's API token, written by the orchestrator.
    pub(crate) fn admin_token(&self) -> PathBuf {
        self.root.join("admin.token")
    }

    /// The admin's first password, written by the orchestrator.
    pub(crate) fn admin_password(&self) -> PathBuf {
        self.root.join("admin.password")
    }

    /// The log of a child.
    pub(crate) fn log(&self, role: &str) -> PathBuf {
        self.root.join("logs").join(format!("{role}.log"))
    }

    /// The health socket of a child.
    pub(crate) fn socket(&self, role: &str) -> PathBuf {
        self.root.join("run").join(format!("{role}.sock"))
    }

    /// The secret by which the project manager knows the orchestrator, written by the latter.
    pub(crate) fn pma_secret(&self) -> PathBuf {
        self.root.join("pma.secret")
    }

    /// Where the project manager takes work: in a directory of its own, the only one it may touch.
    pub(crate) fn pma_socket(&self) -> PathBuf {
        self.root.join("run/pma/project_manager.sock")
    }

    /// Where the orchestrator says on which address it listens.
    pub(crate) fn address_file(&self) -> PathBuf {
        self.root.join("orchestrator.addr")
    }

    /// Where `cynork` looks for this `up`.
    pub(crate) fn announcement(&self) -> PathBuf {
        self.root.join("up.json")
    }

    /// Takes back what would make others believe that something listens here.
    pub(crate) fn forget_announcement(&self) {
        for path in [self.announcement(), self.address_file()] {
            // A file that does not exist is as good as removed.
            let _ = fs::remove_file(path);
        }
    }
}

fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn lock(root: &Path) -> Result<File, UpError> {
    let path = root.join("up.lock");
    let failed = |cause| UpError::Directory { path: path.clone(), cause };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = holder(root, &mut file);
            return Err(UpError::InUse { data_dir: root.to_owned(), holder });
        }
        Err(TryLockError::Error(cause)) => return Err(failed(cause)),
    }
    write_pid(&mut file).map_err(failed)?;
    Ok(file)
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Who has the directory, in words: the pid is in the lock file, the address in the announcement.
fn holder(root: &Path, lock: &mut File) -> String {
    let mut pid = String::new();
    let known = lock.read_to_string(&mut pid).is_ok() && !pid.trim().is_empty();
    let pid = if known { format!(" (process {})", pid.trim()) } else { String::new() };
    let url = fs::read(root.join("up.json"))
        .ok()
        .and_then(|text| serde_json::from_slice::<Value>(&text).ok())
        .and_then(|up| up["url"].as_str().map(|url| format!(" at {url}")));
    format!("{pid}{}", url.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_second_up_is_told_who_has_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let first = Place::prepare(dir.path()).unwrap();
        fs::write(first.announcement(), r#"{"url": "http://127.0.0.1:12080"}"#).unwrap();

        let refusal = Place::prepare(dir.path()).unwrap_err().to_string();

        let pid = std::process::id();
        assert!(refusal.contains("already in use by another `cynode up`"), "{refusal}");
        assert!(
            refusal.ends_with(&format!("(process {pid}) at http://127.0.0.1:12080")),
            "{refusal}"
        );
        drop(first);
        assert!(Place::prepare(dir.path()).is_ok());
    }

    #[test]
    fn the_directories_are_open_to_their_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("new/data");

        let place = Place::prepare(&root).unwrap();

        for path in [root.clone(), root.join("logs"), root.join("run"), root.join("node")] {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o700, "{}", path.display());
        }
        drop(place);
    }

    #[test]
    fn an_announcement_left_by_a_killed_up_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("up.json"), "{}").unwrap();

        let place = Place::prepare(dir.path()).unwrap();

        assert!(!place.announcement().exists());
    }
}
