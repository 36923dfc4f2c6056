//! Syncs a job's files before its outcome is persisted.
//!
//! The next step uses the workspace as soon as the outcome exists. If a power failure could lose the files
//! and keep the outcome, the next step would read empty files.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::jobs::Stream;
use nix::fcntl::OFlag;

use crate::job_dir::JobDir;
use crate::request::SandboxRequest;

/// Up to this many changed files are synced individually; beyond it, the whole filesystem is synced.
const MAX_SINGLE_SYNCS: usize = 64;
/// How far file times may lag behind the clock.
const CLOCK_SLACK: Duration = Duration::from_secs(2);

/// Start time of a job, by wall clock and monotonic clock.
pub(super) struct JobStartTime {
    at: DateTime<Utc>,
    instant: Instant,
}

impl JobStartTime {
    pub(super) fn now() -> Self {
        Self { at: SystemClock.now(), instant: Instant::now() }
    }

    /// The time since which files may have changed; `None` if the wall clock was set meanwhile.
    fn changed_since(&self) -> Option<DateTime<Utc>> {
        let passed = (SystemClock.now() - self.at).to_std().ok()?;
        let is_steady = passed.abs_diff(self.instant.elapsed()) < CLOCK_SLACK / 2;
        is_steady.then(|| self.at - CLOCK_SLACK)
    }
}

/// Syncs the workspace, the output and the artifacts of a job.
pub(super) fn sync_job_files(
    dir: &JobDir,
    request: &SandboxRequest,
    begun: &JobStartTime,
) -> io::Result<()> {
    let trees = [request.workspace.clone(), request.artifacts.clone()];
    match begun.changed_since().and_then(|since| list_changed(&trees, since).ok()) {
        Some(paths) => {
            for path in paths {
                sync_path(&path)?;
            }
        }
        None => {
            for tree in &trees {
                sync_filesystem(tree)?;
            }
        }
    }
    for stream in Stream::ALL {
        sync_path(&dir.stream(stream))?;
    }
    Ok(())
}

/// Lists files and directories under `trees` that changed since then. Fails if there are more than `MAX_SINGLE_SYNCS`,
/// or if one cannot be read.
fn list_changed(trees: &[PathBuf], since: DateTime<Utc>) -> io::Result<Vec<PathBuf>> {
    let has_changed = |metadata: &fs::Metadata| {
        let at = DateTime::from_timestamp(metadata.ctime(), 0).unwrap_or(DateTime::UNIX_EPOCH);
        at.timestamp() >= since.timestamp()
    };
    let mut found = vec![];
    let mut pending = trees.to_vec();
    while let Some(path) = pending.pop() {
        if has_changed(&fs::symlink_metadata(&path)?) {
            found.push(path.clone());
        }
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            // Of the entry itself: symbolic links are not followed.
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                pending.push(entry.path());
            } else if metadata.is_file() && has_changed(&metadata) {
                found.push(entry.path());
            }
        }
        if found.len() > MAX_SINGLE_SYNCS {
            return Err(io::Error::other("many files have changed"));
        }
    }
    Ok(found)
}

/// Syncs one file or directory; syncs the filesystem if it cannot be opened.
fn sync_path(path: &Path) -> io::Result<()> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    match OpenOptions::new().read(true).custom_flags(flags.bits()).open(path) {
        Ok(file) => file.sync_all(),
        Err(_) => sync_filesystem(path),
    }
}

/// Syncs the filesystem of `path` through an ancestor directory, whose permissions the job cannot change.
fn sync_filesystem(path: &Path) -> io::Result<()> {
    let around = path.ancestors().skip(1).find_map(|path| File::open(path).ok());
    let around = around.ok_or_else(|| io::Error::other("no directory can be opened"))?;
    Ok(nix::unistd::syncfs(around)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_synced_and_links_are_not_followed() {
        let (tree, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(tree.path().join("d")).unwrap();
        fs::write(tree.path().join("d/f"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), tree.path().join("link")).unwrap();
        let trees = [tree.path().to_owned()];
        let now = SystemClock.now();

        let mut found = list_changed(&trees, now - CLOCK_SLACK).unwrap();
        found.sort();
        let d = tree.path().join("d");
        assert_eq!(found, [tree.path().to_owned(), d.clone(), d.join("f")]);
        assert_eq!(
            list_changed(&trees, now + Duration::from_mins(1)).unwrap(),
            Vec::<PathBuf>::new()
        );
    }

    #[test]
    fn many_changed_files_are_left_to_a_sync_of_the_filesystem() {
        let tree = tempfile::tempdir().unwrap();
        for number in 0..=MAX_SINGLE_SYNCS {
            fs::write(tree.path().join(number.to_string()), "").unwrap();
        }

        assert!(list_changed(&[tree.path().to_owned()], SystemClock.now() - CLOCK_SLACK).is_err());
        sync_filesystem(tree.path()).unwrap();
    }

    #[test]
    fn after_the_clock_was_set_nothing_is_known_about_times() {
        let begun =
            JobStartTime { at: SystemClock.now() + Duration::from_mins(1), ..JobStartTime::now() };
        assert_eq!(begun.changed_since(), None);
        let begun =
            JobStartTime { at: SystemClock.now() - Duration::from_mins(1), ..JobStartTime::now() };
        assert_eq!(begun.changed_since(), None);
        assert!(JobStartTime::now().changed_since().is_some());
    }
}
