//! Pushes one commit to one branch.

use cynode_domain::git::{BranchName, CommitId, RepositoryUrl};
use serde::Serialize;

use crate::broker::GitBroker;
use crate::credential::GitCredential;
use crate::error::GitError;
use crate::lock::LockMode;
use crate::mirror::Mirror;
use crate::redaction::{redact_text, summarize_output};
use crate::remote::{LocalService, RemoteAccess};

const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// A push that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("the mirror has no commit {0}: import it first")]
    UnknownCommit(CommitId),
    #[error("branch {branch} of the remote is at {}, not at {}: update, and decide again", show(found.as_ref()), show(expected.as_ref()))]
    BranchMoved { branch: BranchName, expected: Option<CommitId>, found: Option<CommitId> },
    #[error(
        "the commit does not continue branch {branch} of the remote: rebase it, or allow a forced push"
    )]
    NotFastForward { branch: BranchName },
    #[error("the remote rejected the push to {branch}: {message}")]
    Rejected { branch: BranchName, message: String },
}

fn show(commit: Option<&CommitId>) -> &str {
    commit.map_or("(no such branch)", CommitId::as_str)
}

/// Whether a push may replace commits of the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForceMode {
    /// The commit must continue the branch.
    Never,
    /// Commits may be replaced if the branch is where the caller expects it.
    WithLease,
}

/// What to push, and where.
#[derive(Debug, Clone)]
pub struct PushRequest {
    /// The remote of the mirror, or a fork of it.
    pub url: RepositoryUrl,
    pub head: CommitId,
    pub branch: BranchName,
    /// Where the caller saw the branch; `None` if it must not exist.
    pub expected_old: Option<CommitId>,
    pub force: ForceMode,
}

/// Whether the remote changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PushResult {
    Pushed,
    /// The branch was there already, for example by an earlier push whose answer was lost.
    AlreadyThere,
}

/// A branch of the remote that is at the requested commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PushOutcome {
    pub result: PushResult,
    /// What the remote said, without secrets and control characters.
    pub remote_message: String,
}

impl GitBroker {
    /// The commit of a branch of the remote; `None` if there is no such branch.
    pub async fn read_remote_branch(
        &self,
        url: &RepositoryUrl,
        branch: &BranchName,
        credential: Option<&GitCredential>,
    ) -> Result<Option<CommitId>, GitError> {
        RemoteAccess::open(self, url, credential).await?.read_branch(branch).await
    }

    /// Pushes one commit of the mirror to one branch of a remote, no tags and nothing else.
    ///
    /// Idempotent: succeeds if the branch is at the commit already. The remote compares the branch with
    /// `expected_old` when it updates it, so that a concurrent push is never overwritten.
    #[tracing::instrument(skip_all, fields(git.url = %request.url, git.branch = %request.branch, git.head = %request.head))]
    pub async fn push(
        &self,
        mirror: &Mirror,
        request: &PushRequest,
        credential: Option<&GitCredential>,
    ) -> Result<PushOutcome, PushError> {
        let PushRequest { url, head, branch, expected_old, force } = request;
        let _lock = self.lock_mirror(mirror, LockMode::Shared).await?;
        if self.resolve_commit(mirror, head.as_str()).await?.as_ref() != Some(head) {
            return Err(PushError::UnknownCommit(head.clone()));
        }
        let remote = RemoteAccess::open(self, url, credential).await?;
        let found = remote.read_branch(branch).await?;
        if found.as_ref() == Some(head) {
            let remote_message = String::new();
            return Ok(PushOutcome { result: PushResult::AlreadyThere, remote_message });
        }
        if found != *expected_old {
            let (branch, expected) = (branch.clone(), expected_old.clone());
            return Err(PushError::BranchMoved { branch, expected, found });
        }
        if let (ForceMode::Never, Some(old)) = (force, expected_old) {
            let is_known = self.resolve_commit(mirror, old.as_str()).await?.is_some();
            if !is_known || !self.is_ancestor(mirror, old, head).await? {
                return Err(PushError::NotFastForward { branch: branch.clone() });
            }
        }
        self.push_with_lease(mirror, &remote, request).await
    }

    async fn push_with_lease(
        &self,
        mirror: &Mirror,
        remote: &RemoteAccess<'_>,
        request: &PushRequest,
    ) -> Result<PushOutcome, PushError> {
        let PushRequest { url, head, branch, expected_old, .. } = request;
        let target = branch.ref_name();
        let expected = expected_old.as_ref().map_or("", CommitId::as_str);
        let mut printed = Vec::new();
        let finished = remote
            .command("push")
            .repository(mirror.path())
            .args(["--porcelain", "--progress", "--no-verify", "--no-signed", "--no-follow-tags"])
            .arg("--recurse-submodules=no")
            // Also for a push that is not forced: the remote then compares before it updates.
            .arg(format!("--force-with-lease={target}:{expected}"))
            .args(remote.service_option(LocalService::Push))
            .args(["--", url.as_str(), &format!("{head}:{target}")])
            .accept(&[0, 1])
            .run_with(&mut |piece| {
                if printed.len() < MAX_OUTPUT_BYTES {
                    printed.extend_from_slice(piece);
                }
                Ok(())
            })
            .await
            .map_err(|error| remote.classify(error))?;
        let printed = redact_text(&String::from_utf8_lossy(&printed), remote.secrets());
        let remote_message = summarize_output(&finished.stderr, remote.secrets());
        let rejection = printed.lines().find(|line| line.starts_with('!'));
        match rejection {
            Some(line) if line.contains("(stale info)") => {
                let found = remote.read_branch(branch).await?;
                let (branch, expected) = (branch.clone(), expected_old.clone());
                Err(PushError::BranchMoved { branch, expected, found })
            }
            Some(line) => {
                let reason = line.rsplit('\u{fffd}').next().unwrap_or(line);
                let message = format!("{reason}\n{remote_message}");
                Err(PushError::Rejected { branch: branch.clone(), message })
            }
            None if finished.code == 0 => {
                tracing::info!("commit pushed");
                Ok(PushOutcome { result: PushResult::Pushed, remote_message })
            }
            None => {
                let failed = GitError::Failed { operation: "push", message: remote_message };
                Err(remote.classify(failed).into())
            }
        }
    }
}
