//! Collected commits as the orchestrator stores them.

use cynode_domain::git::{BranchName, RepositoryUrl};
use cynode_git::{ChangeKind, Checkout, CollectedCommits, PolicyFinding, Severity};
use cynode_wire::git::{
    ChangedFileView, CollectedChanges, CommitView, FileChange, GitFindingView, GitSeverity,
};

/// The changes of a job that has no commits beyond the checkout.
pub(super) fn no_changes(url: &RepositoryUrl, checkout: &Checkout) -> CollectedChanges {
    CollectedChanges {
        url: url.clone(),
        branch: checkout.branch.clone(),
        base: checkout.base_commit.clone(),
        start: None,
        head: checkout.base_commit.clone(),
        commits: vec![],
        files: vec![],
        findings: vec![],
    }
}

pub(super) fn to_changes(
    url: &RepositoryUrl,
    branch: &BranchName,
    collected: CollectedCommits,
) -> CollectedChanges {
    let commit = |commit: cynode_git::CommitSummary| CommitView {
        commit: commit.commit,
        author: commit.author,
        subject: commit.subject,
    };
    let file = |file: cynode_git::ChangedFile| ChangedFileView {
        path: file.path,
        status: match file.status {
            ChangeKind::Added => FileChange::Added,
            ChangeKind::Modified => FileChange::Modified,
            ChangeKind::Deleted => FileChange::Deleted,
            ChangeKind::TypeChanged => FileChange::TypeChanged,
        },
        added: file.added,
        deleted: file.deleted,
    };
    CollectedChanges {
        url: url.clone(),
        branch: branch.clone(),
        base: collected.base,
        start: None,
        head: collected.head,
        commits: collected.commits.into_iter().map(commit).collect(),
        files: collected.files.into_iter().map(file).collect(),
        findings: collected.findings.into_iter().map(to_finding).collect(),
    }
}

fn to_finding(finding: PolicyFinding) -> GitFindingView {
    let rule = serde_json::to_value(finding.rule).unwrap_or_default();
    GitFindingView {
        severity: match finding.severity {
            Severity::Note => GitSeverity::Note,
            Severity::Review => GitSeverity::Review,
            Severity::Block => GitSeverity::Block,
        },
        rule: rule.as_str().unwrap_or_default().to_owned(),
        path: finding.path,
        message: finding.message,
    }
}
