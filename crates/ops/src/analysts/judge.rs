//! Judging steps: rules first, then whatever analysts found about prose.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::finding::FindingStatus as Found;
use cynode_domain::verdict::{BY_ANALYST, Finding, FindingStatus, Verdict, VerdictStatus};
use cynode_store::WorkflowStore;
use cynode_wire::handoff::{VerifyAnswer, VerifyOutcome};
use tokio::time::Instant;

use super::evidence::{handed, prose, written};
use super::{Analysts, Seat, has_room};
use crate::handoff::{HandoffError, Subject};
use crate::signals::Topic;
use crate::workflow::analyst::{Analyst, AnalystError, Case, Opinion, RuleAnalyst};

/// How often the project manager is asked in all while it cannot be reached.
const TRIES: u32 = 3;
const BETWEEN_TRIES: Duration = Duration::from_secs(2);
/// How often an analyst is asked for that looks elsewhere: its orchestrator may have died with it.
const ELSEWHERE: u32 = 2;

/// Judges by rule, and has analysts judge what no rule can.
#[derive(Clone)]
pub struct Managed(Analysts);

impl Managed {
    /// Judges with the help of `analysts`.
    pub fn new(analysts: Analysts) -> Self {
        Self(analysts)
    }
}

#[async_trait]
impl Analyst for Managed {
    async fn examine(&self, case: &Case) -> Result<Opinion, AnalystError> {
        let by_rule = RuleAnalyst.examine(case).await?;
        let Opinion::Verdict(verdict) = by_rule else { return Ok(by_rule) };
        let needs_analyst = verdict.status == VerdictStatus::Unclear;
        if !needs_analyst {
            return Ok(Opinion::Verdict(verdict));
        }
        match self.0.absence() {
            Some(reason) => Ok(Opinion::Verdict(merged(verdict, &BTreeMap::new(), Some(reason)))),
            None => self.0.judged(case, verdict).await,
        }
    }
}

impl Analysts {
    async fn judged(&self, case: &Case, verdict: Verdict) -> Result<Opinion, AnalystError> {
        let job = case.job;
        let found = self.found(case).await?;
        if found.len() >= prose(&case.criteria).len() {
            self.seats().remove(&job);
            return Ok(Opinion::Verdict(merged(verdict, &found, None)));
        }
        let seat = self.seat(case);
        let waiting_for = match seat {
            Some(Seat::GaveUp(reason, _)) => {
                // Whoever gave up may have written something since that was looked at.
                let found = self.found(case).await?;
                self.seats().remove(&job);
                return Ok(Opinion::Verdict(merged(verdict, &found, Some(&reason))));
            }
            Some(Seat::Looking | Seat::Elsewhere(..)) => "an analyst of the task",
            Some(Seat::Asking) | None => "the project manager, who asks for an analyst",
        };
        Ok(Opinion::Later { waiting_for: waiting_for.to_owned() })
    }

    /// What analysts have written about each criterion.
    async fn found(
        &self,
        case: &Case,
    ) -> Result<BTreeMap<usize, cynode_store::Finding>, AnalystError> {
        let (task, verification) = (case.task, case.verification());
        let found: Result<_, cynode_store::Error> =
            self.store.read(move |tx| Box::pin(written(tx, task, verification))).await;
        found.map_err(|error| AnalystError::Failed(Box::new(error)))
    }

    /// How far it is; asks the project manager if nobody has.
    fn seat(&self, case: &Case) -> Option<Seat> {
        let mut seats = self.seats();
        let has_room = has_room(&mut seats);
        let before = match seats.get(&case.job) {
            Some(Seat::Elsewhere(until, asked)) if *until <= Instant::now() => *asked,
            Some(seat) => return Some(seat.clone()),
            None => 0,
        };
        if before >= ELSEWHERE {
            return Some(Seat::gave_up("the analyst left no findings"));
        }
        if !has_room {
            // It waits for one of the others to end: what nobody had the time for is not accepted.
            return None;
        }
        seats.insert(case.job, Seat::Asking);
        let (analysts, case) = (self.clone(), case.clone());
        self.background.spawn_until_ending("verification", async move {
            let work = analysts.ask(&case, before);
            analysts.seated(case.job, Seat::Asking, work).await;
        });
        None
    }

    /// Asks the project manager, after analysts elsewhere were set to work so many times.
    async fn ask(&self, case: &Case, before: u32) {
        let outcome = self.asked(case).await;
        let mut seats = self.seats();
        let is_asking = seats.get(&case.job) == Some(&Seat::Asking);
        let next = match outcome {
            Ok(VerifyOutcome::AnalystRequested { is_looking }) => {
                let times = before + u32::from(!is_looking);
                Some(Seat::Elsewhere(Instant::now() + self.options.within, times))
            }
            Ok(VerifyOutcome::Unchecked { reason }) => Some(Seat::gave_up(reason)),
            // Whoever waits asks again: what nobody had the time for is not accepted.
            Ok(VerifyOutcome::Later { .. })
            | Err(HandoffError::Busy { .. } | HandoffError::Store(_)) => None,
            Err(error) => {
                tracing::warn!(
                    task.id = %case.task, error = &error as &dyn std::error::Error,
                    "nobody verifies a task's prose"
                );
                Some(Seat::gave_up(error.to_string()))
            }
        };
        // An analyst that already looks, or has looked, says itself how it goes on.
        match next {
            Some(next) if is_asking => drop(seats.insert(case.job, next)),
            None if is_asking => drop(seats.remove(&case.job)),
            Some(_) | None => {}
        }
        drop(seats);
        self.signals.send(Topic::Results);
    }

