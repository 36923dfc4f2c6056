//! Commits and changed files between two commits of a mirror.

use std::collections::BTreeMap;

use cynode_domain::git::CommitId;
use serde::Serialize;

use crate::broker::GitBroker;
use crate::command::{ChildInput, split_records};
use crate::error::GitError;
use crate::mirror::Mirror;
use crate::tree::EntryKind;
use crate::tree_path::display_path;

const MAX_TEXT_BYTES: usize = 64 << 20;

/// One commit that the base does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitSummary {
    pub commit: CommitId,
    pub parents: Vec<CommitId>,
    /// What the job claims.
    pub author: String,
    pub subject: String,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    /// For example, from a file to a symbolic link.
    TypeChanged,
}

/// A file that differs between base and head. A renamed file is a deleted and an added one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// In git's quotes if it is not plain text.
    pub path: String,
    pub status: ChangeKind,
    /// Added lines; `None` for a binary file.
    pub added: Option<u64>,
    /// Deleted lines; `None` for a binary file.
    pub deleted: Option<u64>,
}

/// A change of one path in one commit.
#[derive(Debug, Clone)]
pub(crate) struct RawChange {
    pub(crate) path: Vec<u8>,
    pub(crate) status: ChangeKind,
    pub(crate) kind: EntryKind,
    /// Empty for a deleted file.
    pub(crate) object: String,
}

/// Which commits are compared.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChangeScope<'a> {
    /// The trees of two commits.
    Between(&'a CommitId, &'a CommitId),
    /// Each commit with its parents.
    Each(&'a [CommitId]),
}

impl GitBroker {
    /// The commits of `head` that `base` does not have, oldest first, at most `limit` of the newest.
    pub(crate) async fn list_commits(
        &self,
        mirror: &Mirror,
        base: &CommitId,
        head: &CommitId,
        limit: u32,
    ) -> Result<Vec<CommitSummary>, GitError> {
        let printed = self
            .mirror_command(mirror, "log")
            .args(["-z", "--topo-order", "--reverse", "--no-show-signature", "--no-decorate"])
            .args(["--encoding=UTF-8", "--format=tformat:%H%x00%P%x00%an <%ae>%x00%s"])
            .arg(format!("--max-count={limit}"))
            .args([head.as_str(), &format!("^{base}")])
            .read(MAX_TEXT_BYTES)
            .await?;
        let fields: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        let summary = |fields: &[&[u8]]| {
            let parents = text(fields[1]);
            Some(CommitSummary {
                commit: text(fields[0]).parse().ok()?,
                parents: parents.split(' ').filter_map(|parent| parent.parse().ok()).collect(),
                author: text(fields[2]),
                subject: text(fields[3]),
            })
        };
        Ok(fields.chunks_exact(4).filter_map(summary).collect())
    }

