//! The data directory of `up`: its lock and its paths.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::UpError;

/// A locked data directory. The lock is held until this value is dropped.
#[derive(Debug)]
pub(crate) struct LockedDataDir {
    root: PathBuf,
    _lock: File,
}

impl LockedDataDir {
    /// Creates missing directories and locks the data directory.
    pub(crate) fn prepare(root: &Path) -> Result<Self, UpError> {
        let failed = |cause| UpError::Directory { path: root.to_owned(), cause };
        create_private_dir(root).map_err(failed)?;
        let root = root.canonicalize().map_err(failed)?;
        let lock = lock_data_dir(&root)?;
        let data_dir = Self { root, _lock: lock };
        data_dir
            .create_directories()
            .map_err(|cause| UpError::Directory { path: data_dir.root.clone(), cause })?;
        Ok(data_dir)
    }

    fn create_directories(&self) -> io::Result<()> {
        for dir in ["logs", "run", "run/pma", "node"] {
            create_private_dir(&self.root.join(dir))?;
        }
        self.remove_announcement();
        Ok(())
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The runner's token, written by the orchestrator.
    pub(crate) fn runner_token(&self) -> PathBuf {
        self.root.join("runner.token")
    }

    /// The join token of nodes, written by the orchestrator.
    pub(crate) fn join_token(&self) -> PathBuf {
        self.root.join("node-join.token")
    }

    /// The admin's API token, written by the orchestrator.
    pub(crate) fn admin_token(&self) -> PathBuf {
        self.root.join("admin.token")
    }

    /// The admin's initial password, written by the orchestrator.
    pub(crate) fn admin_password(&self) -> PathBuf {
        self.root.join("admin.password")
    }

    pub(crate) fn log(&self, role: &str) -> PathBuf {
        self.root.join("logs").join(format!("{role}.log"))
    }

    /// The health socket of a component.
    pub(crate) fn socket(&self, role: &str) -> PathBuf {
        self.root.join("run").join(format!("{role}.sock"))
    }

    /// The shared secret of project manager and orchestrator, written by the orchestrator.
    pub(crate) fn pma_secret(&self) -> PathBuf {
        self.root.join("pma.secret")
    }

    /// The project manager's socket, in its own directory, the only one it may access.
    pub(crate) fn pma_socket(&self) -> PathBuf {
        self.root.join("run/pma/project_manager.sock")
    }

    /// The file to which the orchestrator writes its listen address.
    pub(crate) fn address_file(&self) -> PathBuf {
        self.root.join("orchestrator.addr")
    }

    /// The file by which `cynork` finds this `up`.
    pub(crate) fn announcement(&self) -> PathBuf {
        self.root.join("up.json")
    }

    /// Removes the files that announce a listening address.
    pub(crate) fn remove_announcement(&self) {
        for path in [self.announcement(), self.address_file()] {
            // A missing file counts as removed.
            let _ = fs::remove_file(path);
        }
    }
}

fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn lock_data_dir(root: &Path) -> Result<File, UpError> {
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
            let holder = describe_holder(root, &mut file);
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

/// Describes the process that holds the lock: pid from the lock file, address from `up.json`.
fn describe_holder(root: &Path, lock: &mut File) -> String {
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
        let first = LockedDataDir::prepare(dir.path()).unwrap();
        fs::write(first.announcement(), r#"{"url": "http://127.0.0.1:12080"}"#).unwrap();

        let refusal = LockedDataDir::prepare(dir.path()).unwrap_err().to_string();

        let pid = std::process::id();
        assert!(refusal.contains("already in use by another `cynode up`"), "{refusal}");
        assert!(
            refusal.ends_with(&format!("(process {pid}) at http://127.0.0.1:12080")),
            "{refusal}"
        );
        drop(first);
        assert!(LockedDataDir::prepare(dir.path()).is_ok());
    }

    #[test]
    fn the_directories_are_open_to_their_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("new/data");

        let data_dir = LockedDataDir::prepare(&root).unwrap();

        for path in [root.clone(), root.join("logs"), root.join("run"), root.join("node")] {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o700, "{}", path.display());
        }
        drop(data_dir);
    }

    #[test]
    fn an_announcement_left_by_a_killed_up_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("up.json"), "{}").unwrap();

        let data_dir = LockedDataDir::prepare(dir.path()).unwrap();

        assert!(!data_dir.announcement().exists());
    }
}
