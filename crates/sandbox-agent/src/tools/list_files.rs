//! `list_files`: a bounded tree, the upper levels first.

use std::collections::VecDeque;
use std::fs;

use cynode_agent_job::text_file::FileError;
use cynode_agent_job::workspace::{Workspace, is_skipped_directory};

use super::ToolError;
use crate::action::ListFiles;
use crate::observation::Observation;

/// The most entries of a listing.
const MAX_ENTRIES: usize = 200;
/// The most entries of one directory that are read.
const MAX_DIRECTORY_ENTRIES: usize = 2_000;

/// Lists the entries of a directory and of the directories in it, breadth first, until the limit.
pub(super) fn list_files(
    workspace: &Workspace,
    list: &ListFiles,
) -> Result<Observation, ToolError> {
    let path =
        workspace.resolve(list.path.as_deref().filter(|it| !it.is_empty()).unwrap_or("."))?;
    let metadata = fs::metadata(path.absolute()).map_err(FileError::io(&path))?;
    if !metadata.is_dir() {
        return Ok(Observation::succeeded(format!(
            "{} is a file of {} bytes",
            path.relative(),
            metadata.len()
        )));
    }
    let prefix =
        if path.relative() == "." { String::new() } else { format!("{}/", path.relative()) };
    let mut lines = Vec::new();
    let mut pending = VecDeque::from([(path.absolute().to_owned(), prefix)]);
    let mut has_more = false;
    while let Some((directory, prefix)) = pending.pop_front() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        let mut entries: Vec<_> = entries.flatten().take(MAX_DIRECTORY_ENTRIES).collect();
        has_more |= entries.len() == MAX_DIRECTORY_ENTRIES;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if lines.len() >= MAX_ENTRIES {
                has_more = true;
                break;
            }
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_symlink() {
                lines.push(format!("{name} (symbolic link)"));
            } else if !metadata.is_dir() {
                lines.push(format!("{name} ({} bytes)", metadata.len()));
            } else if is_skipped_directory(&entry.file_name()) {
                lines.push(format!("{name}/ (not listed)"));
            } else {
                lines.push(format!("{name}/"));
                pending.push_back((entry.path(), format!("{name}/")));
            }
        }
    }
    let name = path.relative();
    if lines.is_empty() {
        return Ok(Observation::succeeded(format!("{name} is empty")));
    }
    let count = lines.len();
    let more = if has_more { "; there are more: list a directory below" } else { "" };
    // One name may be as long as the file system allows.
    lines.sort();
    Ok(Observation::succeeded(format!("{name} has {count} entries{more}"))
        .with_data(lines.join("\n")))
}
