//! One job from its assignment to the delivery of its result.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_domain::job::Ending;
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::nodes::Assignment;
use tokio::sync::oneshot;

use super::{Context, artifacts, attachments, blocking, logs, result};
use crate::job_dir::{JobDir, JobDirError, StopRequest};
use crate::remove::remove_tree;
use crate::sandbox::{Watch, conclude, ended};
use crate::spec::Outcome;

/// How long files of a job are tried to be stored whose own time limit cannot be read.
const FALLBACK_LIMIT: Duration = Duration::from_mins(10);

/// Resolves when a job is on disk or rejected.
pub(super) type Settled = oneshot::Receiver<()>;

/// Takes a new job on. `None` if the node has it or had it.
///
/// The node must not name the job to the orchestrator before it is settled: a named job is never
/// handed out again, so one that a killed node had named and not kept would be lost.
pub(super) fn begin(context: &Arc<Context>, assignment: Assignment) -> Option<Settled> {
    let job = assignment.job_id;
    if !context.roster.admit(job, Some(assignment.task_id)) {
        return None;
    }
    let (settling, settled) = oneshot::channel();
    let context = Arc::clone(context);
    context.tasks.clone().spawn("job", async move {
        let accepted = accept(&context, &assignment).await;
        // Nobody waits for it when the node stops.
        let _ = settling.send(());
        match accepted {
            Ok((dir, Origin::New)) => match start(&context, assignment, &dir).await {
                Ok(watch) => see_through(&context, job, &dir, watch).await,
                Err(error) => give_up(&context, job, error).await,
            },
            Ok((dir, Origin::Earlier)) => {
                let watch = context.sandbox.adopt(&dir);
                see_through(&context, job, &dir, watch).await;
            }
            Err(error) => give_up(&context, job, error).await,
        }
    });
    Some(settled)
}

/// Who accepted a job.
enum Origin {
    /// This node, just now.
    New,
    /// An earlier one: the job was on disk without being held, and is taken over.
    Earlier,
}

/// Puts the job on disk.
async fn accept(
    context: &Context,
    assignment: &Assignment,
) -> Result<(JobDir, Origin), JobDirError> {
    let job = assignment.job_id;
    let (sandbox, wanted) = (context.sandbox.clone(), assignment.clone());
    let (dir, origin) = match blocking(move || sandbox.accept(wanted)).await? {
        Ok(dir) => (dir, Origin::New),
        Err(JobDirError::Exists) => {
            (JobDir::at(&context.sandbox.jobs_dir().join(job.to_string())), Origin::Earlier)
        }
        Err(error) => return Err(error),
    };
    context.roster.accepted(job, None, &dir);
    tracing::info!(job.id = %job, task.id = %assignment.task_id, "job {job} accepted");
    Ok((dir, origin))
}

/// Takes over a job that an earlier node accepted.
pub(super) fn adopt(context: &Arc<Context>, job: JobId, dir: JobDir) {
    let task = dir.spec().ok().map(|spec| spec.assignment.task_id);
    if context.roster.admit(job, task) {
        context.roster.accepted(job, task, &dir);
        let context = Arc::clone(context);
        context.tasks.clone().spawn("job", async move {
            let watch = context.sandbox.adopt(&dir);
            see_through(&context, job, &dir, watch).await;
        });
    }
}

/// The job was not accepted, so nothing ran; whoever waits for it is told why.
async fn give_up(context: &Context, job: JobId, error: JobDirError) {
    let reason = match error {
        JobDirError::Io { path, cause } => format!("{}: {cause}", path.display()),
        error @ (JobDirError::Exists | JobDirError::NoWorkspace) => error.to_string(),
    };
    tracing::error!(job.id = %job, "job {job} cannot be accepted: {reason}");
    let ending = Ending::NotStarted { reason: format!("the node cannot accept it: {reason}") };
    let truncated = Truncated::default();
    let result = JobResult { ending, stdout: String::new(), stderr: String::new(), truncated };
    hand_over(context, job, &result).await;
    context.roster.remove(job);
}

/// Prepares and starts an accepted job. The preparation may take as long as the job itself, and ends
/// when the job is asked to.
async fn start(
    context: &Arc<Context>,
    assignment: Assignment,
    dir: &JobDir,
) -> Result<Watch, JobDirError> {
    let limit = time_limit(&assignment);
    let ready = tokio::select! {
        ready = prepare(context, &assignment, limit) => ready,
        () = context.roster.stop_requested(assignment.job_id, |_| true) => Ok(()),
        () = tokio::time::sleep(limit) => Err(format!(
            "its attachments and its workspace were not ready within its time limit of {} s",
            limit.as_secs()
        )),
    };
    let (sandbox, prepared) = (context.sandbox.clone(), dir.clone());
    blocking(move || match refusal(&prepared, ready) {
        None => sandbox.start(&prepared),
        Some(ending) => {
            // Should this fail, the job counts as interrupted, which is true as well.
            let _ = prepared.set_outcome(&ended(ending));
            sandbox.adopt(&prepared)
        }
    })
    .await
}

