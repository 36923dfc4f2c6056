//! Drives one job from assignment to delivery of its result.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::git::PushOrder;
use cynode_domain::ids::JobId;
use cynode_domain::job::JobEnding;
use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField, TraceStop};
use cynode_runtime::telemetry::gen_ai::OperationSpan;
use cynode_runtime::trace_recorder::log_event;
use cynode_sandbox::job_dir::{JobDir, JobDirError, StopRequest};
use cynode_sandbox::remove::remove_tree;
use cynode_sandbox::sandbox::{JobWatch, end_follow_ups, node_outcome, resolve_outcome};
use cynode_sandbox::spec::SandboxJobOutcome;
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::nodes::Assignment;
use tokio::sync::oneshot;

use super::agent_result::send_trace;
use super::artifacts::UploadOutcome;
use super::canary::{CanaryEnding, CanaryOrigin, CanaryRun, report_canary};
use super::job_span::{failure_class, open_job_span};
use super::{
    DaemonContext, artifacts, attachments, egress, images, logs, repository, result, run_blocking,
};

/// Upload time limit for a job whose spec cannot be read.
const FALLBACK_LIMIT: Duration = Duration::from_mins(10);

/// Resolves when a job is accepted on disk or rejected.
pub(super) type AcceptanceReceiver = oneshot::Receiver<()>;

/// Starts a task for a new job. `None` if the node holds the job or delivered it before.
///
/// The node must not report the job as held before it is settled: a reported job is never assigned
/// again, so one that a killed node reported without persisting it would be lost.
pub(super) fn spawn_job(
    context: &Arc<DaemonContext>,
    assignment: Assignment,
) -> Option<AcceptanceReceiver> {
    let job = assignment.job_id;
    if !context.jobs.admit(job, Some(assignment.task_id)) {
        return None;
    }
    let (settling, settled) = oneshot::channel();
    let context = Arc::clone(context);
    context.tasks.clone().spawn("job", async move {
        let accepted = accept_job(&context, &assignment).await;
        // The receiver is dropped when the node stops.
        let _ = settling.send(());
        match accepted {
            Ok((dir, JobOrigin::New)) => {
                match prepare_and_start(&context, assignment, &dir).await {
                    Ok((watch, _image)) => {
                        let canary = CanaryRun::of_job(&dir, CanaryOrigin::ThisProcess);
                        follow_and_deliver(&context, job, &dir, watch, canary).await;
                    }
                    Err(error) => report_rejected(&context, job, error).await,
                }
            }
            Ok((dir, JobOrigin::Adopted)) => {
                follow_adopted(&context, job, &dir).await;
            }
            Err(error) => report_rejected(&context, job, error).await,
        }
    });
    Some(settled)
}

enum JobOrigin {
    New,
    /// Accepted by an earlier process: on disk but not in the registry.
    Adopted,
}

/// Persists the job.
async fn accept_job(
    context: &DaemonContext,
    assignment: &Assignment,
) -> Result<(JobDir, JobOrigin), JobDirError> {
    let job = assignment.job_id;
    let (sandbox, wanted) = (context.sandbox.clone(), assignment.clone());
    let (dir, origin) = match run_blocking(move || sandbox.accept(wanted)).await? {
        Ok(dir) => (dir, JobOrigin::New),
        Err(JobDirError::Exists) => {
            (JobDir::open(&context.sandbox.jobs_dir().join(job.to_string())), JobOrigin::Adopted)
        }
        Err(error) => return Err(error),
    };
    context.jobs.mark_accepted(job, None, &dir);
    tracing::info!(job.id = %job, task.id = %assignment.task_id, "job accepted");
    Ok((dir, origin))
}

/// Adopts a job that an earlier process accepted.
pub(super) fn adopt_job(context: &Arc<DaemonContext>, job: JobId, dir: JobDir) {
    let task = dir.spec().ok().map(|spec| spec.assignment.task_id);
    if context.jobs.admit(job, task) {
        context.jobs.mark_accepted(job, task, &dir);
        let context = Arc::clone(context);
        context.tasks.clone().spawn("job", async move {
            follow_adopted(&context, job, &dir).await;
        });
    }
}

