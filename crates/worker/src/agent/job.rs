//! One job from its assignment to the delivery of its result.

use std::sync::Arc;

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

/// Resolves when a job is on disk or refused.
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
        JobDirError::Exists => "it was accepted before".to_owned(),
    };
    tracing::error!(job.id = %job, "job {job} cannot be accepted: {reason}");
    let ending = Ending::NotStarted { reason: format!("the node cannot accept it: {reason}") };
    let truncated = Truncated::default();
    let result = JobResult { ending, stdout: String::new(), stderr: String::new(), truncated };
    hand_over(context, job, &result).await;
    context.roster.remove(job);
}

/// Prepares and starts an accepted job.
async fn start(
    context: &Arc<Context>,
    assignment: Assignment,
    dir: &JobDir,
) -> Result<Watch, JobDirError> {
    let fetched = attachments::fetch(context, &assignment).await;
    let (sandbox, prepared) = (context.sandbox.clone(), dir.clone());
    blocking(move || match refusal(&prepared, fetched) {
        None => sandbox.start(&prepared),
        Some(ending) => {
            // Should this fail, the job counts as interrupted, which is true as well.
            let _ = prepared.set_outcome(&ended(ending));
            sandbox.adopt(&prepared)
        }
    })
    .await
}

/// How a job ends that shall not start after all.
fn refusal(dir: &JobDir, fetched: Result<(), String>) -> Option<Ending> {
    match (dir.stop_request(), fetched) {
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
    logs.finish(context).await;
    artifacts::upload(context, job, dir).await;
    hand_over(context, job, &result::of(dir, outcome)).await;
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
