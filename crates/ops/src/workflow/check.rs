//! Check jobs: commands that are run to judge a step, where the step ran.
//!
//! A check is a job of the same step. Its attempt is that of the step and, in thousands, its own
//! number, so that (run, step, attempt) stays unique and asking twice makes one job.

use cynode_domain::criteria::Check;
use cynode_domain::ids::{JobId, RunId};
use cynode_domain::job::Action;
use cynode_store::{Job, Tx};
use cynode_wire::workflow::Hold;
use serde_json::Value;

use super::analyst::Case;
use super::evidence::ending_of;
use super::make::{Made, Wanted, make_job};
use super::{WorkflowError, check, job_view, task_of};
use crate::nodes::{Payload, Placing};

/// Attempts at a step are below this.
pub(super) const CHECK: u32 = 1000;

/// The attempt, and the number of the check if it is one.
pub(crate) const fn split(attempt: u32) -> (u32, Option<u32>) {
    match attempt / CHECK {
        0 => (attempt, None),
        number => (attempt % CHECK, Some(number)),
    }
}

/// The checks of a step and attempt: those that ended, and the one that has not.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) ended: Vec<Check>,
    pub(super) open: Option<JobId>,
}

impl Checks {
    /// The checks that `run` has made of a step, among jobs of that step. A run that goes on from
    /// another one checks anew.
    pub(super) fn among(
        jobs: Vec<Job>,
        run: RunId,
        step: &Job,
    ) -> Result<Self, cynode_store::Error> {
        let mut checks = Self::default();
        let about = |job: &Job| {
            let (attempt, number) = split(job.asked.attempt);
            number.is_some()
                && (job.asked.run, job.asked.step_index) == (run, step.asked.step_index)
                && attempt == step.asked.attempt
        };
        for job in jobs.into_iter().filter(about) {
            if !job.status.is_terminal() {
                checks.open = Some(job.asked.id);
                continue;
            }
            let command = command_of(&job)?;
            checks.ended.push(Check { command, ending: ending_of(&job_view(job)?) });
        }
        Ok(checks)
    }
}

/// Has a check run, the next of its step and attempt.
pub(super) async fn run(
    tx: &mut Tx,
    hold: Hold,
    case: &Case,
    (command, placing): (String, Placing),
) -> Result<Made, WorkflowError> {
    let lease = check(tx, hold).await?;
    let task = task_of(tx, lease.task).await?;
    let number = u32::try_from(case.evidence.checks.len() + 1).unwrap_or(u32::MAX);
    let attempt = number.saturating_mul(CHECK).saturating_add(case.attempt);
    let action = Action::Command { line: command };
    let (run, limits, step_index) = (lease.run, task.asked.options.limits, case.step_index);
    let wanted = Wanted { run, step_index, attempt, action, limits, node: None, by: None };
    Ok(make_job(tx, &task, wanted, placing).await?)
}

/// What a job ran: its command line, or the text of its script.
pub(crate) fn command_of(job: &Job) -> Result<String, cynode_store::Error> {
    command_in(job.asked.payload.clone())
}

/// The command line or the script that a job runs.
pub(crate) fn command_in(payload: Value) -> Result<String, cynode_store::Error> {
    let payload: Payload = serde_json::from_value(payload).map_err(|error| {
        let (column, reason) = ("payload".to_owned(), error.to_string());
        cynode_store::Error::Unreadable { column, reason }
    })?;
    match payload.action {
        Action::Command { line } => Ok(line),
        Action::Script { text } => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_check_is_told_from_the_attempt_it_checks() {
        assert_eq!(split(3), (3, None));
        assert_eq!(split(2003), (3, Some(2)));
    }
}
