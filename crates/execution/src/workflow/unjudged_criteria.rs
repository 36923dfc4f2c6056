//! Unjudged criteria: the verification round, and the decision of a person.
//!
//! The runner asks the person and applies the answer to its verdict. The same answer is applied here, in the
//! transaction that persists it, so that the record names who accepted which criterion.

use chrono::{DateTime, Utc};
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity, criterion_location};
use cynode_domain::ids::{RunId, UserId};
use cynode_domain::question::{Answer, Reply};
use cynode_domain::run::VERIFY_NODE;
use cynode_domain::verdict::{CLARIFY_QUESTION, Verdict, VerdictStatus};
use cynode_domain::verification::ACCEPT_UNVERIFIED_KEY;
use cynode_store::{Error, FindingAuthorship, FindingSubject, RunQuestion, StepVerdict, Task, Tx};
use cynode_wire::findings::CreateFinding;

use crate::findings;
use cynode_resources::preferences;

/// The key of the question about unjudged criteria in a verification round.
fn question_key(sequence: i64, round: u32) -> String {
    let key = format!("{sequence}/{VERIFY_NODE}/ask/{CLARIFY_QUESTION}");
    if round == 0 { key } else { format!("{key}/{round}") }
}

/// Counts how often a person requested another verification at this transition.
pub async fn round(tx: &mut Tx, run: RunId, sequence: i64) -> Result<u32, Error> {
    let mut round = 0;
    while let Some(answer) = tx.effect_get(run, &question_key(sequence, round)).await? {
        let answer: Option<Answer> = serde_json::from_value(answer).ok();
        if answer.and_then(|answer| answer.reply) != Some(Reply::Retry {}) {
            break;
        }
        round += 1;
    }
    Ok(round)
}

/// Accepts unjudged criteria if a preference of the task allows it.
pub(super) async fn apply_preference(
    tx: &mut Tx,
    task: &Task,
    verdict: Verdict,
) -> Result<Verdict, Error> {
    if verdict.status != VerdictStatus::Unclear {
        return Ok(verdict);
    }
    let resolved = preferences::effective_for_task(tx, &task.spec).await?;
    let accepts = resolved.effective.get(ACCEPT_UNVERIFIED_KEY).map(|found| &found.value);
    let accepts = accepts.and_then(serde_json::Value::as_bool).unwrap_or(false);
    Ok(if accepts { verdict.accept_unverified() } else { verdict })
}

/// Records the answer to the question about unjudged criteria: the resulting verdict, and one finding for each
/// criterion. Answers to other questions have no effect. `person` is `None` if the question expired.
pub async fn record_criteria_answer(
    tx: &mut Tx,
    pending: &RunQuestion,
    answer: &Answer,
    person: Option<UserId>,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let is_about_conditions = pending.asked_by == VERIFY_NODE
        && pending.key.contains(&format!("/ask/{CLARIFY_QUESTION}"));
    if !is_about_conditions || answer.reply == Some(Reply::Retry {}) {
        return Ok(());
    }
    let verdicts = tx.verdict_list_run(pending.run).await?;
    let is_open = |it: &StepVerdict| it.verdict.status == VerdictStatus::Unclear;
    let Some(open) = verdicts.into_iter().rev().find(is_open) else { return Ok(()) };
    let Some(task) = tx.task_get(pending.task).await? else { return Ok(()) };
    let settled = open.verdict.clone().settle_with_answer(answer);
    let step_index = tx.job_get(open.job).await?.map(|job| job.spec.step_index);
    let subject = FindingSubject { run: Some(open.run), job: Some(open.job), step_index };
    let by = FindingAuthorship {
        author: person.map_or(FindingAuthor::Rule, |_| FindingAuthor::User),
        token: None,
        user: person.unwrap_or(task.spec.created_by),
    };
    let prose = open.verdict.findings.iter().zip(&settled.findings).filter(|(it, _)| it.is_prose());
    let decided = prose.enumerate().filter(|(_, (before, _))| before.is_open());
    let room = findings::remaining_findings(tx, pending.task).await?;
    for (index, (_, finding)) in decided.take(room) {
        let (status, severity) = if finding.is_failure() {
            (FindingStatus::Fail, Severity::Error)
        } else {
            (FindingStatus::Pass, Severity::Info)
        };
        let request = CreateFinding {
            status,
            severity,
            message: findings::sanitize_finding_text(&finding.message),
            location: Some(criterion_location(index)),
            suggestion: None,
            step_index: None,
            job_id: None,
        };
        findings::FindingDraft { subject, by, now, request, verification: None }
            .insert(tx, &task)
            .await?;
    }
    tx.verdict_put(&StepVerdict { verdict: settled, ..open }).await
}
