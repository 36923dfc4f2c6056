//! The commit that a task starts from: its base, with the changes of the tasks that it builds on.
//!
//! Start reading at `GitBroker::create_start_commit`. Sources are merged one after the other, in a quarantine: a merge that
//! fails leaves nothing in the mirror. A merge commit depends on nothing but its parents and the names of the branches, so
//! that a repeated checkout starts from the same commit.

use std::fmt::Write as _;

use cynode_domain::git::{BranchName, CommitId};

use crate::broker::GitBroker;
use crate::checkout::{BaseRevision, CheckoutRequest};
use crate::checkout_error::CheckoutError;
use crate::command::ChildInput;
use crate::error::GitError;
use crate::merge_tree::MergeConflicts;
use crate::mirror::Mirror;
use crate::quarantine::Quarantine;

/// Paths that an error and a message list.
const MAX_SHOWN_PATHS: usize = 20;
/// Seconds since 1970 at the end of the year 2099: a later date of a parent is what a job invented.
const MAX_DATE: u64 = 4_102_444_799;
const COMMITTER: &str = "CyNode";
const COMMITTER_EMAIL: &str = "agent@cynode.invalid";

/// Commits of another task, which were imported for this task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeSource {
    pub head: CommitId,
    /// Their branch, for messages.
    pub branch: BranchName,
}

/// What happens where sources conflict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConflictMode {
    /// The checkout fails.
    #[default]
    Fail,
    /// The conflicts are committed with markers, so that the job resolves them.
    Mark,
}

impl GitBroker {
    /// Merges the sources of a checkout into its base, and keeps the result under a ref of the task. `None` without sources.
    ///
    /// The caller holds the shared lock of the mirror.
    pub(crate) async fn create_start_commit(
        &self,
        mirror: &Mirror,
        request: &CheckoutRequest,
        base: &CommitId,
    ) -> Result<Option<CommitId>, CheckoutError> {
        if request.sources.is_empty() {
            return Ok(None);
        }
        for source in &request.sources {
            let found = self.resolve_commit(mirror, source.head.as_str()).await?;
            if found.as_ref() != Some(&source.head) {
                let url = mirror.url().to_string();
                let revision = format!("commit {} of {}", source.head, source.branch);
                return Err(CheckoutError::UnknownRevision { url, revision });
            }
        }
        let base_name = match &request.base {
            BaseRevision::DefaultBranch => mirror.default_branch().map(ToString::to_string),
            BaseRevision::Branch(branch) => Some(branch.to_string()),
            BaseRevision::Commit(_) => None,
        };
        let quarantine = Quarantine::create(self, mirror)?;
        let mut merge = SourceMerge {
            broker: self,
            mirror,
            quarantine: &quarantine,
            head: base.clone(),
            names: vec![base_name.unwrap_or_else(|| base.to_string())],
        };
        for source in &request.sources {
            merge.add(source, request.conflicts).await?;
        }
        let start = merge.head;
        quarantine.pack_merges(&start, base, &request.sources).await?;
        quarantine.migrate()?;
        self.mirror_command(mirror, "update-ref")
            .args([&request.task.start_ref(), start.as_str()])
            .run()
            .await?;
        Ok(Some(start))
    }
}

/// The merge of the sources so far.
struct SourceMerge<'a> {
    broker: &'a GitBroker,
    mirror: &'a Mirror,
    quarantine: &'a Quarantine<'a>,
    head: CommitId,
    /// The branches that `head` consists of.
    names: Vec<String>,
}

impl SourceMerge<'_> {
    async fn add(
        &mut self,
        source: &MergeSource,
        conflicts: ConflictMode,
    ) -> Result<(), CheckoutError> {
        if self.quarantine.is_ancestor(&source.head, &self.head).await? {
            return Ok(());
        }
        if self.quarantine.is_ancestor(&self.head, &source.head).await? {
            self.head = source.head.clone();
            self.names = vec![source.branch.to_string()];
            return Ok(());
        }
        if !self.quarantine.have_common_ancestor(&self.head, &source.head).await? {
            let (ours, theirs) = (self.names.join(", "), source.branch.clone());
            return Err(if self.mirror.is_shallow() {
                CheckoutError::MissingHistory { ours, theirs }
            } else {
                CheckoutError::NoCommonHistory { ours, theirs }
            });
        }
        let limit = self.broker.options.limits.export_bytes;
        let merged = self.quarantine.merge_trees(&self.head, &source.head, limit).await?;
        let ours = self.names.join(", ");
        if let (Some(found), ConflictMode::Fail) = (&merged.conflicts, conflicts) {
            let (theirs, paths) = (source.branch.clone(), list_paths(&found.paths));
            return Err(CheckoutError::MergeConflict { ours, theirs, paths });
        }
        let mut message = format!("Merge {} into {ours}\n", source.branch);
        if let Some(found) = &merged.conflicts {
            // Git names the two commits in its descriptions.
            let name = |text: &String| {
                text.replace(self.head.as_str(), &ours)
                    .replace(source.head.as_str(), source.branch.as_str())
            };
            let descriptions = found.descriptions.iter().map(name).collect();
            describe_conflicts(&mut message, &MergeConflicts { descriptions, ..found.clone() });
        }
        let parents = [&self.head, &source.head];
        self.head = self.quarantine.commit_tree(&merged.tree, parents, message).await?;
        self.names.push(source.branch.to_string());
        Ok(())
    }
}