    /// How many commits `head` has that `base` does not have.
    pub(crate) async fn count_commits(
        &self,
        mirror: &Mirror,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<u64, GitError> {
        let command = self.mirror_command(mirror, "rev-list");
        let printed =
            command.args(["--count", head.as_str(), &format!("^{base}")]).read(4096).await?;
        Ok(String::from_utf8_lossy(&printed).trim().parse().unwrap_or(u64::MAX))
    }

    /// Whether `ancestor` is `commit` or an ancestor of it.
    pub(crate) async fn is_ancestor(
        &self,
        mirror: &Mirror,
        ancestor: &CommitId,
        commit: &CommitId,
    ) -> Result<bool, GitError> {
        let finished = self
            .mirror_command(mirror, "merge-base")
            .args(["--is-ancestor", ancestor.as_str(), commit.as_str()])
            .accept(&[0, 1])
            .run()
            .await?;
        Ok(finished.code == 0)
    }

    /// Every changed path, at most `limit`.
    pub(crate) async fn list_changes(
        &self,
        mirror: &Mirror,
        scope: ChangeScope<'_>,
        limit: u32,
    ) -> Result<Vec<RawChange>, GitError> {
        const OPERATION: &str = "diff-tree";
        let mut changes = Vec::new();
        let mut header: Option<Vec<u8>> = None;
        let mut sink = split_records(0, |record| {
            let Some(started) = header.take() else {
                header = Some(record.to_vec());
                return Ok(());
            };
            if changes.len() >= limit as usize {
                let (what, limit) = ("changed paths", u64::from(limit));
                return Err(GitError::LimitExceeded { operation: OPERATION, what, limit });
            }
            let malformed = || GitError::Failed {
                operation: OPERATION,
                message: "malformed output".to_owned(),
            };
            changes.push(parse_change(&started, record).ok_or_else(malformed)?);
            Ok(())
        });
        let (arguments, input) = diff_arguments(scope);
        self.mirror_command(mirror, OPERATION)
            .args(["-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none"])
            .args(arguments)
            .input(input)
            .run_with(&mut sink)
            .await?;
        drop(sink);
        Ok(changes)
    }

    /// The files that differ between two commits, with the number of lines.
    pub(crate) async fn count_lines(
        &self,
        mirror: &Mirror,
        base: &CommitId,
        head: &CommitId,
        changes: &[RawChange],
    ) -> Result<Vec<ChangedFile>, GitError> {
        let mut counts: BTreeMap<Vec<u8>, (Option<u64>, Option<u64>)> = BTreeMap::new();
        let mut sink = split_records(0, |record| {
            let mut fields = record.splitn(3, |byte| *byte == b'\t');
            let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse::<u64>().ok();
            let (added, deleted) = (number(), number());
            counts.insert(fields.next().unwrap_or_default().to_vec(), (added, deleted));
            Ok(())
        });
        self.mirror_command(mirror, "diff-tree")
            .args(["-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"])
            .args([base.as_str(), head.as_str()])
            .run_with(&mut sink)
            .await?;
        drop(sink);
        let file = |change: &RawChange| {
            let (added, deleted) = counts.get(&change.path).copied().unwrap_or_default();
            ChangedFile { path: display_path(&change.path), status: change.status, added, deleted }
        };
        Ok(changes.iter().map(file).collect())
    }
}

/// The options and input of `git diff-tree` for a scope.
pub(crate) fn diff_arguments(scope: ChangeScope<'_>) -> (Vec<String>, ChildInput) {
    match scope {
        ChangeScope::Between(base, head) => {
            (vec![base.to_string(), head.to_string()], ChildInput::Empty)
        }
        ChangeScope::Each(commits) => {
            let options = ["--stdin", "--no-commit-id", "--root", "-m"].map(str::to_owned);
            let mut lines = Vec::new();
            for commit in commits {
                lines.extend_from_slice(commit.as_str().as_bytes());
                lines.push(b'\n');
            }
            (options.to_vec(), ChildInput::Bytes(lines))
        }
    }
}

/// `:<old mode> <new mode> <old object> <new object> <status>` and the path.
fn parse_change(header: &[u8], path: &[u8]) -> Option<RawChange> {
    let mut fields = std::str::from_utf8(header).ok()?.strip_prefix(':')?.split(' ');
    let (old_mode, new_mode) = (fields.next()?, fields.next()?);
    let object = fields.nth(1)?.to_owned();
    let status = match fields.next()?.as_bytes().first()? {
        b'A' => ChangeKind::Added,
        b'D' => ChangeKind::Deleted,
        b'T' => ChangeKind::TypeChanged,
        _ => ChangeKind::Modified,
    };
    let is_deleted = status == ChangeKind::Deleted;
    let mode = if is_deleted { old_mode } else { new_mode };
    Some(RawChange {
        path: path.to_vec(),
        status,
        kind: EntryKind::from_mode(mode.as_bytes()),
        object: if is_deleted { String::new() } else { object },
    })
}
