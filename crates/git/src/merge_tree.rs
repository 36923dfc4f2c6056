//! Merges two commits without a work tree, and describes their conflicts.

use cynode_domain::git::CommitId;

use crate::error::GitError;
use crate::quarantine::Quarantine;
use crate::tree_path::display_path;

const OPERATION: &str = "merge-tree";
/// Names of conflicting paths and descriptions of the conflicts.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// Renamed files that are found by similarity. Above it only files that were renamed without a change are.
const RENAME_LIMIT: &str = "1000";
/// The longest description of a conflict.
const MAX_DESCRIPTION_CHARS: usize = 500;

/// The tree of a merge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MergedTree {
    /// The id of the tree. Conflicting files have markers where git can write them.
    pub(crate) tree: String,
    /// `None` for a merge without conflicts.
    pub(crate) conflicts: Option<MergeConflicts>,
}

/// Where two commits conflict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MergeConflicts {
    /// In git's quotes if they are not plain text.
    pub(crate) paths: Vec<String>,
    /// Conflicts that no marker shows: binary, deleted and renamed files.
    pub(crate) descriptions: Vec<String>,
}

impl Quarantine<'_> {
    /// Merges two commits that have a common ancestor. The new objects stay in the quarantine.
    pub(crate) async fn merge_trees(
        &self,
        ours: &CommitId,
        theirs: &CommitId,
        max_bytes: u64,
    ) -> Result<MergedTree, GitError> {
        let mut printed = Vec::new();
        let finished = self
            .command(OPERATION)
            .config("merge.renames", "true")
            .config("merge.renameLimit", RENAME_LIMIT)
            .config("merge.directoryRenames", "false")
            .config("merge.conflictStyle", "merge")
            .args(["--write-tree", "-z", "--messages", "--name-only"])
            .args([ours.as_str(), theirs.as_str()])
            .accept(&[0, 1])
            .limit_growth(&self.objects(), max_bytes)
            .run_with(&mut |piece| {
                if printed.len() + piece.len() > MAX_OUTPUT_BYTES {
                    let (what, limit) = ("bytes of output", MAX_OUTPUT_BYTES as u64);
                    return Err(GitError::LimitExceeded { operation: OPERATION, what, limit });
                }
                printed.extend_from_slice(piece);
                Ok(())
            })
            .await?;
        let is_clean = finished.code == 0;
        parse_merge(&printed, is_clean).ok_or_else(|| GitError::Failed {
            operation: OPERATION,
            message: "malformed output".to_owned(),
        })
    }
}

/// The tree, the conflicting paths, an empty field, and groups of a number, as many paths, a kind and a text.
fn parse_merge(printed: &[u8], is_clean: bool) -> Option<MergedTree> {
    let mut fields = printed.split(|byte| *byte == 0);
    let tree = std::str::from_utf8(fields.next()?).ok()?.to_owned();
    tree.parse::<CommitId>().ok()?;
    if is_clean {
        return Some(MergedTree { tree, conflicts: None });
    }
    let mut conflicts = MergeConflicts::default();
    for path in fields.by_ref().take_while(|field| !field.is_empty()) {
        conflicts.paths.push(display_path(path));
    }
    let mut named_paths = Vec::new();
    while let Some(count) = fields.next().and_then(|field| std::str::from_utf8(field).ok()) {
        let Ok(count) = count.trim().parse::<usize>() else { break };
        let paths: Vec<&[u8]> = fields.by_ref().take(count).collect();
        let (kind, text) = (fields.next()?, fields.next()?);
        if kind.starts_with(b"CONFLICT") {
            named_paths.extend(paths.iter().map(|path| display_path(path)));
            if kind != b"CONFLICT (contents)" {
                conflicts.descriptions.push(describe(text));
            }
        }
    }
    if conflicts.paths.is_empty() {
        conflicts.paths = named_paths;
    }
    Some(MergedTree { tree, conflicts: Some(conflicts) })
}

/// One line of text. Paths in it are what a job chose.
fn describe(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words = text.trim().trim_start_matches("warning: ").split_whitespace();
    let line = words.collect::<Vec<_>>().join(" ");
    line.chars().filter(|letter| !letter.is_control()).take(MAX_DESCRIPTION_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "7e294288994bfa8e91091d28b74eaca18e401922";

    #[test]
    fn conflicts_are_read_with_their_paths_and_what_no_marker_shows() {
        let printed = format!(
            "{TREE}\0d\0f\n\0\0\
             1\0d\0CONFLICT (modify/delete)\0CONFLICT (modify/delete): d deleted in A.  Left in\ttree.\n\0\
             1\0f\n\0Auto-merging\0Auto-merging f\n\0\
             1\0f\n\0CONFLICT (contents)\0CONFLICT (content): Merge conflict in f\n\0"
        );

        let merged = parse_merge(printed.as_bytes(), false).unwrap();

        assert_eq!(merged.tree, TREE);
        let conflicts = merged.conflicts.unwrap();
        assert_eq!(conflicts.paths, ["d", "\"f\\n\""]);
        let described = "CONFLICT (modify/delete): d deleted in A. Left in tree.";
        assert_eq!(conflicts.descriptions, [described]);
    }

    #[test]
    fn a_clean_merge_has_no_conflicts_and_other_output_is_rejected() {
        let merged = parse_merge(format!("{TREE}\0").as_bytes(), true).unwrap();

        assert_eq!(merged, MergedTree { tree: TREE.to_owned(), conflicts: None });
        assert_eq!(parse_merge(b"", true), None);
        assert_eq!(parse_merge(b"fatal: no\0", false), None);
    }

    #[test]
    fn a_conflict_without_a_listed_file_still_has_a_path() {
        let printed = format!("{TREE}\0\0{}", "1\0a\0CONFLICT (rename/delete)\0text\n\0");

        let conflicts = parse_merge(printed.as_bytes(), false).unwrap().conflicts.unwrap();

        assert_eq!(conflicts.paths, ["a"]);
    }
}