impl Quarantine<'_> {
    async fn is_ancestor(&self, ancestor: &CommitId, commit: &CommitId) -> Result<bool, GitError> {
        let command = self.command("merge-base").accept(&[0, 1]);
        let arguments = ["--is-ancestor", ancestor.as_str(), commit.as_str()];
        Ok(command.args(arguments).run().await?.code == 0)
    }

    async fn have_common_ancestor(
        &self,
        one: &CommitId,
        other: &CommitId,
    ) -> Result<bool, GitError> {
        let command = self.command("merge-base").accept(&[0, 1]);
        Ok(command.args([one.as_str(), other.as_str()]).run().await?.code == 0)
    }

    /// Commits a tree as the merge of two commits, at the date of the newer one.
    async fn commit_tree(
        &self,
        tree: &str,
        parents: [&CommitId; 2],
        message: String,
    ) -> Result<CommitId, GitError> {
        let printed = self
            .command("log")
            .args(["--no-walk=unsorted", "--no-show-signature", "--format=tformat:%ct"])
            .args(parents.map(CommitId::as_str))
            .read(4096)
            .await?;
        let dates = String::from_utf8_lossy(&printed);
        let newest = dates.lines().filter_map(|line| line.trim().parse::<u64>().ok()).max();
        let date = format!("@{} +0000", newest.unwrap_or(0).min(MAX_DATE));
        let printed = self
            .command("commit-tree")
            .env("GIT_AUTHOR_NAME", COMMITTER)
            .env("GIT_AUTHOR_EMAIL", COMMITTER_EMAIL)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", COMMITTER)
            .env("GIT_COMMITTER_EMAIL", COMMITTER_EMAIL)
            .env("GIT_COMMITTER_DATE", &date)
            .args(["-p", parents[0].as_str(), "-p", parents[1].as_str(), "-F", "-", tree])
            .input(ChildInput::Bytes(message.into_bytes()))
            .read(4096)
            .await?;
        let id = String::from_utf8_lossy(&printed).trim().parse();
        id.map_err(|_| GitError::Failed {
            operation: "commit-tree",
            message: "malformed output".to_owned(),
        })
    }

    /// Packs the merge commits and their trees, so that they move into the mirror as one file.
    async fn pack_merges(
        &self,
        start: &CommitId,
        base: &CommitId,
        sources: &[MergeSource],
    ) -> Result<(), GitError> {
        let mut revisions = format!("{start}\n^{base}\n");
        for source in sources {
            // Writing to a string cannot fail.
            let _ = writeln!(revisions, "^{}", source.head);
        }
        self.command("pack-objects")
            .args(["--quiet", "--revs", "--non-empty", "--delta-base-offset"])
            .arg(self.objects().join("pack/pack"))
            .input(ChildInput::Bytes(revisions.into_bytes()))
            .run()
            .await?;
        Ok(())
    }
}

/// The first paths, and how many more there are.
fn list_paths(paths: &[String]) -> String {
    let shown: Vec<&str> = paths.iter().take(MAX_SHOWN_PATHS).map(String::as_str).collect();
    match paths.len().saturating_sub(MAX_SHOWN_PATHS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn describe_conflicts(message: &mut String, conflicts: &MergeConflicts) {
    // Writing to a string cannot fail.
    let _ = writeln!(message, "\nConflicts: {}", list_paths(&conflicts.paths));
    if !conflicts.descriptions.is_empty() {
        message.push_str("\nWithout markers:\n");
        for description in conflicts.descriptions.iter().take(MAX_SHOWN_PATHS) {
            let _ = writeln!(message, "- {description}");
        }
    }
}
