//! Imports the bundle of a job into the mirror, as data.

use std::path::Path;

use cynode_domain::git::{BranchName, CommitId, TaskKey};
use serde::Serialize;

use crate::broker::GitBroker;
use crate::bundle::{BundleError, OpenBundle};
use crate::changes::{ChangeScope, ChangedFile, CommitSummary};
use crate::error::GitError;
use crate::inspect::{FindingSet, InspectedCommits};
use crate::lock::LockMode;
use crate::mirror::Mirror;
use crate::policy::{ImportPolicy, PolicyFinding, PolicyRule, SecretScanner, Severity};
use crate::quarantine::Quarantine;

/// A bundle that was not imported. The mirror is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error("the mirror has no commit {0}, which the bundle is based on: update the mirror")]
    UnknownBase(CommitId),
    #[error("the objects of the bundle were rejected: {message}")]
    Rejected { message: String },
}

/// The bundle of a job.
#[derive(Debug, Clone, Copy)]
pub struct ImportRequest<'a> {
    /// A file that the job may have written and may still change.
    pub bundle: &'a Path,
    pub task: &'a TaskKey,
    /// The commit of the repository that the checkout of the task started from.
    pub base: &'a CommitId,
    pub target: ImportTarget<'a>,
    /// The only ref that the bundle may have.
    pub branch: &'a BranchName,
}

/// What the commits of a bundle are to the task.
#[derive(Debug, Clone, Copy)]
pub enum ImportTarget<'a> {
    /// The task's own. The commit that was checked out, if it is not the base: the commits since then are listed too.
    Head { start: Option<&'a CommitId> },
    /// Commits of another task to build on, by their position among all of them.
    Source(usize),
}

/// Commits and changed files between two commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitRange {
    /// Oldest first.
    pub commits: Vec<CommitSummary>,
    /// Empty if there are too many.
    pub files: Vec<ChangedFile>,
}

/// What a job committed, and what was found in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CollectedCommits {
    pub base: CommitId,
    pub head: CommitId,
    /// Oldest first. Truncated if there is a [`PolicyRule::TooManyCommits`] finding.
    pub commits: Vec<CommitSummary>,
    /// Differences between base and head. Empty if there is a [`PolicyRule::TooManyPaths`] finding.
    pub files: Vec<ChangedFile>,
    /// The changes since the commit that was checked out, if it is not the base.
    pub own: Option<CommitRange>,
    /// The most severe first.
    pub findings: Vec<PolicyFinding>,
}

impl ImportTarget<'_> {
    fn ref_name(self, task: &TaskKey) -> String {
        match self {
            Self::Head { .. } => task.head_ref(),
            Self::Source(index) => task.source_ref(index),
        }
    }
}

