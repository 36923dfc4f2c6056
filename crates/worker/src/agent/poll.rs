//! The long poll: shows that the node lives, and brings jobs and requests to stop.

use std::sync::Arc;
use std::time::Duration;

use cynode_wire::nodes::{Poll, PollView};

use super::backoff::Backoff;
use super::link::LinkError;
use super::{Context, job};
use crate::job_dir::StopRequest;

const WAIT_MS: u32 = 20_000;
/// An answer that says nothing new comes again at once; this keeps that from becoming a storm.
const NOTHING_NEW: Duration = Duration::from_millis(200);

/// Polls until the orchestrator refuses to let the node join, which does not pass by itself. The refusal of
/// a node that was accepted before, or that holds jobs, is waited out.
pub(super) async fn run(context: &Arc<Context>) -> LinkError {
    let mut backoff = Backoff::new();
    let mut is_reachable = true;
    let mut was_accepted = false;
    loop {
        let answer = tokio::select! {
            answer = poll(context) => answer,
            // A slot is free or a result delivered: say so now instead of when the poll ends.
            () = context.roster.changed() => continue,
        };
        match answer {
            Ok(view) => {
                if !std::mem::replace(&mut is_reachable, true) {
                    tracing::info!("the orchestrator answers again");
                }
                was_accepted = true;
                context.readiness.set_ready();
                backoff.reset();
                if !obey(context, view).await {
                    tokio::time::sleep(NOTHING_NEW).await;
                }
            }
            Err(error)
                if !was_accepted
                    && error.is_refused_join()
                    && context.roster.holding().is_empty() =>
            {
                return error;
            }
            Err(error) if error.is_name_in_use() => {
                if std::mem::replace(&mut is_reachable, false) {
                    tracing::error!("this node takes no jobs: {error}");
                }
                context.readiness.set_waiting(error.to_string());
                backoff.wait().await;
            }
            Err(LinkError::Call(error)) if error.status() == Some(409) => {
                tracing::error!("this process no longer is the node, its jobs end: {error}");
                context.readiness.set_waiting(error.to_string());
                context.roster.stop_all(StopRequest::NodeStops);
                context.link.lose_name().await;
                backoff.wait().await;
            }
            Err(error) => {
                if std::mem::replace(&mut is_reachable, false) {
                    tracing::warn!("the orchestrator does not answer, jobs go on: {error}");
                }
                context.readiness.set_waiting(format!("the orchestrator does not answer: {error}"));
                backoff.wait().await;
            }
        }
    }
}

async fn poll(context: &Context) -> Result<PollView, LinkError> {
    let is_able = context.sandbox.level().supported;
    let slots = if is_able { context.options.max_concurrency } else { 0 };
    let body = Poll {
        holding: context.roster.holding(),
        free_slots: slots.saturating_sub(context.roster.running()),
        wait_ms: WAIT_MS,
    };
    let body = &body;
    context.link.call(|client| async move { client.node_poll(body).await }).await
}

/// Does what the answer asks. False if it was not empty and yet asked for nothing new.
async fn obey(context: &Arc<Context>, view: PollView) -> bool {
    let is_empty = view.assignments.is_empty() && view.cancel.is_empty() && view.forget.is_empty();
    let mut is_news = is_empty;
    // First, so that a new attempt knows which earlier one it has to wait for.
    for job in view.cancel {
        is_news |= context.roster.stop(job, StopRequest::Cancel);
    }
    for job in view.forget {
        is_news |= context.roster.forget(job);
    }
    let begun: Vec<job::Settled> = view
        .assignments
        .into_iter()
        .filter(|assignment| context.link.is_for_this_process(assignment))
        .filter_map(|assignment| job::begin(context, assignment))
        .collect();
    is_news |= !begun.is_empty();
    for settled in begun {
        // A job that ended without a word is as settled as one can be.
        let _ = settled.await;
    }
    is_news
}
