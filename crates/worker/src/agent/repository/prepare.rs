//! Checks a repository out into the workspace of a task.

use std::time::Duration;

use cynode_client::Client;
use cynode_domain::git::Transport;
use cynode_git::{
    BaseRevision, CheckoutError, CheckoutRequest, ConflictMode, GitCredential, GitError,
    HistoryDepth, KnownHosts, LinkCheckout, Mirror, Owner,
};
use cynode_sandbox::job_dir::JobDir;
use cynode_wire::git::{GitCredentialLease, RepositoryAssignment};
use cynode_wire::nodes::Assignment;
use secrecy::SecretString;

use super::super::{DaemonContext, sleep_after_failure};
use super::sources::SourceImport;
use super::{Repositories, task_key};

/// How often a remote that cannot be reached is tried.
const MAX_TRIES: u32 = 4;
/// Attachments are inputs, not changes of the job.
pub(super) const ATTACHMENTS_PATTERN: &str = "/attachments/";

/// Checks out the repository of a job, unless its workspace has a checkout. The error is for people.
pub(in crate::agent) async fn prepare_checkout(
    context: &DaemonContext,
    assignment: &Assignment,
    dir: &JobDir,
    limit: Duration,
) -> Result<(), String> {
    let Some(wanted) = &assignment.repository else { return Ok(()) };
    let repositories = context.repositories.as_ref();
    let repositories = repositories.ok_or("this node has no git: install git 2.39 or newer")?;
    let workspace = context.sandbox.workspace(assignment.task_id);
    if repositories.broker.find_checkout(&workspace).is_some() {
        return Ok(());
    }
    repositories.access.check(&wanted.url)?;
    let credential = lease_credential(context, assignment, wanted, limit).await?;
    let mirror = update_mirror(repositories, wanted, credential.as_ref()).await;
    let mirror = mirror.map_err(|error| explain(&error))?;
    let owner = context.sandbox.owner_id(assignment.task_id);
    let has_attachments = !assignment.attachments.is_empty();
    let task = task_key(assignment.task_id).map_err(|error| explain(&error))?;
    let mirror = &mirror;
    let import =
        SourceImport { context, repositories, assignment, mirror, task: &task, dir, limit };
    let sources = import.import_all(wanted).await?;
    let request = CheckoutRequest {
        workspace,
        sources,
        conflicts: if wanted.mark_conflicts { ConflictMode::Mark } else { ConflictMode::Fail },
        base: wanted.base_branch.clone().map_or(BaseRevision::DefaultBranch, BaseRevision::Branch),
        branch: wanted.branch.clone(),
        task,
        depth: HistoryDepth::Full,
        links: LinkCheckout::AsLinks,
        owner: owner.map(|id| Owner { uid: id, gid: id }),
        excludes: has_attachments.then(|| ATTACHMENTS_PATTERN.to_owned()).into_iter().collect(),
    };
    match repositories.broker.create_checkout(mirror, &request).await {
        Ok(_) => Ok(()),
        // The orchestrator recognises it by its first words.
        Err(conflict @ CheckoutError::MergeConflict { .. }) => Err(conflict.to_string()),
        Err(error) => Err(explain(&error)),
    }
}

/// Leases the credential of the repository for one operation.
pub(super) async fn lease_credential(
    context: &DaemonContext,
    assignment: &Assignment,
    wanted: &RepositoryAssignment,
    limit: Duration,
) -> Result<Option<GitCredential>, String> {
    if wanted.url.transport() == Transport::Local {
        return Ok(None);
    }
    let job = assignment.job_id;
    let lease = |client: Client| async move { client.node_lease_git_credential(job).await };
    let leased = context.call_until_answered_within(job, limit, lease).await;
    let leased = leased.map_err(|error| format!("the credential of {}: {error}", wanted.url))?;
    Ok(leased.credential.map(|credential| match credential {
        GitCredentialLease::Password { username, password } => {
            GitCredential::Password { username, password: SecretString::from(password) }
        }
        GitCredentialLease::SshKey { private_key, known_hosts } => GitCredential::SshKey {
            private_key: SecretString::from(private_key),
            known_hosts: known_hosts.map_or(KnownHosts::TrustOnFirstUse, KnownHosts::Pinned),
        },
    }))
}

/// Updates the mirror; tries again if the remote cannot be reached.
pub(super) async fn update_mirror(
    repositories: &Repositories,
    wanted: &RepositoryAssignment,
    credential: Option<&GitCredential>,
) -> Result<Mirror, GitError> {
    let mut failures = 0;
    loop {
        let updated =
            repositories.broker.update_mirror(&wanted.url, credential, HistoryDepth::Full);
        match updated.await {
            Err(GitError::Unreachable { url, message }) if failures + 1 < MAX_TRIES => {
                tracing::info!(git.url = url, message, "repository not reached, trying again");
                sleep_after_failure(&mut failures).await;
            }
            updated => return updated,
        }
    }
}

/// The message of an error with its causes.
pub(super) fn explain(error: &dyn std::error::Error) -> String {
    let mut text = format!("the repository: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