    async fn asked(&self, case: &Case) -> Result<VerifyOutcome, HandoffError> {
        let (task, user) = (case.task, case.user);
        let (caller, trace) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let run = tx.run_of_task(task).await?;
                    let trace = run.map(|run| run.trace.to_string()).unwrap_or_default();
                    Ok::<_, cynode_store::Error>((crate::workflow::owner(tx, user).await?, trace))
                })
            })
            .await?;
        let (task, run) = (Some(case.task), Some(case.run));
        let subject = Subject { task, run, ..Subject::of(caller, trace) };
        let of = (case.job, case.step_index, case.attempt);
        let body = handed(of, prose(&case.criteria), case.evidence.clone());
        let mut tries = 1;
        loop {
            match self.handoffs.verify(&subject, body.clone()).await {
                // It may be starting again, and asking twice for an analyst is asking once.
                answer if tries < TRIES && may_pass(&answer) => {
                    tokio::time::sleep(BETWEEN_TRIES).await;
                    tries += 1;
                }
                answer => return answer.map(|answer| answer.outcome),
            }
        }
    }
}

/// Whether asking once more may have another answer.
fn may_pass(answer: &Result<VerifyAnswer, HandoffError>) -> bool {
    match answer {
        Ok(answer) => matches!(answer.outcome, VerifyOutcome::Later { .. }),
        Err(error) => error.may_repeat(),
    }
}

/// The verdict of the rules, with what analysts found in the place of what no rule could tell.
fn merged(
    verdict: Verdict,
    found: &BTreeMap<usize, cynode_store::Finding>,
    reason: Option<&str>,
) -> Verdict {
    let mut prose = 0;
    let findings = verdict.findings.into_iter().map(|finding| {
        if finding.status != FindingStatus::Unchecked {
            return finding;
        }
        let index = prose;
        prose += 1;
        match (found.get(&index), reason) {
            (Some(found), _) => judged(found),
            (None, Some(reason)) => {
                Finding { message: format!("{} ({reason})", finding.message), ..finding }
            }
            (None, None) => finding,
        }
    });
    Verdict::of(findings.collect())
}

fn judged(found: &cynode_store::Finding) -> Finding {
    let status = match found.status {
        Found::Pass => FindingStatus::Pass,
        Found::Fail => FindingStatus::Fail,
        // It looked, and asks: that is not the same as nobody having looked.
        Found::NeedsClarification => FindingStatus::Unclear,
    };
    let suggestion = found.suggestion.clone().filter(|_| status == FindingStatus::Fail);
    Finding { rule: BY_ANALYST.to_owned(), status, message: found.message.clone(), suggestion }
}

#[cfg(test)]
mod tests {
    use cynode_domain::finding::{FindingAuthor, Severity};
    use cynode_domain::ids::{FindingId, JobId, TaskId, UserId};
    use cynode_store::{Finder, FindingPlace};

    use super::*;

    fn found(status: Found) -> cynode_store::Finding {
        cynode_store::Finding {
            id: FindingId::generate(),
            task: TaskId::generate(),
            place: FindingPlace { job: Some(JobId::generate()), ..FindingPlace::default() },
            status,
            severity: Severity::Info,
            message: "seen".to_owned(),
            location: None,
            suggestion: Some("mend it".to_owned()),
            by: Finder { author: FindingAuthor::Pa, token: None, user: UserId::generate() },
            verification: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
        }
    }

    fn by_rule() -> Verdict {
        Verdict::of(vec![
            Finding::of("exit_code", true, "it ended well".to_owned()),
            Finding::unchecked("it reads well"),
            Finding::unchecked("it is short"),
        ])
    }

    #[test]
    fn what_an_analyst_finds_takes_the_place_of_what_no_rule_could_tell() {
        let all = BTreeMap::from([(0, found(Found::Pass)), (1, found(Found::Fail))]);

        let verdict = merged(by_rule(), &all, None);

        let statuses: Vec<_> = verdict.findings.iter().map(|finding| finding.status).collect();
        let expected = [FindingStatus::Pass, FindingStatus::Pass, FindingStatus::Fail];
        assert_eq!(statuses, expected);
        assert_eq!(verdict.status, VerdictStatus::Fail);
        assert_eq!(verdict.findings[2].message, "seen");
        assert_eq!(verdict.recommended_actions, ["mend it"]);
    }

    #[test]
    fn what_nobody_judged_stays_unchecked_and_says_why() {
        let some = BTreeMap::from([(0, found(Found::Pass))]);

        let verdict = merged(by_rule(), &some, Some("no model is configured"));

        assert_eq!(verdict.status, VerdictStatus::Unclear);
        let unchecked: Vec<_> =
            verdict.findings.iter().filter(|f| f.status == FindingStatus::Unchecked).collect();
        assert_eq!(unchecked.len(), 1);
        assert_eq!(unchecked[0].message, "it is short (no model is configured)");
    }

    #[test]
    fn an_analyst_who_asks_lets_nothing_pass() {
        let asked =
            BTreeMap::from([(0, found(Found::NeedsClarification)), (1, found(Found::Pass))]);

        let verdict = merged(by_rule(), &asked, None);

        assert_eq!(verdict.status, VerdictStatus::Unclear);
        let unclear: Vec<_> = verdict.open().collect();
        assert_eq!((unclear.len(), unclear[0].message.as_str()), (1, "seen"));
    }
}
