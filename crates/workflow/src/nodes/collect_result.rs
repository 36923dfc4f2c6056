//! Waits for the job to end and condenses its result for the checkpoint.
//!
//! The time a job waits for a worker node is not bounded here: a person may cancel the task. After some seconds it
//! waits without a runner. Once it runs, it must end within its own limit plus a reserve for its node's overhead.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use cynode_domain::ids::JobId;
use cynode_domain::job::{JobEnding, Limits};
use cynode_domain::status::JobStatus;
use cynode_domain::text::last_bytes;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::jobs::JobView;
use cynode_wire::workflow::PollJob;
use cynode_workflow_state::{JobResultSummary, WorkflowState};
use tokio::time::Instant;

use crate::engine::{NodeContext, StateBinding, WorkflowNode, WorkflowNodeError};
use crate::run_handle::{POLL_MS, RunHandle};

/// Time a job may take beyond its own limit: set-up, upload, and the expiry of a dead node's lease.
const OVERHEAD_RESERVE: Duration = Duration::from_mins(2);
/// How long a job without a node keeps its runner.
const MAX_QUEUED_TIME: TimeDelta = TimeDelta::seconds(10);
/// The first poll is short: a job that has waited for long already must not keep a runner that others need.
const FIRST_POLL_MS: u32 = 200;
/// How long a later poll waits for a job without a node.
const QUEUED_POLL_MS: u32 = 5_000;
/// Bytes of each stream stored in a checkpoint.
const TAIL_BYTES: usize = 4096;

/// Waits for the job to end.
#[derive(Debug)]
pub struct CollectResultNode(pub Arc<RunHandle>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedJob {
    pub job_id: JobId,
    pub limits: Limits,
}

impl WorkflowNode for CollectResultNode {
    const NAME: &'static str = "collect_result";
    type Input = AwaitedJob;
    type Output = JobResultSummary;

    async fn run(
        &self,
        cx: &mut NodeContext<'_>,
        awaited: AwaitedJob,
    ) -> Result<JobResultSummary, WorkflowNodeError> {
        let longest = Duration::from_secs(awaited.limits.timeout_s.into()) + OVERHEAD_RESERVE;
        let mut running_since = None;
        let mut poll = PollJob { job_id: awaited.job_id, wait_ms: FIRST_POLL_MS };
        cx.heartbeat().report_waiting(&format!("job {}", awaited.job_id));
        loop {
            let job = self.0.call(&poll).await?;
            if job.status.is_terminal() {
                return summarize_job(job);
            }
            cx.heartbeat().report_waiting(&format!("job {}, which is {}", job.id, job.status));
            let has_no_node = job.status == JobStatus::Queued && job.node_id.is_none();
            if has_no_node && SystemClock.now() - job.created_at >= MAX_QUEUED_TIME {
                return Err(WorkflowNodeError::WaitingFor("a worker node".to_owned()));
            }
            poll.wait_ms = if has_no_node { QUEUED_POLL_MS } else { POLL_MS };
            if job.status == JobStatus::Running {
                let since = *running_since.get_or_insert_with(Instant::now);
                if since.elapsed() > longest {
                    return Err(overdue_error(longest));
                }
            }
        }
    }
}

impl StateBinding<WorkflowState> for CollectResultNode {
    fn input(state: &WorkflowState) -> Result<AwaitedJob, WorkflowNodeError> {
        let job = state.job;
        let job =
            job.ok_or_else(|| WorkflowNodeError::Denied("no job was dispatched".to_owned()))?;
        Ok(AwaitedJob { job_id: job.job_id, limits: state.bounds.limits })
    }

    fn apply(state: &mut WorkflowState, result: JobResultSummary) {
        state.last_result = Some(result.into());
    }
}

fn overdue_error(longest: Duration) -> WorkflowNodeError {
    WorkflowNodeError::Denied(format!("the job did not end within {} s", longest.as_secs()))
}

/// Condenses the result. A canceled job means that the task was canceled, so the run ends.
fn summarize_job(job: JobView) -> Result<JobResultSummary, WorkflowNodeError> {
    if job.status == JobStatus::Canceled {
        return Err(WorkflowNodeError::Cancelled);
    }
    let (ending, stdout, stderr) = match job.result {
        Some(result) => (result.ending, result.stdout, result.stderr),
        None => (ending_without_result(job.status)?, String::new(), String::new()),
    };
    Ok(JobResultSummary {
        job_id: job.id,
        status: job.status,
        ending,
        stdout_tail: tail(&stdout),
        stderr_tail: tail(&stderr),
    })
}

fn ending_without_result(status: JobStatus) -> Result<JobEnding, WorkflowNodeError> {
    match status {
        JobStatus::LeaseExpired => {
            Ok(JobEnding::Interrupted { reason: "its node stopped reporting".to_owned() })
        }
        JobStatus::Failed => {
            Ok(JobEnding::NotStarted { reason: "no result was reported".to_owned() })
        }
        JobStatus::Queued | JobStatus::Running | JobStatus::Completed | JobStatus::Canceled => {
            Err(WorkflowNodeError::BadOutput(format!("a {status} job came without its result")))
        }
    }
}

/// The last [`TAIL_BYTES`] bytes, cut at a character.
fn tail(text: &str) -> String {
    last_bytes(text, TAIL_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_output_is_kept_and_no_character_is_cut() {
        let text = format!("{}é{}", "x".repeat(10), "y".repeat(TAIL_BYTES - 1));

        assert_eq!(tail(&text), "y".repeat(TAIL_BYTES - 1));
        assert_eq!(tail("short"), "short");
    }
}
