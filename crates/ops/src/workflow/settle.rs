//! Conditions that nobody judged: which try at judging them this is, and what a person decided.
//!
//! The runner asks the person and applies the answer to the verdict that it was given. The same answer is
//! applied here, in the transaction that keeps it, so that the record says who accepted what.

use chrono::{DateTime, Utc};
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity, at_criterion};
use cynode_domain::ids::{RunId, UserId};
use cynode_domain::question::{Answer, Reply};
use cynode_domain::run::VERIFY;
use cynode_domain::verdict::{CLARIFY, Verdict, VerdictStatus};
use cynode_domain::verification::ACCEPT_UNVERIFIED;
use cynode_store::{
    Asked, Error, Finder, FindingPlace, JobStore, StepVerdict, Task, TaskStore, Tx, VerdictStore,
    WorkflowStore,
};
use cynode_wire::findings::CreateFinding;

use crate::findings;
use crate::preferences;

/// The key of the question about open conditions, after a person asked so often to have them judged again.
fn question_key(sequence: i64, round: u32) -> String {
    let key = format!("{sequence}/{VERIFY}/ask/{CLARIFY}");
    if round == 0 { key } else { format!("{key}/{round}") }
}

/// How often a person asked for the result at this transition to be judged again.
pub(crate) async fn round(tx: &mut Tx, run: RunId, sequence: i64) -> Result<u32, Error> {
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

/// The verdict as the preferences of its task have it: whether conditions that nobody judged are accepted.
pub(super) async fn by_preference(
    tx: &mut Tx,
    task: &Task,
    verdict: Verdict,
) -> Result<Verdict, Error> {
    if verdict.status != VerdictStatus::Unclear {
        return Ok(verdict);
    }
    let resolved = preferences::for_task(tx, &task.asked).await?;
    let accepts = resolved.effective.get(ACCEPT_UNVERIFIED).map(|found| &found.value);
    let accepts = accepts.and_then(serde_json::Value::as_bool).unwrap_or(false);
    Ok(if accepts { verdict.accept_unverified() } else { verdict })
}

/// Records what a person answered to the question about open conditions: the verdict that follows, and one
/// finding of that person for each condition. Other answers change nothing. Without a person, nobody
/// answered in time.
pub(crate) async fn record_answer(
    tx: &mut Tx,
    asked: &Asked,
    answer: &Answer,
    (person, now): (Option<UserId>, DateTime<Utc>),
) -> Result<(), Error> {
    let is_about_conditions =
        asked.asked_by == VERIFY && asked.key.contains(&format!("/ask/{CLARIFY}"));
    if !is_about_conditions || answer.reply == Some(Reply::Retry {}) {
        return Ok(());
    }
    let verdicts = tx.verdict_list(asked.task).await?;
    let is_open =
        |it: &StepVerdict| it.run == asked.run && it.verdict.status == VerdictStatus::Unclear;
    let Some(open) = verdicts.into_iter().rev().find(is_open) else { return Ok(()) };
    let Some(task) = tx.task_get(asked.task).await? else { return Ok(()) };
    let settled = open.verdict.clone().settled_by(answer);
    let step_index = tx.job_get(open.job).await?.map(|job| job.asked.step_index);
    let place = FindingPlace { run: Some(open.run), job: Some(open.job), step_index };
    let by = Finder {
        author: person.map_or(FindingAuthor::Rule, |_| FindingAuthor::User),
        token: None,
        user: person.unwrap_or(task.asked.created_by),
    };
    let prose = open.verdict.findings.iter().zip(&settled.findings).filter(|(it, _)| it.is_prose());
    let decided = prose.enumerate().filter(|(_, (before, _))| before.is_open());
    let room = findings::room(tx, asked.task).await?;
    for (index, (_, finding)) in decided.take(room) {
        let (status, severity) = if finding.is_failure() {
            (FindingStatus::Fail, Severity::Error)
        } else {
            (FindingStatus::Pass, Severity::Info)
        };
        let request = CreateFinding {
            status,
            severity,
            message: findings::fit(&finding.message),
            location: Some(at_criterion(index)),
            suggestion: None,
            step_index: None,
            job_id: None,
        };
        findings::New { place, by, now, request, verification: None }.insert(tx, &task).await?;
    }
    tx.verdict_put(&StepVerdict { verdict: settled, ..open }).await
}
