//! What an analyst is given of a job that ended, and what it wrote.

use std::collections::BTreeMap;

use cynode_domain::criteria::{Criterion, Evidence, sharpened};
use cynode_domain::finding::criterion_at;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::verification::VerificationKey;
use cynode_store::{Finding, FindingStore, Job, JobStore, Task, Tx};
use cynode_wire::handoff::{EarlierStep, VerifyHandoff};

use crate::workflow::make::names_step;
use crate::workflow::{RunFiles, command_of, ending_of, evidence_of, job_view, planned_step};

/// How much of the output is handed over: its end.
const MAX_OUTPUT_CHARS: usize = 16 * 1024;
/// How much of a command is handed over: its beginning.
const MAX_COMMAND_CHARS: usize = 2000;
/// How many earlier steps are handed over, and how much of what each of them printed.
const MAX_EARLIER_STEPS: u32 = 20;
const MAX_EARLIER_CHARS: usize = 1000;
/// How many findings of a task are looked through, newest first.
const LOOKED_THROUGH: u32 = 1000;

/// The criteria that no rule can check.
pub(super) fn prose(criteria: &[Criterion]) -> Vec<String> {
    let texts = criteria.iter().filter_map(|criterion| match criterion {
        Criterion::Text { description } => Some(description.clone()),
        Criterion::ExitCode { .. }
        | Criterion::OutputMatches { .. }
        | Criterion::FileExists { .. }
        | Criterion::CommandSucceeds { .. } => None,
    });
    texts.collect()
}

/// A verification as it is handed over.
pub(super) fn handed(
    (job_id, step_index, attempt): (JobId, u32, u32),
    criteria: Vec<String>,
    evidence: Evidence,
) -> VerifyHandoff {
    let (evidence, command, earlier) = (shortened(evidence), String::new(), vec![]);
    VerifyHandoff { job_id, step_index, attempt, criteria, evidence, command, earlier }
}

/// The evidence with no more than the end of what was printed.
pub(crate) fn shortened(evidence: Evidence) -> Evidence {
    let (stdout, stderr) = (end_of(&evidence.stdout), end_of(&evidence.stderr));
    Evidence { stdout, stderr, ..evidence }
}

fn end_of(text: &str) -> String {
    last_chars(text, MAX_OUTPUT_CHARS)
}

fn last_chars(text: &str, most: usize) -> String {
    let excess = text.chars().count().saturating_sub(most);
    text.chars().skip(excess).collect()
}

/// The verification of a job, as the database knows it.
pub(super) async fn gather(
    tx: &mut Tx,
    task: &Task,
    job: Job,
) -> Result<VerifyHandoff, cynode_store::Error> {
    let of = (job.asked.id, job.asked.step_index, job.asked.attempt);
    let planned = planned_step(tx, job.asked.task, job.asked.step_index).await?;
    let is_last = planned.as_ref().is_none_or(|planned| planned.is_last);
    // As the verdict sees them: findings are told by their place among what is left in prose.
    let mut criteria = planned.map_or_else(Vec::new, |planned| sharpened(&planned.step.criteria));
    if is_last {
        criteria.extend(sharpened(&task.asked.acceptance_criteria));
    }
    let command = first_chars(&command_of(&job).unwrap_or_default(), MAX_COMMAND_CHARS);
    let earlier = if is_last { earlier_steps(tx, &job).await? } else { vec![] };
    let evidence = evidence_of(tx, job, RunFiles::for_step(is_last)).await?;
    Ok(VerifyHandoff { command, earlier, ..handed(of, prose(&criteria), evidence) })
}

/// The accepted attempts at the steps before that of this job: the newest at each, as a run leaves a
/// step in no other way.
async fn earlier_steps(tx: &mut Tx, job: &Job) -> Result<Vec<EarlierStep>, cynode_store::Error> {
    let first = job.asked.step_index.saturating_sub(MAX_EARLIER_STEPS);
    let mut earlier = vec![];
    for step_index in first..job.asked.step_index {
        let jobs = tx.job_list_step(job.asked.run, step_index).await?.into_iter();
        let newest = jobs.filter(|job| names_step(&job.asked)).max_by_key(|job| job.asked.attempt);
        let Some(newest) = newest else { continue };
        let command = first_chars(&command_of(&newest).unwrap_or_default(), MAX_COMMAND_CHARS);
        let view = job_view(newest)?;
        let ending = ending_of(&view);
        let (stdout, stderr) =
            view.result.map(|result| (result.stdout, result.stderr)).unwrap_or_default();
        let [stdout, stderr] = [stdout, stderr].map(|text| last_chars(&text, MAX_EARLIER_CHARS));
        earlier.push(EarlierStep { step_index, command, ending, stdout, stderr });
    }
    Ok(earlier)
}

fn first_chars(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// What the analysts of a verification wrote about each criterion; the newest counts.
pub(super) async fn written(
    tx: &mut Tx,
    task: TaskId,
    verification: VerificationKey,
) -> Result<BTreeMap<usize, Finding>, cynode_store::Error> {
    let mut written = BTreeMap::new();
    for finding in tx.finding_list(task, None, LOOKED_THROUGH).await? {
        if finding.verification != Some(verification) {
            continue;
        }
        if let Some(index) = finding.location.as_deref().and_then(criterion_at) {
            written.entry(index).or_insert(finding);
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use cynode_domain::job::Ending;

    use super::*;

    #[test]
    fn an_analyst_is_given_the_end_of_a_long_output() {
        let evidence = Evidence {
            ending: Ending::Exited { code: 0 },
            stdout: format!("{}end", "x".repeat(MAX_OUTPUT_CHARS)),
            stderr: format!("{}failed", "x".repeat(MAX_OUTPUT_CHARS)),
            artifacts: vec![],
            stale: vec![],
            checks: vec![],
        };

        let handed = handed((JobId::generate(), 0, 1), vec![], evidence);

        assert_eq!(handed.evidence.stdout.len(), MAX_OUTPUT_CHARS);
        assert!(handed.evidence.stdout.ends_with("end"));
        assert_eq!(handed.evidence.stderr.len(), MAX_OUTPUT_CHARS);
        assert!(handed.evidence.stderr.ends_with("failed"));
    }
}
