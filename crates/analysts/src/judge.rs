//! Judging steps: rules first, then the findings of analysts about prose.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::finding::FindingStatus as Found;
use cynode_domain::verdict::{ANALYST_RULE, Finding, FindingStatus, Verdict, VerdictStatus};
use cynode_execution::handoff::{HandoffError, HandoffSubject};
use cynode_execution::workflow::analyst::{
    Analyst, AnalystError, AnalystOpinion, RuleAnalyst, VerificationCase,
};
use cynode_resources::signals::Topic;
use cynode_wire::handoff::{VerifyAnswer, VerifyOutcome};
use tokio::time::Instant;

use crate::evidence::{build_verify_handoff, load_criterion_findings, prose_criteria};
use crate::{AnalystService, VerificationSlot, has_free_slot};

/// Total attempts to reach the project manager.
const MAX_ATTEMPTS: u32 = 3;
const RETRY_DELAY: Duration = Duration::from_secs(2);
/// How often an analyst of another orchestrator is requested: that orchestrator may have died with it.
const MAX_ELSEWHERE_REQUESTS: u32 = 2;

/// Judges by rule, and lets analysts judge prose criteria.
#[derive(Clone)]
pub struct ManagedAnalyst(AnalystService);

impl ManagedAnalyst {
    /// Creates an analyst backed by `analysts`.
    pub fn new(analysts: AnalystService) -> Self {
        Self(analysts)
    }
}

#[async_trait]
impl Analyst for ManagedAnalyst {
    async fn examine(&self, case: &VerificationCase) -> Result<AnalystOpinion, AnalystError> {
        let by_rule = RuleAnalyst.examine(case).await?;
        let AnalystOpinion::Verdict(verdict) = by_rule else { return Ok(by_rule) };
        let needs_analyst = verdict.status == VerdictStatus::Unclear;
        if !needs_analyst {
            return Ok(AnalystOpinion::Verdict(verdict));
        }
        match self.0.unavailable_reason() {
            Some(reason) => {
                Ok(AnalystOpinion::Verdict(merge_findings(verdict, &BTreeMap::new(), Some(reason))))
            }
            None => self.0.judge_with_findings(case, verdict).await,
        }
    }
}

impl AnalystService {
    async fn judge_with_findings(
        &self,
        case: &VerificationCase,
        verdict: Verdict,
    ) -> Result<AnalystOpinion, AnalystError> {
        let job = case.job;
        let found = self.load_findings(case).await?;
        if found.len() >= prose_criteria(&case.criteria).len() {
            self.lock_slots().remove(&job);
            return Ok(AnalystOpinion::Verdict(merge_findings(verdict, &found, None)));
        }
        let seat = self.claim_slot(case);
        let waiting_for = match seat {
            Some(VerificationSlot::Finished(reason, _)) => {
                // The analyst may have written findings since they were loaded.
                let found = self.load_findings(case).await?;
                self.lock_slots().remove(&job);
                return Ok(AnalystOpinion::Verdict(merge_findings(verdict, &found, Some(&reason))));
            }
            Some(VerificationSlot::Running | VerificationSlot::RunningElsewhere(..)) => {
                "an analyst"
            }
            Some(VerificationSlot::Requesting) | None => {
                "the project manager to request an analyst"
            }
        };
        Ok(AnalystOpinion::Pending { waiting_for: waiting_for.to_owned() })
    }

    /// Loads the findings of analysts about each criterion.
    async fn load_findings(
        &self,
        case: &VerificationCase,
    ) -> Result<BTreeMap<usize, cynode_store::StoredFinding>, AnalystError> {
        let (task, verification) = (case.task, case.verification());
        let found: Result<_, cynode_store::Error> = self
            .store
            .read(move |tx| Box::pin(load_criterion_findings(tx, task, verification)))
            .await;
        found.map_err(|error| AnalystError::Failed(Box::new(error)))
    }

