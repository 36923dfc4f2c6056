//! Collects what a job changed in the repository of its task, and uploads it.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::git::CommitSubject;
use cynode_domain::job::{Action, Limits};
use cynode_git::{
    BUNDLE_FILE as COLLECTED_BUNDLE, Checkout, CollectRequest, CollectResult, CollectStatus,
    DEFAULT_COMMIT_SUBJECT, ImportPolicy, ImportRequest, ImportTarget, STATUS_FILE, collect_script,
};
use cynode_runtime::redact;
use cynode_sandbox::job_dir::JobDir;
use cynode_sandbox::request::{SANDBOX_ARTIFACTS, SANDBOX_WORKSPACE};
use cynode_sandbox::sandbox::resolve_outcome;
use cynode_sandbox::spec::JobSpec;
use cynode_wire::git::{
    ALL_CHANGES_FILE, ALL_PATCH_FILE, BUNDLE_FILE, CHANGES_FILE, CollectedChanges, PATCH_FILE,
    RepositoryAssignment,
};

use super::super::artifacts::{UploadOutcome, open_beneath};
use super::super::{DaemonContext, run_blocking};
use super::collected::{no_changes, to_changes};
use super::prepare::{ATTACHMENTS_PATTERN, explain};
use super::{Repositories, task_key};

/// The directory below the job's own with the files to upload.
const CHANGES_DIR: &str = "changes";
const MAX_STATUS_BYTES: u64 = 4096;
const COLLECT_TIMEOUT_S: u32 = 600;

/// Collects and uploads the changes of an ended job; does nothing for a task without a repository.
///
/// May be repeated: the changes of the same files are the same. The error is for people.
pub(in crate::agent) async fn collect_changes(
    context: &DaemonContext,
    dir: &JobDir,
    spec: &JobSpec,
    limit: Duration,
) -> Result<UploadOutcome, String> {
    let Some(wanted) = &spec.assignment.repository else { return Ok(UploadOutcome::Stored) };
    let repositories = context.repositories.as_ref().ok_or("this node has no git any more")?;
    let found = repositories.broker.find_checkout(&spec.workspace);
    let (_, checkout) = found.ok_or("the workspace has no checkout of the repository")?;
    let output = run_collect_script(context, dir, spec, &checkout).await?;
    let collection = Collection {
        repositories,
        wanted,
        spec,
        checkout: &checkout,
        files: dir.path().join(CHANGES_DIR),
    };
    let names = collection.write_files(&output).await?;
    for name in names {
        let uploaded =
            upload_file(context, spec, &collection.files.join(name), name, limit).await?;
        if uploaded != UploadOutcome::Stored {
            return Ok(uploaded);
        }
    }
    Ok(UploadOutcome::Stored)
}

/// Runs the script that reads the job's repository, in a sandbox. Returns its output directory.
async fn run_collect_script(
    context: &DaemonContext,
    dir: &JobDir,
    spec: &JobSpec,
    checkout: &Checkout,
) -> Result<PathBuf, String> {
    let excludes: &[&str] =
        if spec.assignment.attachments.is_empty() { &[] } else { &[ATTACHMENTS_PATTERN] };
    let repository = spec.assignment.repository.as_ref();
    let subject = repository.and_then(|repository| repository.commit_subject.as_ref());
    let text = collect_script(CollectRequest {
        subject: subject.map_or(DEFAULT_COMMIT_SUBJECT, CommitSubject::as_str),
        workspace: SANDBOX_WORKSPACE,
        output: SANDBOX_ARTIFACTS,
        base: &checkout.base_commit,
        branch: &checkout.branch,
        excludes,
    });
    let usual = Limits::default();
    let given = spec.assignment.limits;
    let limits = Limits {
        timeout_s: COLLECT_TIMEOUT_S,
        memory_mib: given.memory_mib.max(usual.memory_mib),
        processes: given.processes.max(usual.processes),
        // The bundle is on top of what the job wrote.
        disk_mib: given.disk_mib.saturating_mul(2).min(Limits::MAX.disk_mib),
        ..usual
    };
    let (sandbox, of) = (context.sandbox.clone(), dir.clone());
    let started =
        run_blocking(move || sandbox.start_follow_up(&of, Action::Script { text }, limits));
    let (follow_up, mut watch) = match started.await {
        Ok(Ok(started)) => started,
        Ok(Err(error)) | Err(error) => return Err(explain(&error)),
    };
    watch.wait_ended().await;
    let ended = follow_up.clone();
    let outcome = run_blocking(move || resolve_outcome(&ended)).await;
    let outcome = outcome.map_err(|error| explain(&error))?;
    if outcome.ending.is_success() {
        Ok(follow_up.artifacts_dir())
    } else {
        Err(format!("the script that collects them {}", outcome.ending.describe()))
    }
}

/// The changes of one job.
struct Collection<'a> {
    repositories: &'a Repositories,
    wanted: &'a RepositoryAssignment,
    spec: &'a JobSpec,
    checkout: &'a Checkout,
    /// Where the files to upload are.
    files: PathBuf,
}

