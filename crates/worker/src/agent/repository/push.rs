//! Pushes commits of a task, outside of any sandbox.
//!
//! The orchestrator decided that they may be pushed, and to which branch. The commits come from it as a bundle, so that
//! every node can push them, and are checked again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::git::PushOrder;
use cynode_domain::job::JobEnding;
use cynode_git::{
    ForceMode, GitCredential, ImportPolicy, ImportRequest, ImportTarget, Mirror, PushRequest,
    PushResult, Severity,
};
use cynode_sandbox::job_dir::JobDir;
use cynode_sandbox::sandbox::node_outcome;
use cynode_wire::git::RepositoryAssignment;
use cynode_wire::jobs::Stream;
use cynode_wire::nodes::Assignment;

use super::super::{DaemonContext, run_blocking};
use super::collect::is_secret;
use super::prepare::{explain, lease_credential, update_mirror};
use super::{Repositories, task_key};

const BUNDLE: &str = "push.bundle";

/// Executes the push of a job and writes its outcome to the job's directory. Safe to repeat.
pub(in crate::agent) async fn run_push(
    context: &DaemonContext,
    assignment: &Assignment,
    order: &PushOrder,
    dir: &JobDir,
    limit: Duration,
) {
    let pushed = push_commits(context, assignment, order, dir, limit).await;
    let (stdout, stderr, code) = match pushed {
        Ok(remark) => (order.success_line() + "\n", remark, 0),
        Err(reason) => (String::new(), reason, 1),
    };
    let dir = dir.clone();
    let _ = run_blocking(move || {
        // Without its output the push is not verified, which is the safe side.
        let _ = fs::write(dir.stream(Stream::Stdout), stdout);
        let _ = fs::write(dir.stream(Stream::Stderr), format!("{stderr}\n"));
        let _ = dir.set_outcome(&node_outcome(JobEnding::Exited { code }));
    })
    .await;
}

/// Returns what the remote said.
async fn push_commits(
    context: &DaemonContext,
    assignment: &Assignment,
    order: &PushOrder,
    dir: &JobDir,
    limit: Duration,
) -> Result<String, String> {
    let wanted = assignment.repository.as_ref().ok_or("the push names no repository")?;
    let repositories = context.repositories.as_ref().ok_or("this node has no git")?;
    repositories.access.check(&wanted.url)?;
    let job = assignment.job_id;
    let get = |client: Client| async move { client.node_get_bundle(job).await };
    let bundle = context.call_until_answered_within(job, limit, get).await;
    let bundle = bundle.map_err(|error| format!("the commits to push: {error}"))?;
    let path = dir.path().join(BUNDLE);
    fs::write(&path, &bundle).map_err(|error| explain(&error))?;
    let credential = lease_credential(context, assignment, wanted, limit).await?;
    let mirror = update_mirror(repositories, wanted, credential.as_ref()).await;
    let mirror = mirror.map_err(|error| explain(&error))?;
    if mirror.default_branch() == Some(&order.branch) {
        return Err(format!(
            "{} is the default branch of {}: push to another branch, and merge it there",
            order.branch, wanted.url
        ));
    }
    let push = Push { repositories, wanted, order, mirror, credential };
    push.import_and_push(assignment, &path).await
}

/// Removes the commits of an ended push from the mirror.
pub(in crate::agent) async fn remove_push(context: &DaemonContext, assignment: &Assignment) {
    let (Some(wanted), Some(_)) = (&assignment.repository, &assignment.push) else { return };
    let Some(repositories) = &context.repositories else { return };
    let broker = &repositories.broker;
    let (Ok(mirror), Ok(key)) = (broker.find_mirror(&wanted.url), task_key(assignment.task_id))
    else {
        return;
    };
    if let Err(error) = broker.remove_refs(&mirror, &key).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "refs of a push not removed");
    }
}

/// A push with everything that it needs.
struct Push<'a> {
    repositories: &'a Repositories,
    wanted: &'a RepositoryAssignment,
    order: &'a PushOrder,
    mirror: Mirror,
    credential: Option<GitCredential>,
}

impl Push<'_> {
    async fn import_and_push(
        &self,
        assignment: &Assignment,
        bundle: &Path,
    ) -> Result<String, String> {
        let (broker, order) = (&self.repositories.broker, self.order);
        let task = task_key(assignment.task_id).map_err(|error| explain(&error))?;
        let import = ImportRequest {
            bundle,
            task: &task,
            base: &order.base,
            target: ImportTarget::Head { start: None },
            branch: &order.source_branch,
        };
        let policy = ImportPolicy::default();
        let imported = broker.import_bundle(&self.mirror, import, &policy, &is_secret);
        let imported = imported.await.map_err(|error| explain(&error))?;
        if imported.head != order.head {
            return Err(format!("the commits end at {}, not at {}", imported.head, order.head));
        }
        let allowed = if order.is_reviewed { Severity::Review } else { Severity::Note };
        if let Some(finding) = imported.findings.iter().find(|found| found.severity > allowed) {
            return Err(format!("the commits must not be pushed: {}", finding.message));
        }
        let (url, credential) = (&self.wanted.url, self.credential.as_ref());
        let current = broker.read_remote_branch(url, &order.branch, credential).await;
        let current = current.map_err(|error| explain(&error))?;
        if current.is_some() && self.mirror.default_branch().is_none() {
            return Err(format!(
                "{url} does not say which branch is its default: push to a branch that does not exist"
            ));
        }
        let request = PushRequest {
            url: url.clone(),
            head: order.head.clone(),
            branch: order.branch.clone(),
            expected_old: order.replaces.clone().or(current),
            force: if order.replaces.is_some() { ForceMode::WithLease } else { ForceMode::Never },
        };
        let pushed = broker.push(&self.mirror, &request, credential).await;
        let pushed = pushed.map_err(|error| explain(&error))?;
        let what = match pushed.result {
            PushResult::Pushed => "pushed",
            PushResult::AlreadyThere => "it was there already",
        };
        Ok(format!("{what} to {url}\n{}", pushed.remote_message).trim_end().to_owned())
    }
}
