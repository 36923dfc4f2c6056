//! `search`: lines that match a regular expression.

use std::fs;
use std::path::{Path, PathBuf};

use cynode_agent_job::bounded_text::clip_end;
use cynode_agent_job::text_file::{FileError, is_binary};
use cynode_agent_job::workspace::{Workspace, is_skipped_directory};
use regex::{Regex, RegexBuilder};

use super::ToolError;
use crate::action::Search;
use crate::observation::{OBSERVATION_BYTES, Observation};

/// The most matches of a search.
const MAX_MATCHES: usize = 100;
/// Bytes of a matching line that are shown.
const MAX_LINE_BYTES: usize = 200;
/// Larger files are not searched.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Bytes of all files that are searched.
const MAX_SEARCHED_BYTES: u64 = 256 << 20;
/// Files that are visited.
const MAX_FILES: usize = 20_000;
/// Memory of a compiled expression.
const MAX_EXPRESSION_BYTES: usize = 1 << 20;

/// Searches a file, or every file below a directory, in the order of their paths.
pub(super) fn search(workspace: &Workspace, search: &Search) -> Result<Observation, ToolError> {
    let path =
        workspace.resolve(search.path.as_deref().filter(|it| !it.is_empty()).unwrap_or("."))?;
    let metadata = fs::metadata(path.absolute()).map_err(FileError::io(&path))?;
    let find = |pattern: &str| -> Result<SearchMatches, regex::Error> {
        let expression = RegexBuilder::new(pattern).size_limit(MAX_EXPRESSION_BYTES).build()?;
        let mut found = SearchMatches::default();
        if metadata.is_dir() {
            search_directory(workspace, path.absolute().to_owned(), &expression, &mut found);
        } else {
            found.search_file(workspace, path.absolute(), &expression);
        }
        Ok(found)
    };
    let matched = find(&search.pattern);
    let has_matches = matched.as_ref().is_ok_and(|found| !found.lines.is_empty());
    // Models often mean text with special characters, such as the call of a function.
    let literal = regex::escape(&search.pattern);
    if !has_matches
        && literal != search.pattern
        && let Ok(found) = find(&literal)
        && !found.lines.is_empty()
    {
        return Ok(describe_matches(found, " as plain text"));
    }
    let found =
        matched.map_err(|error| ToolError::Rejected(format!("invalid pattern: {error}")))?;
    Ok(describe_matches(found, ""))
}

fn describe_matches(found: SearchMatches, how: &str) -> Observation {
    let SearchMatches { lines, skipped, is_cut, .. } = found;
    let skipped = match skipped {
        0 => String::new(),
        skipped => format!("; {skipped} binary, large or unreadable files were not searched"),
    };
    let cut = if is_cut { "; there may be more: narrow the pattern or the path" } else { "" };
    let count = lines.len();
    if count == 0 {
        return Observation::succeeded(format!("no line matches{skipped}{cut}"));
    }
    Observation::succeeded(format!("{count} lines match{how}{skipped}{cut}"))
        .with_data(lines.join("\n"))
}

#[derive(Default)]
struct SearchMatches {
    lines: Vec<String>,
    bytes_shown: usize,
    bytes_searched: u64,
    files: usize,
    skipped: usize,
    is_cut: bool,
}

impl SearchMatches {
    fn search_file(&mut self, workspace: &Workspace, path: &Path, expression: &Regex) {
        self.files += 1;
        let bytes = fs::symlink_metadata(path)
            .ok()
            .filter(|metadata| metadata.is_file() && metadata.len() <= MAX_FILE_BYTES)
            .map(|metadata| metadata.len());
        let content = bytes.and_then(|_| fs::read(path).ok()).filter(|it| !is_binary(it));
        let (Some(bytes), Some(content)) = (bytes, content) else {
            self.skipped += 1;
            return;
        };
        self.bytes_searched += bytes;
        let name = path.strip_prefix(workspace.root()).unwrap_or(path).to_string_lossy();
        for (number, line) in String::from_utf8_lossy(&content).lines().enumerate() {
            if !expression.is_match(line) {
                continue;
            }
            let line = format!("{name}:{}: {}", number + 1, clip_end(line, MAX_LINE_BYTES));
            if self.lines.len() >= MAX_MATCHES
                || self.bytes_shown + line.len() > OBSERVATION_BYTES - 200
            {
                self.is_cut = true;
                return;
            }
            self.bytes_shown += line.len() + 1;
            self.lines.push(line);
        }
    }
}

/// Visits the directory in the order of names, depth first.
fn search_directory(
    workspace: &Workspace,
    directory: PathBuf,
    expression: &Regex,
    found: &mut SearchMatches,
) {
    let mut pending = vec![directory];
    while let Some(path) = pending.pop() {
        if found.files >= MAX_FILES || found.bytes_searched >= MAX_SEARCHED_BYTES {
            found.is_cut = true;
        }
        if found.is_cut {
            return;
        }
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_symlink() {
            // The target is searched where it is, if it is in the workspace.
            continue;
        }
        if !metadata.is_dir() {
            found.search_file(workspace, &path, expression);
            continue;
        }
        let Ok(entries) = fs::read_dir(&path) else { continue };
        let mut entries: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| !is_skipped_directory(&entry.file_name()))
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        pending.extend(entries.into_iter().rev());
    }
}
