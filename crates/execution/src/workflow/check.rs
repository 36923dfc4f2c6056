//! Check jobs: commands that verify a step, run on the node where the step ran.
//!
//! A check is a job of the same step. Its attempt number is the attempt of the step plus 1000 times the number of
//! the check, so that (run, step, attempt) stays unique and a repeated request creates no second job.

use cynode_domain::criteria::Check;
use cynode_domain::ids::{JobId, RunId};
use cynode_domain::job::Action;
use cynode_store::{Job, Tx};
use cynode_wire::workflow::LeaseToken;
use serde_json::Value;

use super::analyst::VerificationCase;
use super::evidence::ending_of;
use super::job_creation::{CreatedJob, NewJobSpec, create_job};
use super::{WorkflowError, check_lease, job_view, load_task};
use crate::{nodes::AssignmentPass, nodes::JobPayload};

/// Attempts at a step are below this number.
pub(super) const CHECK_FACTOR: u32 = 1000;

/// Splits an attempt number into the attempt at the step and the number of the check, if it is a check.
pub const fn split_attempt(attempt: u32) -> (u32, Option<u32>) {
    match attempt / CHECK_FACTOR {
        0 => (attempt, None),
        number => (attempt % CHECK_FACTOR, Some(number)),
    }
}

/// The checks of an attempt: the ended ones, and the one that is still open.
#[derive(Debug, Default)]
pub(super) struct AttemptChecks {
    pub(super) ended: Vec<Check>,
    pub(super) open: Option<JobId>,
}

impl AttemptChecks {
    /// Selects the checks that `create_check_job` has made, from the jobs of a step. A run that continues another run checks
    /// again.
    pub(super) fn select(
        jobs: Vec<Job>,
        run: RunId,
        step: &Job,
    ) -> Result<Self, cynode_store::Error> {
        let mut checks = Self::default();
        let about = |job: &Job| {
            let (attempt, number) = split_attempt(job.spec.attempt);
            number.is_some()
                && (job.spec.run, job.spec.step_index) == (run, step.spec.step_index)
                && attempt == step.spec.attempt
        };
        for job in jobs.into_iter().filter(about) {
            if !job.status.is_terminal() {
                checks.open = Some(job.spec.id);
                continue;
            }
            let command = command_of_job(&job)?;
            checks.ended.push(Check { command, ending: ending_of(&job_view(job)?) });
        }
        Ok(checks)
    }
}

/// Creates the job of the next check of an attempt.
pub(super) async fn create_check_job(
    tx: &mut Tx,
    lease: LeaseToken,
    case: &VerificationCase,
    command: String,
    placing: AssignmentPass,
) -> Result<CreatedJob, WorkflowError> {
    let lease = check_lease(tx, lease).await?;
    let task = load_task(tx, lease.task).await?;
    let number = u32::try_from(case.evidence.checks.len() + 1).unwrap_or(u32::MAX);
    let attempt = number.saturating_mul(CHECK_FACTOR).saturating_add(case.attempt);
    let action = Action::Command { line: command };
    let (run, limits, step_index) = (lease.run, task.spec.options.limits, case.step_index);
    let (node, agent, requested_by) = (None, None, None);
    let image = None;
    let spec =
        NewJobSpec { run, step_index, attempt, action, limits, node, agent, image, requested_by };
    Ok(create_job(tx, &task, spec, placing).await?)
}

/// The command line of a job, the text of its script, or the request of its agent.
pub fn command_of_job(job: &Job) -> Result<String, cynode_store::Error> {
    command_in_payload(job.spec.payload.clone())
}

/// Same as [`command_of_job`], from the payload of a job.
pub(crate) fn command_in_payload(payload: Value) -> Result<String, cynode_store::Error> {
    let payload: JobPayload = serde_json::from_value(payload).map_err(|error| {
        let (column, reason) = ("payload".to_owned(), error.to_string());
        cynode_store::Error::Unreadable { column, reason }
    })?;
    match payload.action {
        Action::Command { line } => Ok(line),
        Action::Script { text } => Ok(text),
        Action::Agent { prompt, .. } => Ok(format!("agent: {prompt}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_check_is_told_from_the_attempt_it_checks() {
        assert_eq!(split_attempt(3), (3, None));
        assert_eq!(split_attempt(2003), (3, Some(2)));
    }
}
