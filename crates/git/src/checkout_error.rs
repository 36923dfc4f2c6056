//! Why a checkout was not created.

use std::path::PathBuf;

use cynode_domain::git::BranchName;

use crate::error::GitError;

/// A checkout that was not created.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{url} names no default branch: name the branch to start from")]
    NoDefaultBranch { url: String },
    #[error("{url} has no {revision}: update the mirror, or name another revision")]
    UnknownRevision { url: String, revision: String },
    #[error("the workspace {} is not empty and has no checkout of this broker: use an empty directory", path.display())]
    NotEmpty { path: PathBuf },
    #[error("the workspace {} has a checkout of {found}: use another workspace", path.display())]
    OtherCheckout { path: PathBuf, found: String },
    #[error("the repository has the path {path}, which {reason}: it cannot be checked out")]
    UnsafePath { path: String, reason: &'static str },
    #[error(
        "merge conflict: {theirs} conflicts with {ours} in {paths}: build on one of them and repeat the other's work, or \
         resolve the conflict in a task with --mark-conflicts"
    )]
    MergeConflict { ours: String, theirs: BranchName, paths: String },
    #[error("{theirs} has no common history with {ours}: it cannot be merged")]
    NoCommonHistory { ours: String, theirs: BranchName },
    #[error(
        "the history of {theirs} and {ours} is not complete on this node: update the mirror with all of it"
    )]
    MissingHistory { ours: String, theirs: BranchName },
}
