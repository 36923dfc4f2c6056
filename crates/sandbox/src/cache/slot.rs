//! Takes a slot for one job.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use cynode_domain::ids::JobId;

use super::QUOTA_FILE;
use super::evict::evict_project;
use super::ownership::change_owner;
use crate::durable_files::replace_text;
use crate::job_dir::JobDir;
use crate::request::SandboxCache;

/// More jobs of one key at once have caches of their own, which are removed with them.
const MAX_SLOTS: u32 = 64;
pub(super) const EVICTED_PREFIX: &str = ".evicted-";

/// A slot that no other job uses while this value or its process lives.
#[derive(Debug)]
pub(crate) struct CacheSlot {
    path: PathBuf,
    #[expect(dead_code, reason = "held for its lock")]
    locked: File,
}

impl CacheSlot {
    /// Takes the first free slot for the job in `dir`, which runs as `uid` if that is not the node's own user. `None` if all are
    /// in use.
    pub(crate) fn acquire(
        cache: &SandboxCache,
        dir: &JobDir,
        uid: Option<u32>,
    ) -> io::Result<Option<Self>> {
        if let Some(project) = cache.pool.parent() {
            record_quota(project, cache.quota_mib)?;
        }
        for number in 0..MAX_SLOTS {
            let path = cache.pool.join(number.to_string());
            create_private(&path)?;
            let Some(slot) = Self::lock(&path)? else { continue };
            match slot.hand_over(dir, uid) {
                Ok(()) => return Ok(Some(slot)),
                // A slot that cannot be used must not be tried by every later job.
                Err(_) => drop(slot.set_aside()?),
            }
        }
        Ok(None)
    }

    /// Locks the slot at `path`; `None` if it is in use or was evicted.
    pub(super) fn lock(path: &Path) -> io::Result<Option<Self>> {
        let locked = match File::open(path) {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match locked.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        // An eviction renames the directory under its lock.
        let named = fs::metadata(path).ok().map(|named| (named.dev(), named.ino()));
        let opened = locked.metadata()?;
        let slot = Self { path: path.to_owned(), locked };
        let is_same = named == Some((opened.dev(), opened.ino()));
        Ok((is_same && !slot.has_live_holder()).then_some(slot))
    }

    /// Whether the sandbox of a job whose supervisor was killed still ends.
    fn has_live_holder(&self) -> bool {
        let holder = fs::read_to_string(self.path.join("holder"));
        holder.is_ok_and(|path| JobDir::open(Path::new(&path)).has_live_sandbox())
    }

    fn hand_over(&self, dir: &JobDir, uid: Option<u32>) -> io::Result<()> {
        let data = self.data();
        create_private(&data)?;
        let owner = uid.map_or_else(|| "node".to_owned(), |uid| uid.to_string());
        let marker = self.path.join("owner");
        if fs::read_to_string(&marker).ok().as_ref() != Some(&owner) {
            remove_if_exists(&marker)?;
            if let Some(uid) = uid {
                change_owner(&data, uid)?;
            }
            replace_text(&marker, &owner)?;
        }
        replace_text(&self.path.join("holder"), &dir.path().to_string_lossy())?;
        fs::write(self.path.join("used"), "")
    }

    /// What the job sees.
    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Gives the slot a name that no job uses; returns its new path.
    pub(super) fn set_aside(&self) -> io::Result<PathBuf> {
        let aside = self.path.with_file_name(format!("{EVICTED_PREFIX}{}", JobId::generate()));
        fs::rename(&self.path, &aside)?;
        Ok(aside)
    }
}

impl Drop for CacheSlot {
    fn drop(&mut self) {
        // Without it the slot is evicted earlier than others. A slot that was set aside is not there any more.
        let _ = File::options().write(true).truncate(true).open(self.path.join("used"));
    }
}

fn record_quota(project: &Path, quota_mib: u32) -> io::Result<()> {
    create_private(project)?;
    let (path, text) = (project.join(QUOTA_FILE), quota_mib.to_string());
    if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
        replace_text(&path, &text)?;
        // A slot above a lower quota would end the job. What cannot be evicted now is evicted after it.
        let _ = evict_project(project);
    }
    Ok(())
}

fn create_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
