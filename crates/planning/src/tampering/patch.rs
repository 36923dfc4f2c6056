//! The changed lines of a diff, by file.

use std::collections::BTreeMap;

/// The changes of one file.
#[derive(Debug, Default)]
pub(super) struct FileChange<'a> {
    pub(super) added: Vec<&'a str>,
    pub(super) removed: Vec<&'a str>,
    /// Every line of the hunks with its first character, and their headings.
    pub(super) lines: Vec<&'a str>,
    pub(super) is_new: bool,
    pub(super) is_deleted: bool,
    pub(super) renamed_to: Option<String>,
}

impl<'a> FileChange<'a> {
    /// The added lines that were not in the file before, trimmed.
    pub(super) fn newly_added(&self) -> impl Iterator<Item = &'a str> {
        let was_there = |line: &&str| self.removed.iter().any(|removed| removed.trim() == *line);
        self.added.iter().map(|line| line.trim()).filter(move |line| !was_there(line))
    }
}

/// Parses a diff of git.
pub(super) fn parse_patch(diff: &str) -> BTreeMap<String, FileChange<'_>> {
    let mut files: BTreeMap<String, FileChange<'_>> = BTreeMap::new();
    let mut path = String::new();
    let mut is_body = false;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            path = old_name(names);
            files.entry(path.clone()).or_default();
            is_body = false;
            continue;
        }
        let Some(file) = files.get_mut(&path) else { continue };
        if line.starts_with("@@") {
            is_body = true;
            file.lines.push(line);
        } else if !is_body {
            if line.starts_with("deleted file mode") {
                file.is_deleted = true;
            } else if line.starts_with("new file mode") {
                file.is_new = true;
            } else if let Some(to) = line.strip_prefix("rename to ") {
                file.renamed_to = Some(unquote(to));
            }
        } else {
            file.lines.push(line);
            if let Some(added) = line.strip_prefix('+') {
                file.added.push(added);
            } else if let Some(removed) = line.strip_prefix('-') {
                file.removed.push(removed);
            }
        }
    }
    files
}

/// The old name of `a/PATH b/PATH`. Both are equally long unless the file is renamed, so that a path may contain ` b/`.
fn old_name(names: &str) -> String {
    if let Some(quoted) = names.strip_prefix('"') {
        let name = quoted.split("\" ").next().unwrap_or(quoted);
        return unquote(name.strip_prefix("a/").unwrap_or(name));
    }
    let half = names.len() / 2;
    if let (Some(old), Some(new)) = (names.get(..half), names.get(half + 1..))
        && let (Some(old), Some(new)) = (old.strip_prefix("a/"), new.strip_prefix("b/"))
        && old == new
    {
        return old.to_owned();
    }
    let name = names.split(" b/").next().unwrap_or(names);
    name.strip_prefix("a/").unwrap_or(name).to_owned()
}

/// A name without quotation marks. Escapes stay: no rule depends on what they stand for.
fn unquote(name: &str) -> String {
    name.trim_matches('"').to_owned()
}
