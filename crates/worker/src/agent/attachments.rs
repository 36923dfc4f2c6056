//! Writes a task's attachments to its workspace before a job starts.
//!
//! The workspace's content is untrusted (an earlier job wrote it), so links are never followed.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use cynode_client::Client;
use cynode_wire::nodes::Assignment;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, unlinkat};

use super::{DaemonContext, run_blocking};

const DIRECTORY: &str = "attachments";
/// Name of an incomplete file; attachments cannot have this name.
const PARTIAL: &str = ".partial";

/// Fetches every attachment of the job. Error responses of the orchestrator are retried for at most
/// `limit`.
pub(super) async fn fetch_attachments(
    context: &DaemonContext,
    assignment: &Assignment,
    limit: Duration,
) -> Result<(), String> {
    let workspace = context.sandbox.workspace(assignment.task_id);
    let owner = context.sandbox.owner_id(assignment.task_id);
    for name in &assignment.attachments {
        if !is_file_name(name) {
            return Err(format!("attachment \"{name}\" has an invalid file name"));
        }
        let job = assignment.job_id;
        let get = |client: Client| async move { client.node_get_attachment(job, name).await };
        let fetched = context.call_until_answered_within(job, limit, get).await;
        let bytes = fetched.map_err(|error| format!("attachment {name}: {error}"))?;
        let (workspace, file) = (workspace.clone(), name.clone());
        let placed = run_blocking(move || write_attachment(&workspace, &file, &bytes, owner)).await;
        match placed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(format!("attachment {name} cannot be written: {error}")),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && ![".", "..", PARTIAL].contains(&name) && !name.contains(['/', '\0'])
}

/// Writes one attachment. Keeps an existing file, because the task may have changed it.
fn write_attachment(
    workspace: &Path,
    name: &str,
    content: &[u8],
    owner: Option<u32>,
) -> io::Result<()> {
    let directory = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    let workspace = open(workspace, directory, Mode::empty())?;
    match mkdirat(&workspace, DIRECTORY, Mode::from_bits_truncate(0o755)) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let directory = openat(&workspace, DIRECTORY, directory, Mode::empty())?;
    set_owner(&directory, owner)?;
    let read = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    if openat(&directory, name, read, Mode::empty()).is_ok() {
        return Ok(());
    }
    // An existing entry named like the partial file is removed, not followed.
    let _ = unlinkat(&directory, PARTIAL, UnlinkatFlags::NoRemoveDir);
    let create = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let mut file =
        File::from(openat(&directory, PARTIAL, create, Mode::from_bits_truncate(0o644))?);
    file.write_all(content)?;
    set_owner(&OwnedFd::from(file), owner)?;
    Ok(renameat(&directory, PARTIAL, &directory, name)?)
}

fn set_owner(file: &OwnedFd, owner: Option<u32>) -> nix::Result<()> {
    match owner {
        Some(id) => fchown(file, Some(Uid::from_raw(id)), Some(Gid::from_raw(id))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_attachment_is_placed_once_and_not_over_later_changes() {
        let workspace = tempfile::tempdir().unwrap();
        write_attachment(workspace.path(), "data.csv", b"1", None).unwrap();
        fs::write(workspace.path().join("attachments/data.csv"), "2").unwrap();

        write_attachment(workspace.path(), "data.csv", b"1", None).unwrap();

        assert_eq!(fs::read(workspace.path().join("attachments/data.csv")).unwrap(), b"2");
    }

    #[test]
    fn nothing_is_written_through_a_link_left_in_the_workspace() {
        let (workspace, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), workspace.path().join("attachments")).unwrap();

        assert!(write_attachment(workspace.path(), "x", b"1", None).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn names_with_directories_in_them_are_refused() {
        assert!(is_file_name("report.txt"));
        for name in ["", ".", "..", "a/b", "/etc/passwd", ".partial"] {
            assert!(!is_file_name(name), "{name}");
        }
    }
}
