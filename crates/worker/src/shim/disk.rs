//! How much disk a job uses, and whether that is too much.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// More files than this make every later look at the workspace slow.
const MAX_ENTRIES: u64 = 1_000_000;
/// Deeper trees cannot be walked or removed by path.
const MAX_DEPTH: usize = 128;
const PAUSE: Duration = Duration::from_millis(250);
/// Looking takes at most one part in this many of the supervisor's time.
const DUTY: u32 = 10;

/// Watches the directories of one job.
pub(super) struct DiskWatch {
    paths: Vec<PathBuf>,
    limit_mib: u32,
    next: Instant,
}

impl DiskWatch {
    pub(super) fn new(paths: Vec<PathBuf>, limit_mib: u32) -> Self {
        Self { paths, limit_mib, next: Instant::now() + PAUSE }
    }

    /// Looks if it is time to; says what is exceeded.
    pub(super) fn tick(&mut self) -> Option<String> {
        let begun = Instant::now();
        if begun < self.next {
            return None;
        }
        let excess = self.excess();
        self.next = Instant::now() + PAUSE.max(begun.elapsed() * DUTY);
        excess
    }

    /// Looks now; says what is exceeded.
    pub(super) fn excess(&self) -> Option<String> {
        let mut usage = Usage { bytes: 0, entries: 0, limit: u64::from(self.limit_mib) << 20 };
        self.paths.iter().find_map(|path| usage.add(path).err()).map(|excess| match excess {
            Excess::Bytes => {
                format!("the workspace and artifacts filled {} MiB of disk", self.limit_mib)
            }
            Excess::Entries => format!("the workspace and artifacts hold {MAX_ENTRIES} files"),
            Excess::Depth => "directories are nested too deep to be measured".to_owned(),
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Excess {
    Bytes,
    Entries,
    Depth,
}

struct Usage {
    bytes: u64,
    entries: u64,
    limit: u64,
}

impl Usage {
    /// Adds the tree under `root`. Files that vanish meanwhile count for nothing.
    fn add(&mut self, root: &Path) -> Result<(), Excess> {
        let mut pending = vec![(root.to_owned(), 0)];
        while let Some((path, depth)) = pending.pop() {
            if depth >= MAX_DEPTH {
                return Err(Excess::Depth);
            }
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) if is_gone(&error) => continue,
                // What cannot be measured cannot be allowed: a path may be too long to follow.
                Err(_) => return Err(Excess::Depth),
            };
            for entry in entries.filter_map(io::Result::ok) {
                // Of the entry itself: a symbolic link is not followed.
                let Ok(metadata) = entry.metadata() else { continue };
                self.count(metadata.blocks() * 512)?;
                if metadata.is_dir() {
                    pending.push((entry.path(), depth + 1));
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> Result<(), Excess> {
        self.bytes += bytes;
        self.entries += 1;
        match () {
            () if self.bytes >= self.limit => Err(Excess::Bytes),
            () if self.entries >= MAX_ENTRIES => Err(Excess::Entries),
            () => Ok(()),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(path: &Path) -> DiskWatch {
        DiskWatch::new(vec![path.to_owned()], 1)
    }

    #[test]
    fn files_under_the_limit_are_no_excess_and_files_over_it_are() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), vec![1; 500 << 10]).unwrap();
        assert_eq!(watch(root.path()).excess(), None);

        fs::write(root.path().join("b"), vec![1; 600 << 10]).unwrap();
        let excess = watch(root.path()).excess();

        assert_eq!(excess.unwrap(), "the workspace and artifacts filled 1 MiB of disk");
    }

    #[test]
    fn symbolic_links_are_not_followed_when_disk_use_is_measured() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("big"), vec![1; 2 << 20]).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();

        assert_eq!(watch(root.path()).excess(), None);
    }

    #[test]
    fn very_deep_directories_are_an_excess() {
        let root = tempfile::tempdir().unwrap();
        let deep = (0..MAX_DEPTH).fold(root.path().to_owned(), |path, _| path.join("d"));
        fs::create_dir_all(deep).unwrap();

        assert_eq!(
            watch(root.path()).excess().unwrap(),
            "directories are nested too deep to be measured"
        );
    }
}
