//! Collected commits as the orchestrator stores them.

use cynode_domain::git::RepositoryUrl;
use cynode_git::{
    ChangeKind, ChangedFile, Checkout, CollectedCommits, CommitSummary, PolicyFinding, Severity,
};
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

/// The changes of a task, and those with what it builds on, if it does. Findings are about all of them.
pub(super) fn to_changes(
    url: &RepositoryUrl,
    checkout: &Checkout,
    collected: CollectedCommits,
) -> (CollectedChanges, Option<CollectedChanges>) {
    let all = CollectedChanges {
        url: url.clone(),
        branch: checkout.branch.clone(),
        base: collected.base,
        start: checkout.start_commit.clone(),
        head: collected.head,
        commits: collected.commits.into_iter().map(to_commit).collect(),
        files: collected.files.into_iter().map(to_file).collect(),
        findings: collected.findings.into_iter().map(to_finding).collect(),
    };
    match collected.own {
        None => (all, None),
        Some(own) => {
            let own = CollectedChanges {
                commits: own.commits.into_iter().map(to_commit).collect(),
                files: own.files.into_iter().map(to_file).collect(),
                ..all.clone()
            };
            (own, Some(all))
        }
    }
}

fn to_commit(commit: CommitSummary) -> CommitView {
    CommitView { commit: commit.commit, author: commit.author, subject: commit.subject }
}

fn to_file(file: ChangedFile) -> ChangedFileView {
    ChangedFileView {
        path: file.path,
        status: match file.status {
            ChangeKind::Added => FileChange::Added,
            ChangeKind::Modified => FileChange::Modified,
            ChangeKind::Deleted => FileChange::Deleted,
            ChangeKind::TypeChanged => FileChange::TypeChanged,
        },
        added: file.added,
        deleted: file.deleted,
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