/// Waits for what the job needs: a workspace that no stopped job uses, and its attachments in it.
async fn prepare(
    context: &Context,
    assignment: &Assignment,
    limit: Duration,
) -> Result<(), String> {
    context.roster.stopped_jobs_ended(assignment.job_id, assignment.task_id).await;
    attachments::fetch(context, assignment, limit).await
}

fn time_limit(assignment: &Assignment) -> Duration {
    Duration::from_secs(assignment.limits.timeout_s.into())
}

/// How a job ends that shall not start after all.
fn refusal(dir: &JobDir, ready: Result<(), String>) -> Option<Ending> {
    match (dir.stop_request(), ready) {
        (Some(StopRequest::Cancel), _) => Some(Ending::Canceled),
        (Some(StopRequest::NodeStops), _) => {
            Some(Ending::Interrupted { reason: "the node was stopped".to_owned() })
        }
        (None, Err(reason)) => Some(Ending::NotStarted { reason }),
        (None, Ok(())) => None,
    }
}

/// Follows a job to its end and delivers what came of it.
async fn see_through(context: &Arc<Context>, job: JobId, dir: &JobDir, mut watch: Watch) {
    metrics::gauge!("cynode_node_jobs_running").increment(1);
    let mut logs = logs::Logs::new(job, dir);
    tokio::select! {
        () = watch.ended() => {}
        () = logs.follow(context) => {}
    }
    metrics::gauge!("cynode_node_jobs_running").decrement(1);
    let concluded = dir.clone();
    let outcome = blocking(move || conclude(&concluded)).await;
    context.roster.ended(job);
    match outcome {
        Ok(outcome) => {
            let how = outcome.ending.describe();
            tracing::info!(job.id = %job, "job {job} {how}");
            deliver(context, job, dir, &outcome, logs).await;
            discard(context, job, dir).await;
        }
        Err(error) => {
            tracing::error!(
                job.id = %job, error = &error as &dyn std::error::Error,
                "job {job} is left for the next start"
            );
        }
    }
}

async fn deliver(
    context: &Context,
    job: JobId,
    dir: &JobDir,
    outcome: &Outcome,
    mut logs: logs::Logs,
) {
    let spec = dir.spec();
    let limit = spec.map_or(FALLBACK_LIMIT, |spec| time_limit(&spec.assignment));
    logs.finish(context, limit).await;
    let mut result = result::of(dir, outcome);
    // What was ended on request hands back what it has.
    let is_over = matches!(result.ending, Ending::Canceled | Ending::Interrupted { .. });
    let cancels = |request| !is_over && request == StopRequest::Cancel;
    tokio::select! {
        uploaded = artifacts::upload(context, job, dir, limit) => if let Err(reason) = uploaded {
            let how = result.ending.describe();
            result.ending = Ending::Interrupted { reason: format!("it {how}, but {reason}") };
        },
        () = context.roster.stop_requested(job, cancels) => result.ending = Ending::Canceled,
    }
    hand_over(context, job, &result).await;
}

async fn hand_over(context: &Context, job: JobId, result: &JobResult) {
    let send = |client: cynode_client::Client| async move { client.node_finish(job, result).await };
    if let Err(error) = context.persist(job, send).await {
        tracing::warn!(job.id = %job, "the result of job {job} is not wanted: {error}");
    }
}

/// The directory leaves its name at once; its content goes away in the background.
async fn discard(context: &Arc<Context>, job: JobId, dir: &JobDir) {
    let trash = context.sandbox.trash_dir().join(job.to_string());
    let from = dir.path().to_owned();
    match tokio::fs::rename(&from, &trash).await {
        Ok(()) => context.roster.remove(job),
        Err(error) => {
            tracing::error!(
                job.id = %job, error = &error as &dyn std::error::Error,
                "job {job} cannot be put away"
            );
        }
    }
    context.tasks.spawn("discard", async move {
        let removed = blocking(move || remove_tree(&trash)).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(
                job.id = %job, error = &error as &dyn std::error::Error,
                "files of job {job} are left behind"
            );
        }
    });
}