impl CollectedCommits {
    /// The most severe finding.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

impl GitBroker {
    /// Checks every object of a bundle, stores its commits under refs of the task, and reports what the policy says.
    ///
    /// Findings do not reject the import: the commits are needed to show them to a person. Idempotent: the same
    /// bundle gives the same result, a newer one replaces the refs of the task.
    #[tracing::instrument(skip_all, fields(git.url = %mirror.url(), task.id = %request.task))]
    pub async fn import_bundle(
        &self,
        mirror: &Mirror,
        request: ImportRequest<'_>,
        policy: &ImportPolicy,
        is_secret: &SecretScanner<'_>,
    ) -> Result<CollectedCommits, ImportError> {
        let _lock = self.lock_mirror(mirror, LockMode::Shared).await?;
        let base = request.base;
        if self.resolve_commit(mirror, base.as_str()).await?.as_ref() != Some(base) {
            return Err(ImportError::UnknownBase(base.clone()));
        }
        let head = self.store_commits(mirror, request, policy.max_bundle_bytes).await?;
        let mut findings = FindingSet::default();
        if !self.is_ancestor(mirror, base, &head).await? {
            let message = "the commits do not continue the base commit: history was rewritten";
            let (severity, rule) = (Severity::Review, PolicyRule::NotDescendant);
            findings.add(PolicyFinding::new(severity, rule, message));
        }
        let own = match request.target {
            ImportTarget::Head { start: Some(start) } => {
                if !self.is_ancestor(mirror, start, &head).await? {
                    let message = "the commits do not continue the changes that the task builds on";
                    let (severity, rule) = (Severity::Review, PolicyRule::NotDescendant);
                    findings.add(PolicyFinding::new(severity, rule, message));
                }
                Some(self.list_range(mirror, start, &head, policy).await?)
            }
            ImportTarget::Head { start: None } | ImportTarget::Source(_) => None,
        };
        let count = self.count_commits(mirror, base, &head).await?;
        if count > u64::from(policy.max_commits) {
            let message = format!("there are {count} commits; {} are allowed", policy.max_commits);
            let (severity, rule) = (Severity::Block, PolicyRule::TooManyCommits);
            findings.add(PolicyFinding::new(severity, rule, message));
        }
        let commits = self.list_commits(mirror, base, &head, policy.max_commits).await?;
        let scope = ChangeScope::Between(base, &head);
        let files = match self.list_changes(mirror, scope, policy.max_changed_paths).await {
            Err(GitError::LimitExceeded { limit, .. }) => {
                let message = format!("the commits change more than {limit} paths");
                let (severity, rule) = (Severity::Block, PolicyRule::TooManyPaths);
                findings.add(PolicyFinding::new(severity, rule, message));
                Vec::new()
            }
            changes => {
                let changes = changes?;
                let ids: Vec<CommitId> =
                    commits.iter().map(|summary| summary.commit.clone()).collect();
                let inspected = InspectedCommits {
                    mirror,
                    base,
                    head: &head,
                    commits: &ids,
                    changes: &changes,
                };
                self.inspect_commits(&inspected, policy, is_secret, &mut findings).await?;
                self.count_lines(mirror, base, &head, &changes).await?
            }
        };
        let findings = findings.into_vec();
        tracing::info!(git.head = %head, commits = count, findings = findings.len(), "commits imported");
        Ok(CollectedCommits { base: base.clone(), head, commits, files, own, findings })
    }

    async fn list_range(
        &self,
        mirror: &Mirror,
        from: &CommitId,
        to: &CommitId,
        policy: &ImportPolicy,
    ) -> Result<CommitRange, GitError> {
        let commits = self.list_commits(mirror, from, to, policy.max_commits).await?;
        let scope = ChangeScope::Between(from, to);
        let files = match self.list_changes(mirror, scope, policy.max_changed_paths).await {
            Err(GitError::LimitExceeded { .. }) => vec![],
            changes => self.count_lines(mirror, from, to, &changes?).await?,
        };
        Ok(CommitRange { commits, files })
    }

    /// Moves the checked objects of the bundle into the mirror and points the ref of the task to them.
    async fn store_commits(
        &self,
        mirror: &Mirror,
        request: ImportRequest<'_>,
        max_bytes: u64,
    ) -> Result<CommitId, ImportError> {
        let quarantine = Quarantine::create(self, mirror)?;
        let bundle = {
            let (path, copy) = (request.bundle.to_owned(), quarantine.bundle_path());
            let branch = request.branch.clone();
            let open = move || OpenBundle::open(&path, &copy, max_bytes, &branch);
            tokio::task::spawn_blocking(open)
                .await
                .unwrap_or(Err(BundleError::Malformed("reading it was interrupted")))?
        };
        for prerequisite in &bundle.prerequisites {
            if self.resolve_commit(mirror, prerequisite.as_str()).await?.is_none() {
                return Err(ImportError::UnknownBase(prerequisite.clone()));
            }
        }
        let rejected = |error| {
            if let GitError::Failed { message, .. } = error {
                ImportError::Rejected { message }
            } else {
                ImportError::Git(error)
            }
        };
        quarantine.index_pack(bundle.pack, max_bytes).await.map_err(rejected)?;
        quarantine.check_connectivity(&bundle.head).await.map_err(rejected)?;
        quarantine.migrate()?;
        self.mirror_command(mirror, "update-ref")
            .args([&request.target.ref_name(request.task), bundle.head.as_str()])
            .run()
            .await?;
        Ok(bundle.head)
    }
}
