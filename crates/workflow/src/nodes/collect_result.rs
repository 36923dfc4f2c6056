//! Waits for the job to end and brings its result into a form that fits a checkpoint.
//!
//! The time a job waits for a worker node is not bounded here: a person may stop the task. From
//! the moment it runs, it must end within its own limit and a reserve for its node's paperwork.

use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_domain::job::{Ending, Limits};
use cynode_domain::status::JobStatus;
use cynode_wire::jobs::JobView;
use tokio::time::Instant;

use super::Control;
use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::{LastResult, RunState};

/// What a job may take over its own limit: set-up, upload, and the expiry of a dead node's lease.
const RESERVE: Duration = Duration::from_mins(2);
/// What a checkpoint keeps of each stream, in bytes.
const TAIL: usize = 4096;

/// Waits for the job to end.
#[derive(Debug)]
pub struct CollectResult(pub Control);

/// The job to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    /// The job.
    pub job_id: JobId,
    /// Its bounds.
    pub limits: Limits,
}

impl Node for CollectResult {
    const NAME: &'static str = "collect_result";
    type Input = Awaited;
    type Output = LastResult;

    async fn run(&self, cx: &mut NodeCx<'_>, awaited: Awaited) -> Result<LastResult, NodeError> {
        let longest = Duration::from_secs(awaited.limits.timeout_s.into()) + RESERVE;
        let mut running_since = None;
        cx.life().waits_for(&format!("job {}", awaited.job_id));
        loop {
            let job = self.0.job(awaited.job_id).await?;
            if job.status.is_terminal() {
                return normalise(job);
            }
            cx.life().waits_for(&format!("job {}, which is {}", job.id, job.status));
            if job.status == JobStatus::Running {
                let since = *running_since.get_or_insert_with(Instant::now);
                if since.elapsed() > longest {
                    return Err(overdue(longest));
                }
            }
        }
    }
}

impl On<RunState> for CollectResult {
    fn input(state: &RunState) -> Result<Awaited, NodeError> {
        let job = state.job;
        let job = job.ok_or_else(|| NodeError::Denied("no job was dispatched".to_owned()))?;
        Ok(Awaited { job_id: job.job_id, limits: state.bounds.limits })
    }

    fn apply(state: &mut RunState, result: LastResult) {
        state.last_result = Some(result.into());
    }
}

fn overdue(longest: Duration) -> NodeError {
    NodeError::Denied(format!("the job did not end within {} s", longest.as_secs()))
}

/// A canceled job means that the task was stopped: its run has nothing more to say.
fn normalise(job: JobView) -> Result<LastResult, NodeError> {
    if job.status == JobStatus::Canceled {
        return Err(NodeError::Cancelled);
    }
    let (ending, stdout, stderr) = match job.result {
        Some(result) => (result.ending, result.stdout, result.stderr),
        None => (ending_without_result(job.status)?, String::new(), String::new()),
    };
    Ok(LastResult {
        job_id: job.id,
        status: job.status,
        ending,
        stdout_tail: tail(stdout),
        stderr_tail: tail(stderr),
    })
}

fn ending_without_result(status: JobStatus) -> Result<Ending, NodeError> {
    match status {
        JobStatus::LeaseExpired => {
            Ok(Ending::Interrupted { reason: "its node stopped reporting".to_owned() })
        }
        JobStatus::Failed => Ok(Ending::NotStarted { reason: "no result was reported".to_owned() }),
        JobStatus::Queued | JobStatus::Running | JobStatus::Completed | JobStatus::Canceled => {
            Err(NodeError::BadOutput(format!("a {status} job came without its result")))
        }
    }
}

/// The last [`TAIL`] bytes, cut at a character.
fn tail(mut text: String) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(TAIL));
    text.split_off(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_output_is_kept_and_no_character_is_cut() {
        let text = format!("{}é{}", "x".repeat(10), "y".repeat(TAIL - 1));

        assert_eq!(tail(text), "y".repeat(TAIL - 1));
        assert_eq!(tail("short".to_owned()), "short");
    }
}
