//! The steps of a task with the checks that were applied to them, read from recorded rows.

use std::collections::{BTreeMap, HashMap};

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::verdict::{Finding, PROSE_RULE};
use cynode_store::{StepJob, Tx};
use cynode_wire::checks::{CheckView, StepChecksView};

use super::TaskError;
use crate::workflow::job_creation::EXEC_STEP;
use crate::{workflow::check::command_in_payload, workflow::check::split_attempt};

/// Returns the newest attempt at each step of the task, in plan order.
pub(super) async fn load_step_checks(
    tx: &mut Tx,
    task: TaskId,
) -> Result<Vec<StepChecksView>, TaskError> {
    let jobs = tx.step_job_list(task, EXEC_STEP).await?;
    let verdicts = tx.verdict_list(task).await?;
    // Runs are in start order: the verdict of a later run on a job wins.
    let mut checks: HashMap<JobId, Vec<CheckView>> = verdicts
        .into_iter()
        .map(|it| (it.job, it.verdict.findings.into_iter().map(check_view).collect()))
        .collect();
    let views = select_newest_attempts(jobs).into_iter().map(|job| StepChecksView {
        step_index: job.step_index,
        attempt: job.attempt,
        job_id: job.id,
        // One unreadable row does not hide the others.
        command: command_in_payload(job.payload).unwrap_or_else(|_| "(cannot be read)".to_owned()),
        status: job.status,
        checks: checks.remove(&job.id).unwrap_or_default(),
    });
    Ok(views.collect())
}

/// Returns the newest attempt at each step. A run that continues another run repeats its steps from some step on;
/// the steps before that are taken from the run that it continues.
fn select_newest_attempts(jobs: Vec<StepJob>) -> Vec<StepJob> {
    let mut steps: BTreeMap<u32, StepJob> = BTreeMap::new();
    let mut run = None;
    for job in jobs.into_iter().filter(|job| split_attempt(job.attempt).1.is_none()) {
        if run != Some(job.run) {
            run = Some(job.run);
            steps.retain(|step, _| *step < job.step_index);
        }
        steps.insert(job.step_index, job);
    }
    steps.into_values().collect()
}

fn check_view(finding: Finding) -> CheckView {
    let (result, judged_by) = (finding.result(), finding.judge());
    let check = if finding.is_prose() { PROSE_RULE.to_owned() } else { finding.rule };
    CheckView { check, result, judged_by, message: finding.message }
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::RunId;
    use cynode_domain::status::JobStatus;
    use serde_json::Value;

    use super::*;

    #[test]
    fn steps_are_those_of_the_newest_run_and_before_it_those_that_it_continues() {
        let (first, second) = (RunId::generate(), RunId::generate());
        let job = |run, step_index, attempt| StepJob {
            id: JobId::generate(),
            run,
            step_index,
            attempt,
            status: JobStatus::Completed,
            payload: Value::Null,
        };
        let jobs = vec![
            job(first, 0, 1),
            job(first, 1, 1),
            job(first, 1, 1001),
            job(first, 2, 1),
            job(second, 1, 1),
            job(second, 1, 2),
        ];

        let shown: Vec<_> = select_newest_attempts(jobs)
            .iter()
            .map(|job| (job.run, job.step_index, job.attempt))
            .collect();

        assert_eq!(shown, [(first, 0, 1), (second, 1, 2)]);
    }
}
