//! The handoff to an analyst about an ended job, and the findings that it wrote.

use std::collections::BTreeMap;

use cynode_domain::criteria::{Criterion, Evidence, refine_criteria};
use cynode_domain::finding::parse_criterion_location;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::text::{last_chars, truncate_chars};
use cynode_domain::verification::VerificationKey;
use cynode_execution::workflow::job_creation::is_step_attempt;
use cynode_execution::workflow::{
    EvidenceScope, command_of_job, ending_of, job_view, load_evidence, load_planned_step,
    shorten_output,
};
use cynode_store::{Job, StoredFinding, Task, Tx};
use cynode_wire::handoff::{EarlierStep, VerifyHandoff};

/// Limit of a command that is handed over, from its beginning.
const MAX_COMMAND_CHARS: usize = 2000;
/// How many earlier steps are handed over, and the limit of the output of each.
const MAX_EARLIER_STEPS: u32 = 20;
const MAX_EARLIER_CHARS: usize = 1000;
/// How many findings of a task are searched, newest first.
const SEARCHED_FINDINGS: u32 = 1000;

/// The criteria that no rule can check.
pub(super) fn prose_criteria(criteria: &[Criterion]) -> Vec<String> {
    let texts = criteria.iter().filter_map(|criterion| match criterion {
        Criterion::Text { description } => Some(description.clone()),
        Criterion::ExitCode { .. }
        | Criterion::OutputMatches { .. }
        | Criterion::FileExists { .. }
        | Criterion::CommandSucceeds { .. } => None,
    });
    texts.collect()
}

/// Creates the handoff of a verification.
pub(super) fn build_verify_handoff(
    job_id: JobId,
    step_index: u32,
    attempt: u32,
    criteria: Vec<String>,
    evidence: Evidence,
) -> VerifyHandoff {
    VerifyHandoff {
        job_id,
        step_index,
        attempt,
        criteria,
        evidence: shorten_output(evidence),
        command: String::new(),
        earlier: vec![],
        changes: None,
    }
}

/// Loads the handoff of a verification from the database.
pub(super) async fn load_verify_handoff(
    tx: &mut Tx,
    task: &Task,
    job: Job,
) -> Result<VerifyHandoff, cynode_store::Error> {
    let planned = load_planned_step(tx, job.spec.task, job.spec.step_index).await?;
    let is_last = planned.as_ref().is_none_or(|planned| planned.is_last);
    // In the order of the verdict: findings refer to prose criteria by index.
    let mut criteria =
        planned.map_or_else(Vec::new, |planned| refine_criteria(&planned.step.criteria));
    if is_last {
        criteria.extend(refine_criteria(&task.spec.acceptance_criteria));
    }
    let command = shown_command(&job);
    let earlier = if is_last { load_earlier_steps(tx, &job).await? } else { vec![] };
    let (job_id, step_index, attempt) = (job.spec.id, job.spec.step_index, job.spec.attempt);
    let evidence = load_evidence(tx, job, EvidenceScope::for_step(is_last)).await?;
    Ok(VerifyHandoff {
        command,
        earlier,
        ..build_verify_handoff(job_id, step_index, attempt, prose_criteria(&criteria), evidence)
    })
}

/// Loads the accepted attempts at the steps before that of this job: the newest attempt at each, because a run leaves
/// a step only when its newest attempt is accepted.
async fn load_earlier_steps(
    tx: &mut Tx,
    job: &Job,
) -> Result<Vec<EarlierStep>, cynode_store::Error> {
    let first = job.spec.step_index.saturating_sub(MAX_EARLIER_STEPS);
    let mut earlier = vec![];
    for step_index in first..job.spec.step_index {
        let jobs = tx.job_list_step(job.spec.run, step_index).await?.into_iter();
        let newest =
            jobs.filter(|job| is_step_attempt(&job.spec)).max_by_key(|job| job.spec.attempt);
        let Some(newest) = newest else { continue };
        let command = shown_command(&newest);
        let view = job_view(newest)?;
        let ending = ending_of(&view);
        let (stdout, stderr) =
            view.result.map(|result| (result.stdout, result.stderr)).unwrap_or_default();
        let [stdout, stderr] =
            [stdout, stderr].map(|text| last_chars(&text, MAX_EARLIER_CHARS).to_owned());
        earlier.push(EarlierStep { step_index, command, ending, stdout, stderr });
    }
    Ok(earlier)
}

fn shown_command(job: &Job) -> String {
    truncate_chars(&command_of_job(job).unwrap_or_default(), MAX_COMMAND_CHARS).to_owned()
}

/// Loads the newest finding of a verification about each criterion.
pub(super) async fn load_criterion_findings(
    tx: &mut Tx,
    task: TaskId,
    verification: VerificationKey,
) -> Result<BTreeMap<usize, StoredFinding>, cynode_store::Error> {
    let mut written = BTreeMap::new();
    for finding in tx.finding_list(task, None, SEARCHED_FINDINGS).await? {
        if finding.verification != Some(verification) {
            continue;
        }
        if let Some(index) = finding.location.as_deref().and_then(parse_criterion_location) {
            written.entry(index).or_insert(finding);
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use cynode_domain::job::JobEnding;
    use cynode_execution::workflow::MAX_OUTPUT_CHARS;

    use super::*;

    #[test]
    fn an_analyst_is_given_the_end_of_a_long_output() {
        let evidence = Evidence {
            ending: JobEnding::Exited { code: 0 },
            stdout: format!("{}end", "x".repeat(MAX_OUTPUT_CHARS)),
            stderr: format!("{}failed", "x".repeat(MAX_OUTPUT_CHARS)),
            artifacts: vec![],
            stale: vec![],
            checks: vec![],
        };

        let handed = build_verify_handoff(JobId::generate(), 0, 1, vec![], evidence);

        assert_eq!(handed.evidence.stdout.len(), MAX_OUTPUT_CHARS);
        assert!(handed.evidence.stdout.ends_with("end"));
        assert_eq!(handed.evidence.stderr.len(), MAX_OUTPUT_CHARS);
        assert!(handed.evidence.stderr.ends_with("failed"));
    }
}
