//! What an analyst is given of a job that ended, and what it wrote.

use std::collections::BTreeMap;

use cynode_domain::criteria::{Criterion, Evidence, sharpened};
use cynode_domain::finding::criterion_at;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::verification::VerificationKey;
use cynode_store::{Finding, FindingStore, Job, Task, Tx};
use cynode_wire::handoff::VerifyHandoff;

use crate::workflow::evidence_of;

/// How much of the output is handed over: its end.
const MAX_OUTPUT_CHARS: usize = 16 * 1024;
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
    mut evidence: Evidence,
) -> VerifyHandoff {
    let excess = evidence.stdout.chars().count().saturating_sub(MAX_OUTPUT_CHARS);
    if excess > 0 {
        evidence.stdout = evidence.stdout.chars().skip(excess).collect();
    }
    VerifyHandoff { job_id, step_index, attempt, criteria, evidence }
}

/// The verification of a job, as the database knows it.
pub(super) async fn gather(
    tx: &mut Tx,
    task: &Task,
    job: Job,
) -> Result<VerifyHandoff, cynode_store::Error> {
    let of = (job.asked.id, job.asked.step_index, job.asked.attempt);
    let evidence = evidence_of(tx, job).await?;
    // As the verdict sees them: findings are told by their place among what is left in prose.
    Ok(handed(of, prose(&sharpened(&task.asked.acceptance_criteria)), evidence))
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
            stderr: String::new(),
            artifacts: vec![],
            stale: vec![],
            checks: vec![],
        };

        let handed = handed((JobId::generate(), 0, 1), vec![], evidence);

        assert_eq!(handed.evidence.stdout.len(), MAX_OUTPUT_CHARS);
        assert!(handed.evidence.stdout.ends_with("end"));
    }
}
