//! Placing a task's attachments in its workspace before a job starts.
//!
//! An earlier job of the task may have left anything there, so nothing is written through a link.

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

use super::{Context, blocking};

const DIRECTORY: &str = "attachments";
/// The name of a file that is not complete yet; attachments cannot be called so.
const PARTIAL: &str = ".partial";

/// Fetches every attachment of the job; says in words what is wrong if one cannot be placed. An
/// orchestrator that fails to give one out has `limit` to do better.
pub(super) async fn fetch(
    context: &Context,
    assignment: &Assignment,
    limit: Duration,
) -> Result<(), String> {
    let workspace = context.sandbox.workspace(assignment.task_id);
    let owner = context.sandbox.owner(assignment.task_id);
    for name in &assignment.attachments {
        if !is_file_name(name) {
            return Err(format!("attachment \"{name}\" has a name that cannot be used"));
        }
        let job = assignment.job_id;
        let get = |client: Client| async move { client.node_get_attachment(job, name).await };
        let fetched = context.persist_within(job, limit, get).await;
        let bytes = fetched.map_err(|error| format!("attachment {name}: {error}"))?;
        let (workspace, file) = (workspace.clone(), name.clone());
        let placed = blocking(move || place(&workspace, &file, &bytes, owner)).await;
        match placed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(format!("attachment {name} cannot be placed: {error}")),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && ![".", "..", PARTIAL].contains(&name) && !name.contains(['/', '\0'])
}

/// Writes one attachment, unless the task has it already and may have changed it.
fn place(workspace: &Path, name: &str, content: &[u8], owner: Option<u32>) -> io::Result<()> {
    let directory = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    let workspace = open(workspace, directory, Mode::empty())?;
    match mkdirat(&workspace, DIRECTORY, Mode::from_bits_truncate(0o755)) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let directory = openat(&workspace, DIRECTORY, directory, Mode::empty())?;
    own(&directory, owner)?;
    let read = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    if openat(&directory, name, read, Mode::empty()).is_ok() {
        return Ok(());
    }
    // Whatever has the name of the partial file is not followed but removed.
    let _ = unlinkat(&directory, PARTIAL, UnlinkatFlags::NoRemoveDir);
    let create = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let mut file =
        File::from(openat(&directory, PARTIAL, create, Mode::from_bits_truncate(0o644))?);
    file.write_all(content)?;
    own(&OwnedFd::from(file), owner)?;
    Ok(renameat(&directory, PARTIAL, &directory, name)?)
}

fn own(file: &OwnedFd, owner: Option<u32>) -> nix::Result<()> {
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
        place(workspace.path(), "data.csv", b"1", None).unwrap();
        fs::write(workspace.path().join("attachments/data.csv"), "2").unwrap();

        place(workspace.path(), "data.csv", b"1", None).unwrap();

        assert_eq!(fs::read(workspace.path().join("attachments/data.csv")).unwrap(), b"2");
    }

    #[test]
    fn nothing_is_written_through_a_link_left_in_the_workspace() {
        let (workspace, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(outside.path(), workspace.path().join("attachments")).unwrap();

        assert!(place(workspace.path(), "x", b"1", None).is_err());
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
