//! The long poll: heartbeat of the node, and delivery of jobs and stop requests to it.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField};
use cynode_runtime::trace_recorder::log_event;
use cynode_sandbox::job_dir::StopRequest;
use cynode_wire::nodes::{Poll, PollView};

use super::connection::OrchestratorCallError;
use super::{DaemonContext, job_task, sleep_after_failure};
use crate::machine_load::read_machine_load;

const WAIT_MS: u32 = 20_000;
/// Delay before a request is repeated whose response changed nothing: it would be answered at once.
const REPEAT_DELAY: Duration = Duration::from_millis(200);

fn orchestrator_connected() -> TraceEntry {
    TraceEntry::new(TraceEventKind::BackendConnected)
        .with(TraceField::Backend, "orchestrator")
        .with(TraceField::BackendPurpose, "jobs")
}

/// Polls until the orchestrator rejects the join, which is permanent. A node that was accepted before,
/// or that holds jobs, keeps retrying.
pub(super) async fn run_poll_loop(context: &Arc<DaemonContext>) -> OrchestratorCallError {
    let mut failures = 0;
    let mut is_reachable = true;
    let mut was_accepted = false;
    loop {
        let request = poll_request(context);
        let answer = tokio::select! {
            answer = send_poll(context, &request) => answer,
            // A slot was freed or a result delivered: report it now, not when the poll ends.
            () = context.jobs.wait_poll_changed() => continue,
        };
        match answer {
            Ok(view) => {
                if !std::mem::replace(&mut is_reachable, true) || !was_accepted {
                    log_event(None, TraceActor::Worker, &orchestrator_connected());
                }
                was_accepted = true;
                context.readiness.set_ready();
                failures = 0;
                // A job that ended while the response was on its way makes the next request differ.
                if !apply_poll_view(context, view).await && poll_request(context) == request {
                    tokio::select! {
                        () = tokio::time::sleep(REPEAT_DELAY) => {}
                        () = context.jobs.wait_poll_changed() => {}
                    }
                }
            }
            Err(error)
                if !was_accepted
                    && error.is_join_rejected()
                    && context.jobs.held_jobs().is_empty() =>
            {
                return error;
            }
            Err(error) if error.is_name_in_use() => {
                if std::mem::replace(&mut is_reachable, false) {
                    tracing::error!(%error, "node name in use, accepting no jobs");
                }
                context.readiness.set_waiting(error.to_string());
                sleep_after_failure(&mut failures).await;
            }
            Err(OrchestratorCallError::Call(error)) if error.status() == Some(409) => {
                tracing::error!(%error, "node name lost, stopping jobs");
                context.readiness.set_waiting(error.to_string());
                context.jobs.request_stop_all(StopRequest::NodeShutdown);
                context.connection.reset_identity().await;
                sleep_after_failure(&mut failures).await;
            }
            Err(error) => {
                let event = if error.is_response() {
                    "orchestrator rejected the poll"
                } else {
                    "orchestrator unreachable"
                };
                if std::mem::replace(&mut is_reachable, false) {
                    tracing::warn!(%error, "{event}, retrying; jobs continue");
                }
                context.readiness.set_waiting(format!("{event}: {error}"));
                sleep_after_failure(&mut failures).await;
            }
        }
    }
}

fn poll_request(context: &DaemonContext) -> Poll {
    let is_able = context.sandbox.level().supported;
    let slots = if is_able { context.live.max_concurrency() } else { 0 };
    Poll {
        holding: context.jobs.held_jobs(),
        free_slots: slots.saturating_sub(context.jobs.running_count()),
        wait_ms: WAIT_MS,
        load: None,
        settings: None,
    }
}

async fn send_poll(
    context: &DaemonContext,
    request: &Poll,
) -> Result<PollView, OrchestratorCallError> {
    let load = read_machine_load(context.sandbox.state_dir());
    let (version, settings) = context.live.unreported().unzip();
    let request = &Poll { load: Some(load), settings, ..request.clone() };
    let answer =
        context.connection.call(|client| async move { client.node_poll(request).await }).await;
    if let (Ok(_), Some(version)) = (&answer, version) {
        context.live.mark_reported(version);
        context.connection.record_description();
    }
    answer
}

/// Applies the response. False if it was not empty but contained nothing new.
async fn apply_poll_view(context: &Arc<DaemonContext>, view: PollView) -> bool {
    let is_empty = view.assignments.is_empty() && view.cancel.is_empty() && view.forget.is_empty();
    let mut is_news = is_empty;
    // First, so that a new attempt waits for the stopping one.
    for job in view.cancel {
        is_news |= context.jobs.request_stop(job, StopRequest::Cancel);
    }
    for job in view.forget {
        is_news |= context.jobs.mark_forgotten(job);
    }
    let begun: Vec<job_task::AcceptanceReceiver> = view
        .assignments
        .into_iter()
        .filter(|assignment| context.connection.is_for_this_process(assignment))
        .filter_map(|assignment| job_task::spawn_job(context, assignment))
        .collect();
    is_news |= !begun.is_empty();
    for settled in begun {
        // A dropped sender means that the job's task has ended, which counts as settled.
        let _ = settled.await;
    }
    is_news
}
