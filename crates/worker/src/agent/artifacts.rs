//! Uploads the artifacts of a job.
//!
//! The directory's content is untrusted: links are never followed, special files never opened, and
//! paths are resolved so that they cannot leave the directory.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::JobId;
use cynode_sandbox::job_dir::JobDir;
use nix::dir::{Dir, Type};
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::{Mode, SFlag, fstatat};

use super::{DaemonContext, run_blocking};

const MAX_FILES: usize = 1000;
const MAX_DEPTH: usize = 32;

/// Which artifacts were stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UploadOutcome {
    /// All but those that were rejected for their path or size.
    Stored,
    /// Not the rest: the user or the project has no more storage. The reason is for people.
    StorageLimit(String),
}

/// Uploads every regular file. A file that the orchestrator rejects is logged and skipped; one that it
/// fails to store for longer than `limit` is an error. A storage limit ends the upload.
pub(super) async fn upload_artifacts(
    context: &DaemonContext,
    job: JobId,
    dir: &JobDir,
    limit: Duration,
) -> Result<UploadOutcome, String> {
    let root = dir.artifacts_dir();
    let listed = root.clone();
    let paths = run_blocking(move || list_files(&listed)).await.unwrap_or_default();
    if paths.len() >= MAX_FILES {
        tracing::warn!(job.id = %job, limit = MAX_FILES, "too many artifacts, rest skipped");
    }
    let total = paths.len();
    for (stored, path) in paths.into_iter().enumerate() {
        let (root, path) = (&root, &path);
        let put = |client: Client| async move {
            match open_beneath(root, path) {
                Ok(file) => {
                    let body = reqwest::Body::from(tokio::fs::File::from_std(file));
                    client.node_put_artifact(job, path, body).await.map(drop)
                }
                // Deleted or unreadable: treated as never written.
                Err(_) => Ok(()),
            }
        };
        match context.call_until_answered_within(job, limit, put).await {
            Ok(()) => {}
            Err(error) if error.is_storage_limit() => {
                let left = total - stored;
                tracing::warn!(job.id = %job, %path, left, %error, "artifacts not stored");
                let reason =
                    format!("{left} of {total} artifacts were not stored, {path} first: {error}");
                return Ok(UploadOutcome::StorageLimit(reason));
            }
            Err(error) if error.is_final() || context.jobs.is_forgotten(job) => {
                tracing::warn!(job.id = %job, %path, %error, "artifact skipped");
            }
            Err(error) => return Err(format!("artifact {path} could not be stored: {error}")),
        }
    }
    Ok(UploadOutcome::Stored)
}

/// Lists regular files under `root` as sorted paths relative to it.
fn list_files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![(PathBuf::new(), 0)];
    while let Some((path, depth)) = pending.pop() {
        let Ok(mut entries) = open_dir(root, &path) else { continue };
        let Ok(fd) = entries.as_fd().try_clone_to_owned() else { continue };
        for entry in entries.iter().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." || found.len() >= MAX_FILES {
                continue;
            }
            let inside = path.join(&name);
            match entry_type(&fd, &entry) {
                Some(Type::File) => found.push(inside.to_string_lossy().into_owned()),
                Some(Type::Directory) if depth < MAX_DEPTH => pending.push((inside, depth + 1)),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// Falls back to `fstatat`: some filesystems do not report the entry type in the listing.
fn entry_type(dir: &OwnedFd, entry: &nix::dir::Entry) -> Option<Type> {
    entry.file_type().or_else(|| {
        let stat = fstatat(dir, entry.file_name(), AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
        match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => Some(Type::File),
            SFlag::S_IFDIR => Some(Type::Directory),
            _ => None,
        }
    })
}

fn open_dir(root: &Path, path: &Path) -> nix::Result<Dir> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    Dir::from_fd(open_resolved(root, path, OFlag::O_DIRECTORY)?)
}

pub(super) fn open_beneath(root: &Path, path: &str) -> nix::Result<File> {
    // Non-blocking: a pipe that replaced the file must not block the node.
    open_resolved(root, Path::new(path), OFlag::O_NONBLOCK).map(File::from)
}

fn open_resolved(root: &Path, path: &Path, flags: OFlag) -> nix::Result<OwnedFd> {
    let root = open(root, OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
    let how = OpenHow::new()
        .flags(flags | OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    openat2(root, path, how)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_are_listed_and_links_are_not_followed() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "s").unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::write(root.path().join("a/b/report.txt"), "r").unwrap();
        fs::write(root.path().join("z.txt"), "z").unwrap();
        symlink(outside.path(), root.path().join("dir-link")).unwrap();
        symlink(outside.path().join("secret"), root.path().join("file-link")).unwrap();

        assert_eq!(list_files(root.path()), ["a/b/report.txt", "z.txt"]);
    }

    #[test]
    fn a_path_through_a_link_cannot_be_opened() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "s").unwrap();
        symlink(outside.path(), root.path().join("link")).unwrap();
        fs::write(root.path().join("plain"), "p").unwrap();
        let mut text = String::new();

        assert!(open_beneath(root.path(), "link/secret").is_err());
        assert!(open_beneath(root.path(), "../secret").is_err());
        open_beneath(root.path(), "plain").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "p");
    }
}
