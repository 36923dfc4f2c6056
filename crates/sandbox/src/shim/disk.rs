//! Measures a job's disk usage and checks it against the limit.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::request::SandboxRequest;

/// More files would make every later scan of the workspace slow.
const MAX_ENTRIES: u64 = 1_000_000;
/// Deeper trees cannot be walked or removed by path.
const MAX_DEPTH: usize = 128;
const MIN_SCAN_INTERVAL: Duration = Duration::from_millis(250);
/// Scanning takes at most one part in this many of the supervisor's time.
const SCAN_DUTY_DIVISOR: u32 = 10;

/// Watches the directories of one job.
pub(super) struct DiskWatch {
    workspace: PathBuf,
    artifacts: PathBuf,
    limit_mib: u32,
    /// The cache of the job, and the MiB that it may fill.
    cache: Option<(PathBuf, u32)>,
    next: Instant,
}

impl DiskWatch {
    pub(super) fn for_request(request: &SandboxRequest) -> Self {
        let (workspace, artifacts) = (request.workspace.clone(), request.artifacts.clone());
        let cache = request.cache.as_ref();
        let cache = cache.and_then(|cache| Some((cache.directory.clone()?, cache.quota_mib)));
        Self { cache, ..Self::new(workspace, artifacts, request.limits.disk_mib) }
    }

    fn new(workspace: PathBuf, artifacts: PathBuf, limit_mib: u32) -> Self {
        let next = Instant::now() + MIN_SCAN_INTERVAL;
        Self { workspace, artifacts, limit_mib, cache: None, next }
    }

    /// Scans if a scan is due; returns the exceeded limit.
    pub(super) fn check_if_due(&mut self) -> Option<String> {
        let begun = Instant::now();
        if begun < self.next {
            return None;
        }
        let excess = self.find_excess();
        self.next = Instant::now() + MIN_SCAN_INTERVAL.max(begun.elapsed() * SCAN_DUTY_DIVISOR);
        excess
    }

    /// Scans now; returns the exceeded limit.
    pub(super) fn find_excess(&self) -> Option<String> {
        self.find_workspace_excess().or_else(|| self.find_cache_excess())
    }

    fn find_cache_excess(&self) -> Option<String> {
        let (path, quota_mib) = self.cache.as_ref()?;
        let mut usage = DiskUsage { bytes: 0, entries: 0, limit: u64::from(*quota_mib) << 20 };
        usage.add(path, allocated_bytes).err().map(|excess| match excess {
            DiskExcess::Bytes => format!("its cache filled {quota_mib} MiB of disk"),
            DiskExcess::Entries => format!("its cache holds {MAX_ENTRIES} files"),
            DiskExcess::Depth => {
                "directories of its cache are nested too deep to be measured".to_owned()
            }
        })
    }

    fn find_workspace_excess(&self) -> Option<String> {
        let mut usage = DiskUsage { bytes: 0, entries: 0, limit: u64::from(self.limit_mib) << 20 };
        let added = usage.add(&self.workspace, allocated_bytes);
        let added = added.and_then(|()| usage.add(&self.artifacts, stored_bytes));
        added.err().map(|excess| match excess {
            DiskExcess::Bytes => {
                format!("the workspace and artifacts filled {} MiB of disk", self.limit_mib)
            }
            DiskExcess::Entries => format!("the workspace and artifacts hold {MAX_ENTRIES} files"),
            DiskExcess::Depth => "directories are nested too deep to be measured".to_owned(),
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum DiskExcess {
    Bytes,
    Entries,
    Depth,
}

struct DiskUsage {
    bytes: u64,
    entries: u64,
    limit: u64,
}

impl DiskUsage {
    /// Adds the tree under `root`. Files deleted during the scan are not counted.
    fn add(&mut self, root: &Path, bytes_of: fn(&fs::Metadata) -> u64) -> Result<(), DiskExcess> {
        let mut pending = vec![(root.to_owned(), 0)];
        while let Some((path, depth)) = pending.pop() {
            if depth >= MAX_DEPTH {
                return Err(DiskExcess::Depth);
            }
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) if is_gone(&error) => continue,
                // A tree that cannot be measured is rejected: a path may be too long to follow.
                Err(_) => return Err(DiskExcess::Depth),
            };
            for entry in entries.filter_map(io::Result::ok) {
                // Of the entry itself: symbolic links are not followed.
                let Ok(metadata) = entry.metadata() else { continue };
                self.count(bytes_of(&metadata))?;
                if metadata.is_dir() {
                    pending.push((entry.path(), depth + 1));
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> Result<(), DiskExcess> {
        self.bytes += bytes;
        self.entries += 1;
        match () {
            () if self.bytes >= self.limit => Err(DiskExcess::Bytes),
            () if self.entries >= MAX_ENTRIES => Err(DiskExcess::Entries),
            () => Ok(()),
        }
    }
}

/// The disk that a directory occupies. One that is too deep or large to be measured counts as infinite.
pub(crate) fn measure_bytes(path: &Path) -> u64 {
    let mut usage = DiskUsage { bytes: 0, entries: 0, limit: u64::MAX };
    usage.add(path, allocated_bytes).map_or(u64::MAX, |()| usage.bytes)
}

/// The unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;

fn allocated_bytes(metadata: &fs::Metadata) -> u64 {
    metadata.blocks() * BLOCK_BYTES
}

/// What a file occupies once it is stored as an artifact: its holes are written there.
fn stored_bytes(metadata: &fs::Metadata) -> u64 {
    let length = if metadata.is_file() { metadata.len() } else { 0 };
    allocated_bytes(metadata).max(length)
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(path: &Path) -> DiskWatch {
        DiskWatch::new(path.to_owned(), path.join("none"), 1)
    }

    #[test]
    fn holes_count_in_artifacts_and_not_in_the_workspace() {
        let root = tempfile::tempdir().unwrap();
        let sparse = fs::File::create(root.path().join("sparse")).unwrap();
        sparse.set_len(100 << 20).unwrap();
        assert_eq!(watch(root.path()).find_excess(), None);

        let none = root.path().join("none");
        let excess = DiskWatch::new(none, root.path().to_owned(), 1).find_excess();

        assert_eq!(excess.unwrap(), "the workspace and artifacts filled 1 MiB of disk");
    }

    #[test]
    fn files_under_the_limit_are_no_excess_and_files_over_it_are() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), vec![1; 500 << 10]).unwrap();
        assert_eq!(watch(root.path()).find_excess(), None);

        fs::write(root.path().join("b"), vec![1; 600 << 10]).unwrap();
        let excess = watch(root.path()).find_excess();

        assert_eq!(excess.unwrap(), "the workspace and artifacts filled 1 MiB of disk");
    }

    #[test]
    fn symbolic_links_are_not_followed_when_disk_use_is_measured() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("big"), vec![1; 2 << 20]).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();

        assert_eq!(watch(root.path()).find_excess(), None);
    }

    #[test]
    fn very_deep_directories_are_an_excess() {
        let root = tempfile::tempdir().unwrap();
        let deep = (0..MAX_DEPTH).fold(root.path().to_owned(), |path, _| path.join("d"));
        fs::create_dir_all(deep).unwrap();

        assert_eq!(
            watch(root.path()).find_excess().unwrap(),
            "directories are nested too deep to be measured"
        );
    }
}