/// Follows a job that an earlier process accepted.
async fn follow_adopted(context: &Arc<DaemonContext>, job: JobId, dir: &JobDir) {
    let watch = context.sandbox.watch(dir);
    let canary = CanaryRun::of_job(dir, CanaryOrigin::EarlierProcess);
    follow_and_deliver(context, job, dir, watch, canary).await;
}

/// Reports a job that could not be accepted as not started, with the reason.
async fn report_rejected(context: &DaemonContext, job: JobId, error: JobDirError) {
    let reason = match error {
        JobDirError::Io { path, cause } => format!("{}: {cause}", path.display()),
        error @ (JobDirError::Exists | JobDirError::NoWorkspace) => error.to_string(),
    };
    tracing::error!(job.id = %job, reason, "job rejected");
    let error = TraceEntry::new(TraceEventKind::Error).with(TraceField::ErrorKind, "job_rejected");
    log_event(None, TraceActor::Worker, &error);
    let ending = JobEnding::NotStarted { reason: format!("the node cannot accept it: {reason}") };
    let truncated = Truncated::default();
    let result = JobResult { ending, stdout: String::new(), stderr: String::new(), truncated };
    send_result(context, job, &result).await;
    context.jobs.remove(job);
}

/// Prepares and starts an accepted job; the image must be held until it has ended. Preparation is bounded by the job's time limit and is
/// canceled by a stop request.
async fn prepare_and_start(
    context: &Arc<DaemonContext>,
    assignment: Assignment,
    dir: &JobDir,
) -> Result<(JobWatch, Option<images::AcquiredImage>), JobDirError> {
    let limit = time_limit(&assignment);
    if let Some(order) = &assignment.push {
        return Ok((push_instead(context, &assignment, order, dir, limit).await, None));
    }
    let prepare = async {
        prepare_workspace(context, &assignment, dir, limit).await?;
        images::prepare_image(context, &assignment, dir).await
    };
    let ready = tokio::select! {
        ready = prepare => ready,
        () = context.jobs.wait_stop_requested(assignment.job_id, |_| true) => Ok(None),
        () = tokio::time::sleep(limit) => Err(format!(
            "its image, repository, attachments and workspace were not ready within its time limit of {} s",
            limit.as_secs()
        )),
    };
    let (ready, image) = match ready {
        Ok(image) => (Ok(()), image),
        Err(reason) => (Err(reason), None),
    };
    let (sandbox, prepared) = (context.sandbox.clone(), dir.clone());
    let watch = run_blocking(move || match ending_before_start(&prepared, ready) {
        None => sandbox.start(&prepared),
        Some(ending) => {
            // If this fails, the job counts as interrupted, which is also correct.
            let _ = prepared.set_outcome(&node_outcome(ending));
            sandbox.watch(&prepared)
        }
    })
    .await?;
    Ok((watch, image))
}

/// Executes a push. A stop request before its end cancels it.
async fn push_instead(
    context: &Arc<DaemonContext>,
    assignment: &Assignment,
    order: &PushOrder,
    dir: &JobDir,
    limit: Duration,
) -> JobWatch {
    let ending = tokio::select! {
        () = repository::run_push(context, assignment, order, dir, limit) => None,
        () = context.jobs.wait_stop_requested(assignment.job_id, |_| true) => {
            ending_before_start(dir, Ok(()))
        }
        () = tokio::time::sleep(limit) => Some(JobEnding::TimedOut),
    };
    if let Some(ending) = ending {
        // If this fails, the job counts as interrupted, which is also correct.
        let _ = dir.set_outcome(&node_outcome(ending));
    }
    context.sandbox.watch(dir)
}

/// Waits until no stopping job uses the workspace, then fetches the repository and the attachments.
async fn prepare_workspace(
    context: &DaemonContext,
    assignment: &Assignment,
    dir: &JobDir,
    limit: Duration,
) -> Result<(), String> {
    context.jobs.wait_stopping_jobs(assignment.job_id, assignment.task_id).await;
    repository::prepare_checkout(context, assignment, dir, limit).await?;
    attachments::fetch_attachments(context, assignment, limit).await
}

fn time_limit(assignment: &Assignment) -> Duration {
    Duration::from_secs(assignment.limits.timeout_s.into())
}