    /// Returns the state of the verification; asks the project manager if there is none.
    fn claim_slot(&self, case: &VerificationCase) -> Option<VerificationSlot> {
        let mut seats = self.lock_slots();
        let has_room = has_free_slot(&mut seats);
        let before = match seats.get(&case.job) {
            Some(VerificationSlot::RunningElsewhere(until, request))
                if *until <= Instant::now() =>
            {
                *request
            }
            Some(seat) => return Some(seat.clone()),
            None => 0,
        };
        if before >= MAX_ELSEWHERE_REQUESTS {
            return Some(VerificationSlot::finished("the analyst wrote no findings"));
        }
        if !has_room {
            // Wait for a free slot: criteria that were not judged are not accepted.
            return None;
        }
        seats.insert(case.job, VerificationSlot::Requesting);
        let (analysts, case) = (self.clone(), case.clone());
        self.background.spawn_until_finish("verification", async move {
            let work = analysts.request_analyst(&case, before);
            analysts.run_in_slot(case.job, VerificationSlot::Requesting, work).await;
        });
        None
    }

    /// Asks the project manager; `before` counts the earlier requests of analysts elsewhere.
    async fn request_analyst(&self, case: &VerificationCase, before: u32) {
        let outcome = self.send_verify_handoff(case).await;
        let mut seats = self.lock_slots();
        let is_asking = seats.get(&case.job) == Some(&VerificationSlot::Requesting);
        let next = match outcome {
            Ok(VerifyOutcome::AnalystRequested { is_looking }) => {
                let times = before + u32::from(!is_looking);
                Some(VerificationSlot::RunningElsewhere(
                    Instant::now() + self.options.timeout,
                    times,
                ))
            }
            Ok(VerifyOutcome::Unchecked { reason }) => Some(VerificationSlot::finished(reason)),
            // The waiting request retries: criteria that were not judged are not accepted.
            Ok(VerifyOutcome::Later { .. })
            | Err(HandoffError::Busy { .. } | HandoffError::Store(_)) => None,
            Err(error) => {
                tracing::warn!(
                    task.id = %case.task, error = &error as &dyn std::error::Error,
                    "analyst request failed"
                );
                Some(VerificationSlot::finished(error.to_string()))
            }
        };
        // An analyst that runs or has finished sets the state itself.
        match next {
            Some(next) if is_asking => drop(seats.insert(case.job, next)),
            None if is_asking => drop(seats.remove(&case.job)),
            Some(_) | None => {}
        }
        drop(seats);
        self.signals.send(Topic::Results);
    }

    async fn send_verify_handoff(
        &self,
        case: &VerificationCase,
    ) -> Result<VerifyOutcome, HandoffError> {
        let (task, user) = (case.task, case.user);
        let (caller, trace) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let run = tx.run_of_task(task).await?;
                    let trace = run.map(|run| run.trace.to_string()).unwrap_or_default();
                    Ok::<_, cynode_store::Error>((
                        cynode_execution::workflow::task_owner(tx, user).await?,
                        trace,
                    ))
                })
            })
            .await?;
        let (task, run) = (Some(case.task), Some(case.run));
        let subject = HandoffSubject { task, run, ..HandoffSubject::for_caller(caller, trace) };
        let body = build_verify_handoff(
            case.job,
            case.step_index,
            case.attempt,
            prose_criteria(&case.criteria),
            case.evidence.clone(),
        );
        let mut tries = 1;
        loop {
            match self.handoffs.verify(&subject, body.clone()).await {
                // The project manager may be restarting, and a repeated request is idempotent.
                answer if tries < MAX_ATTEMPTS && is_retryable(&answer) => {
                    tokio::time::sleep(RETRY_DELAY).await;
                    tries += 1;
                }
                answer => return answer.map(|answer| answer.outcome),
            }
        }
    }
}

/// Whether a retry may have another result.
fn is_retryable(answer: &Result<VerifyAnswer, HandoffError>) -> bool {
    match answer {
        Ok(answer) => matches!(answer.outcome, VerifyOutcome::Later { .. }),
        Err(error) => error.is_retryable(),
    }
}