impl Collection<'_> {
    /// Imports the commits and writes the files to upload. Returns their names, in the order of their upload: the
    /// description is last, so that files of a killed upload are never described.
    async fn write_files(&self, output: &Path) -> Result<Vec<&'static str>, String> {
        fs::create_dir_all(&self.files).map_err(|error| explain(&error))?;
        let status = read_status(output)?;
        let (changes, names) = match status.result {
            CollectResult::Unchanged => {
                write_file(&self.files.join(PATCH_FILE), b"")?;
                (no_changes(&self.wanted.url, self.checkout), vec![PATCH_FILE, CHANGES_FILE])
            }
            CollectResult::Failed(detail) => return Err(format!("the repository: {detail}")),
            CollectResult::Bundled => {
                let (changes, all) = self.import(&output.join(COLLECTED_BUNDLE)).await?;
                let mut names = vec![PATCH_FILE, BUNDLE_FILE];
                if let Some(all) = all {
                    let json = serde_json::to_vec(&all).map_err(|error| explain(&error))?;
                    write_file(&self.files.join(ALL_CHANGES_FILE), &json)?;
                    names.extend([ALL_PATCH_FILE, ALL_CHANGES_FILE]);
                }
                names.push(CHANGES_FILE);
                (changes, names)
            }
        };
        let json = serde_json::to_vec(&changes).map_err(|error| explain(&error))?;
        write_file(&self.files.join(CHANGES_FILE), &json)?;
        Ok(names)
    }

    /// Imports the commits and writes bundle and patches. Returns the changes of the task and, if it builds on others, those
    /// with theirs.
    async fn import(
        &self,
        bundle: &Path,
    ) -> Result<(CollectedChanges, Option<CollectedChanges>), String> {
        let broker = &self.repositories.broker;
        let mirror = broker.find_mirror(&self.wanted.url).map_err(|error| explain(&error))?;
        let task = task_key(self.spec.assignment.task_id).map_err(|error| explain(&error))?;
        let Checkout { base_commit: base, start_commit: start, branch, .. } = self.checkout;
        let target = ImportTarget::Head { start: start.as_ref() };
        let request = ImportRequest { bundle, task: &task, base, target, branch };
        let policy = ImportPolicy::default();
        let imported = broker.import_bundle(&mirror, request, &policy, &is_secret).await;
        let collected = imported.map_err(|error| explain(&error))?;
        let head = &collected.head;
        let (patch, packed) = (self.files.join(PATCH_FILE), self.files.join(BUNDLE_FILE));
        let from = start.as_ref().unwrap_or(base);
        let written = broker.write_patch(&mirror, from, head, &patch).await;
        written.map_err(|error| explain(&error))?;
        if start.is_some() {
            let whole = self.files.join(ALL_PATCH_FILE);
            let written = broker.write_patch(&mirror, base, head, &whole).await;
            written.map_err(|error| explain(&error))?;
        }
        let written = broker.write_bundle(&mirror, base, head, branch, &packed).await;
        written.map_err(|error| explain(&error))?;
        Ok(to_changes(&self.wanted.url, self.checkout, collected))
    }
}

/// Whether a line has a secret that logs would not show.
pub(super) fn is_secret(line: &str) -> bool {
    matches!(redact::redact(line), Cow::Owned(_))
}

/// Reads the status of the script. The directory is the job's: links are not followed.
fn read_status(output: &Path) -> Result<CollectStatus, String> {
    let mut content = Vec::new();
    open_beneath(output, STATUS_FILE)
        .map_err(std::io::Error::from)
        .and_then(|file| file.take(MAX_STATUS_BYTES + 1).read_to_end(&mut content))
        .map_err(|error| format!("the script that collects them wrote no status: {error}"))?;
    CollectStatus::parse(&content).map_err(|error| error.to_string())
}

fn write_file(path: &Path, content: &[u8]) -> Result<(), String> {
    fs::write(path, content).map_err(|error| explain(&error))
}

async fn upload_file(
    context: &DaemonContext,
    spec: &JobSpec,
    path: &Path,
    name: &'static str,
    limit: Duration,
) -> Result<UploadOutcome, String> {
    let job = spec.assignment.job_id;
    let put = |client: Client| async move {
        // A file of the node that disappeared is sent as an empty one, which the orchestrator rejects.
        let file = File::open(path).map(tokio::fs::File::from_std);
        let body = file.map_or_else(|_| reqwest::Body::from(""), reqwest::Body::from);
        client.node_put_changes(job, name, body).await.map(drop)
    };
    match context.call_until_answered_within(job, limit, put).await {
        Ok(()) => Ok(UploadOutcome::Stored),
        // What is too large now is too large next time.
        Err(error) if error.is_storage_limit() || error.is_final() => {
            Ok(UploadOutcome::StorageLimit(format!("its changes were not stored: {name}: {error}")))
        }
        Err(error) => Err(format!("{name} could not be stored: {error}")),
    }
}