/// Returns the ending of a job that must not start, or `None` if it may start.
fn ending_before_start(dir: &JobDir, ready: Result<(), String>) -> Option<JobEnding> {
    match (dir.stop_request(), ready) {
        (Some(StopRequest::Cancel), _) => Some(JobEnding::Canceled),
        (Some(StopRequest::NodeShutdown), _) => {
            Some(JobEnding::Interrupted { reason: "the worker node was stopped".to_owned() })
        }
        (None, Err(reason)) => Some(JobEnding::NotStarted { reason }),
        (None, Ok(())) => None,
    }
}

/// Follows a job to its end and delivers the result.
async fn follow_and_deliver(
    context: &Arc<DaemonContext>,
    job: JobId,
    dir: &JobDir,
    mut watch: JobWatch,
    canary: Option<Arc<CanaryRun>>,
) {
    metrics::gauge!("cynode_node_jobs_running").increment(1);
    let (trace, span) = match dir.spec() {
        Ok(spec) => (spec.assignment.trace, open_job_span(&spec.assignment)),
        Err(_) => (None, OperationSpan::disabled()),
    };
    log_event(trace, TraceActor::Worker, &TraceEntry::new(TraceEventKind::ExecutionStarted));
    let mut logs = logs::LogUploader::new(job, dir);
    tokio::select! {
        () = watch.wait_ended() => {}
        () = logs.upload_continuously(context) => {}
        () = egress::serve_egress(context, job, dir, canary.as_ref()) => {}
    }
    metrics::gauge!("cynode_node_jobs_running").decrement(1);
    let concluded = dir.clone();
    let outcome = run_blocking(move || resolve_outcome(&concluded)).await;
    context.jobs.mark_ended(job);
    match outcome {
        Ok(outcome) => {
            span.finish(failure_class(&outcome.ending));
            tracing::info!(job.id = %job, "job ended");
            log_event(trace, TraceActor::Worker, &job_stopped(&outcome.ending));
            deliver_result(context, job, dir, &outcome, logs, canary.as_deref()).await;
            discard_job_dir(context, job, dir).await;
        }
        Err(error) => {
            tracing::error!(
                job.id = %job, error = &error as &dyn std::error::Error,
                "job outcome unknown, left for the next start"
            );
        }
    }
}

/// The end of a job for the log. Texts of the ending are not in it: they may be those of people.
fn job_stopped(ending: &JobEnding) -> TraceEntry {
    let (stop, outcome) = match ending {
        JobEnding::Exited { code: 0 } => (TraceStop::GoalMet, "exited"),
        JobEnding::Exited { .. } => (TraceStop::StepFailed, "exited"),
        JobEnding::TimedOut => (TraceStop::Time, "timed_out"),
        JobEnding::LimitReached { .. } => (TraceStop::Budget, "limit_reached"),
        JobEnding::Canceled => (TraceStop::Canceled, "canceled"),
        JobEnding::Interrupted { .. } => (TraceStop::Failed, "interrupted"),
        JobEnding::NotStarted { .. } => (TraceStop::Failed, "not_started"),
    };
    let entry = TraceEntry::execution_stopped(stop).with(TraceField::Outcome, outcome);
    match ending {
        JobEnding::Exited { code } => entry.with(TraceField::ExitCode, *code),
        JobEnding::TimedOut
        | JobEnding::LimitReached { .. }
        | JobEnding::Canceled
        | JobEnding::Interrupted { .. }
        | JobEnding::NotStarted { .. } => entry,
    }
}

async fn deliver_result(
    context: &DaemonContext,
    job: JobId,
    dir: &JobDir,
    outcome: &SandboxJobOutcome,
    mut logs: logs::LogUploader,
    canary: Option<&CanaryRun>,
) {
    let spec = dir.spec();
    let limit = spec.map_or(FALLBACK_LIMIT, |spec| time_limit(&spec.assignment));
    logs.upload_remaining(context, limit).await;
    let mut result = result::build_job_result(dir, outcome);
    // A job that ended on request still uploads its artifacts.
    let is_over = matches!(result.ending, JobEnding::Canceled | JobEnding::Interrupted { .. });
    let cancels = |request| !is_over && request == StopRequest::Cancel;
    let deliver = async {
        let uploaded = upload_files(context, job, dir, limit).await;
        let ending = ending_after_upload(result.ending.clone(), uploaded);
        match canary {
            // A run that was canceled showed nothing.
            Some(run) if ending != JobEnding::Canceled => {
                let ending = CanaryEnding { sandbox: result.ending.clone(), job: ending };
                let reported = report_canary(context, job, dir, run, &ending, limit).await;
                reported.unwrap_or_else(|reason| JobEnding::Interrupted { reason })
            }
            Some(_) | None => ending,
        }
    };
    tokio::select! {
        ending = deliver => result.ending = ending,
        () = context.jobs.wait_stop_requested(job, cancels) => result.ending = JobEnding::Canceled,
    }
    send_trace(context, job, dir).await;
    send_result(context, job, &result).await;
}

