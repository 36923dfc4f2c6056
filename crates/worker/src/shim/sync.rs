//! Making what a job wrote durable before its end is written down.
//!
//! The next step goes on with the workspace because the outcome says that this one is over. If a power
//! cut could take the files and leave the outcome, the next step would read files that are empty.

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
use crate::spec::JobSpec;

/// Up to so many changed files are synced one by one; beyond, the filesystem is as a whole, along with
/// what others wrote to it.
const FEW: usize = 64;
/// How far times of files may be behind the clock.
const SLACK: Duration = Duration::from_secs(2);

/// When a job began, by both clocks.
pub(super) struct Begun {
    at: DateTime<Utc>,
    instant: Instant,
}

impl Begun {
    pub(super) fn now() -> Self {
        Self { at: SystemClock.now(), instant: Instant::now() }
    }

    /// The time since which files may have changed; none if the clock was set meanwhile.
    fn since(&self) -> Option<DateTime<Utc>> {
        let passed = (SystemClock.now() - self.at).to_std().ok()?;
        let is_steady = passed.abs_diff(self.instant.elapsed()) < SLACK / 2;
        is_steady.then(|| self.at - SLACK)
    }
}

/// Makes the workspace, the output and the artifacts of a job durable.
pub(super) fn files(dir: &JobDir, spec: &JobSpec, begun: &Begun) -> io::Result<()> {
    let trees = [spec.workspace.clone(), dir.artifacts()];
    match begun.since().and_then(|since| changed(&trees, since).ok()) {
        Some(paths) => {
            for path in paths {
                sync(&path)?;
            }
        }
        None => {
            for tree in &trees {
                sync_filesystem(tree)?;
            }
        }
    }
    for stream in Stream::ALL {
        sync(&dir.stream(stream))?;
    }
    Ok(())
}

/// Files and directories under `trees` that changed since then. An error if there are many, or some
/// cannot be looked at.
fn changed(trees: &[PathBuf], since: DateTime<Utc>) -> io::Result<Vec<PathBuf>> {
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
            // Of the entry itself: a symbolic link is not followed.
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                pending.push(entry.path());
            } else if metadata.is_file() && has_changed(&metadata) {
                found.push(entry.path());
            }
        }
        if found.len() > FEW {
            return Err(io::Error::other("many files have changed"));
        }
    }
    Ok(found)
}

/// Syncs one file or directory. One that may not be opened is synced with its filesystem.
fn sync(path: &Path) -> io::Result<()> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    match OpenOptions::new().read(true).custom_flags(flags.bits()).open(path) {
        Ok(file) => file.sync_all(),
        Err(_) => sync_filesystem(path),
    }
}

/// Syncs the filesystem that `path` is on: asked of the directory around it, which the job cannot close
/// to this process.
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

        let mut found = changed(&trees, now - SLACK).unwrap();
        found.sort();
        let d = tree.path().join("d");
        assert_eq!(found, [tree.path().to_owned(), d.clone(), d.join("f")]);
        assert_eq!(changed(&trees, now + Duration::from_mins(1)).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn many_changed_files_are_left_to_a_sync_of_the_filesystem() {
        let tree = tempfile::tempdir().unwrap();
        for number in 0..=FEW {
            fs::write(tree.path().join(number.to_string()), "").unwrap();
        }

        assert!(changed(&[tree.path().to_owned()], SystemClock.now() - SLACK).is_err());
        sync_filesystem(tree.path()).unwrap();
    }

    #[test]
    fn after_the_clock_was_set_nothing_is_known_about_times() {
        let begun = Begun { at: SystemClock.now() + Duration::from_mins(1), ..Begun::now() };
        assert_eq!(begun.since(), None);
        let begun = Begun { at: SystemClock.now() - Duration::from_mins(1), ..Begun::now() };
        assert_eq!(begun.since(), None);
        assert!(Begun::now().since().is_some());
    }
}