/// Replaces the unchecked findings of a rule verdict with the findings of analysts.
fn merge_findings(
    verdict: Verdict,
    found: &BTreeMap<usize, cynode_store::StoredFinding>,
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
            (Some(found), _) => finding_of_analyst(found),
            (None, Some(reason)) => {
                Finding { message: format!("{} ({reason})", finding.message), ..finding }
            }
            (None, None) => finding,
        }
    });
    Verdict::from_findings(findings.collect())
}

fn finding_of_analyst(found: &cynode_store::StoredFinding) -> Finding {
    let status = match found.status {
        Found::Pass => FindingStatus::Pass,
        Found::Fail => FindingStatus::Fail,
        // The analyst asks for clarification, which differs from an unchecked criterion.
        Found::NeedsClarification if cynode_fault::fault!("WFL-08") => FindingStatus::Pass,
        Found::NeedsClarification => FindingStatus::Unclear,
    };
    let suggestion = found.suggestion.clone().filter(|_| status == FindingStatus::Fail);
    Finding { rule: ANALYST_RULE.to_owned(), status, message: found.message.clone(), suggestion }
}

#[cfg(test)]
mod tests {
    use cynode_domain::finding::{FindingAuthor, Severity};
    use cynode_domain::ids::{FindingId, JobId, TaskId, UserId};
    use cynode_store::{FindingAuthorship, FindingSubject};

    use super::*;

    fn finding_with_status(status: Found) -> cynode_store::StoredFinding {
        cynode_store::StoredFinding {
            id: FindingId::generate(),
            task: TaskId::generate(),
            subject: FindingSubject { job: Some(JobId::generate()), ..FindingSubject::default() },
            status,
            severity: Severity::Info,
            message: "seen".to_owned(),
            location: None,
            suggestion: Some("mend it".to_owned()),
            authorship: FindingAuthorship {
                author: FindingAuthor::Pa,
                token: None,
                user: UserId::generate(),
            },
            verification: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
        }
    }

    fn rule_verdict() -> Verdict {
        Verdict::from_findings(vec![
            Finding::from_rule("exit_code", true, "it ended well".to_owned()),
            Finding::unchecked("it reads well"),
            Finding::unchecked("it is short"),
        ])
    }

    #[test]
    fn what_an_analyst_finds_takes_the_place_of_what_no_rule_could_tell() {
        let all = BTreeMap::from([
            (0, finding_with_status(Found::Pass)),
            (1, finding_with_status(Found::Fail)),
        ]);

        let verdict = merge_findings(rule_verdict(), &all, None);

        let statuses: Vec<_> = verdict.findings.iter().map(|finding| finding.status).collect();
        let expected = [FindingStatus::Pass, FindingStatus::Pass, FindingStatus::Fail];
        assert_eq!(statuses, expected);
        assert_eq!(verdict.status, VerdictStatus::Fail);
        assert_eq!(verdict.findings[2].message, "seen");
        assert_eq!(verdict.recommended_actions, ["mend it"]);
    }

    #[test]
    fn what_nobody_judged_stays_unchecked_and_says_why() {
        let some = BTreeMap::from([(0, finding_with_status(Found::Pass))]);

        let verdict = merge_findings(rule_verdict(), &some, Some("no model is configured"));

        assert_eq!(verdict.status, VerdictStatus::Unclear);
        let unchecked: Vec<_> =
            verdict.findings.iter().filter(|f| f.status == FindingStatus::Unchecked).collect();
        assert_eq!(unchecked.len(), 1);
        assert_eq!(unchecked[0].message, "it is short (no model is configured)");
    }

    #[test]
    fn an_analyst_who_asks_lets_nothing_pass() {
        let request = BTreeMap::from([
            (0, finding_with_status(Found::NeedsClarification)),
            (1, finding_with_status(Found::Pass)),
        ]);

        let verdict = merge_findings(rule_verdict(), &request, None);

        assert_eq!(verdict.status, VerdictStatus::Unclear);
        let unclear: Vec<_> = verdict.open().collect();
        assert_eq!((unclear.len(), unclear[0].message.as_str()), (1, "seen"));
    }
}