/// Uploads the artifacts, and what the job changed in the repository of its task.
async fn upload_files(
    context: &DaemonContext,
    job: JobId,
    dir: &JobDir,
    limit: Duration,
) -> Result<UploadOutcome, String> {
    let uploaded = artifacts::upload_artifacts(context, job, dir, limit).await?;
    if let (true, Ok(spec)) = (dir.is_started(), dir.spec()) {
        let collected = repository::collect_changes(context, dir, &spec, limit).await;
        let collected =
            collected.map_err(|reason| format!("its changes could not be collected: {reason}"))?;
        if uploaded == UploadOutcome::Stored {
            return Ok(collected);
        }
    }
    Ok(uploaded)
}

/// Returns the ending of a job after the upload of its artifacts. A job that exited without storing all of them has not
/// succeeded.
fn ending_after_upload(ending: JobEnding, uploaded: Result<UploadOutcome, String>) -> JobEnding {
    let but = |reason: String| format!("it {}, but {reason}", ending.describe());
    match (uploaded, &ending) {
        (Ok(UploadOutcome::StorageLimit(reason)), JobEnding::Exited { .. }) => {
            JobEnding::LimitReached { limit: but(reason) }
        }
        (Ok(_), _) => ending,
        (Err(reason), _) => JobEnding::Interrupted { reason: but(reason) },
    }
}

async fn send_result(context: &DaemonContext, job: JobId, result: &JobResult) {
    let send = |client: cynode_client::Client| async move { client.node_finish(job, result).await };
    if let Err(error) = context.call_until_answered(job, send).await {
        tracing::warn!(job.id = %job, %error, "job result rejected");
    }
}

/// Renames the directory to the trash at once and removes its content in the background.
async fn discard_job_dir(context: &Arc<DaemonContext>, job: JobId, dir: &JobDir) {
    let spec = dir.spec();
    if let Ok(spec) = &spec {
        repository::remove_push(context, &spec.assignment).await;
    }
    let trash = context.sandbox.trash_dir().join(job.to_string());
    let from = dir.path().to_owned();
    let ended = dir.clone();
    // A canceled job may have left one.
    if let Ok(Err(error)) = run_blocking(move || end_follow_ups(&ended)).await {
        tracing::warn!(
            job.id = %job, error = &error as &dyn std::error::Error,
            "follow-up of a job not ended"
        );
    }
    match tokio::fs::rename(&from, &trash).await {
        Ok(()) => context.jobs.remove(job),
        Err(error) => {
            tracing::error!(
                job.id = %job, error = &error as &dyn std::error::Error,
                "job directory cannot be moved to trash"
            );
        }
    }
    let (sandbox, has_cache) =
        (context.sandbox.clone(), spec.is_ok_and(|spec| spec.cache.is_some()));
    context.tasks.spawn("discard", async move {
        if has_cache && let Ok(Err(error)) = run_blocking(move || sandbox.evict_caches()).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "caches not evicted");
        }
        let removed = run_blocking(move || remove_tree(&trash)).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(
                job.id = %job, error = &error as &dyn std::error::Error,
                "job files not removed"
            );
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_without_room_for_its_artifacts_ends_with_the_reason_unless_it_was_ended_anyway() {
        let full = || Ok(UploadOutcome::StorageLimit("a.bin was not stored: full".to_owned()));
        let limit = "it exited with code 0, but a.bin was not stored: full".to_owned();
        let exited = JobEnding::Exited { code: 0 };

        assert_eq!(ending_after_upload(exited.clone(), full()), JobEnding::LimitReached { limit });
        assert_eq!(ending_after_upload(JobEnding::TimedOut, full()), JobEnding::TimedOut);
        assert_eq!(ending_after_upload(exited.clone(), Ok(UploadOutcome::Stored)), exited);
    }
}
