//! Verification of a step's result.
//!
//! An [`Analyst`](super::analyst::Analyst) judges the evidence in the database, never the statements of the runner.
//! Verdict and findings are written in one transaction under the caller's lease; the verdict is journalled under
//! step and attempt, so that a repeated request returns the same verdict and writes nothing twice.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::criteria::{Criterion, refine_criteria};
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity, criterion_location};
use cynode_domain::ids::RunId;
use cynode_domain::verdict::{
    self, ANALYST_RULE, ASKS_UNJUDGED_GRAPH_VERSION, Verdict, VerdictStatus,
};
use cynode_runtime::failpoint;
use cynode_store::{Effect, FindingAuthorship, FindingSubject, Job, StepVerdict, Tx};
use cynode_wire::findings::CreateFinding;
use cynode_wire::workflow::{LeaseToken, VerificationView, VerifyStep};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::analyst::{AnalystError, AnalystOpinion, VerificationCase};
use super::check::{AttemptChecks, create_check_job};
use super::evidence::{EvidenceScope, load_evidence_with_checks};
use super::job_creation::is_step_attempt;
use super::unjudged_criteria::{apply_preference, round};
use super::{MAX_WAIT_MS, WorkflowError, WorkflowService, check_lease, load_task, read_lease};
use crate::findings;
use cynode_resources::signals::Topic;

/// The state of a verification.
enum VerificationState {
    /// An earlier call has concluded.
    Verdict(Verdict),
    /// A check job is still open.
    Waiting(String),
    Case(Box<VerificationCase>),
}

impl WorkflowService {
    /// Judges the result of an ended job; waits up to `wait_ms` for the verdict.
    pub async fn verify_step(
        &self,
        request: VerifyStep,
    ) -> Result<VerificationView, WorkflowError> {
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.subscribe(Topic::Results);
        let (token, request) = (request.lease, Arc::new(request));
        failpoint::hit("verify_arrived", "verify_step_result");
        loop {
            let shared = Arc::clone(&request);
            let known =
                self.store.read(move |tx| Box::pin(load_verification_state(tx, shared))).await?;
            let waiting_for = match known {
                VerificationState::Verdict(verdict) => return Ok(verdict.into()),
                VerificationState::Waiting(waiting_for) => waiting_for,
                VerificationState::Case(case) => match self.analyst.examine(&case).await? {
                    AnalystOpinion::Verdict(verdict) => {
                        match self.record_verdict(&request, *case, verdict).await? {
                            Some(verdict) => return Ok(verdict.into()),
                            None => continue,
                        }
                    }
                    AnalystOpinion::NeedsCheck { command } => {
                        self.start_check(token, *case, command).await?;
                        continue;
                    }
                    AnalystOpinion::Pending { waiting_for } => waiting_for,
                },
            };
            if !listener.wait(deadline).await {
                return Ok(VerificationView { verdict: None, waiting_for: Some(waiting_for) });
            }
        }
    }

    async fn start_check(
        &self,
        token: LeaseToken,
        case: VerificationCase,
        command: String,
    ) -> Result<(), WorkflowError> {
        let placing = self.placer.assignment_pass();
        let made = self
            .store
            .write(move |tx| {
                Box::pin(async move { create_check_job(tx, token, &case, command, placing).await })
            })
            .await?;
        self.placer.ask(made.awaiting_placement);
        self.signals.send(Topic::Jobs);
        Ok(())
    }

    /// Records verdict and findings, or returns the verdict of a concurrent call that committed first. `None` if the
    /// criteria of the task have changed since the case was loaded.
    async fn record_verdict(
        &self,
        request: &Arc<VerifyStep>,
        case: VerificationCase,
        verdict: Verdict,
    ) -> Result<Option<Verdict>, WorkflowError> {
        let now = self.clock.now();
        let request = Arc::clone(request);
        failpoint::hit("verify_judged", "verify_step_result");
        let kept = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    if request.is_last_step && !has_current_criteria(tx, &request, &case).await? {
                        return Ok(None);
                    }
                    persist_verdict(tx, request.lease, &case, verdict, now).await.map(Some)
                })
            })
            .await?;
        failpoint::hit("verify_committed", "verify_step_result");
        self.signals.send(Topic::Events);
        Ok(kept)
    }
}

impl From<AnalystError> for WorkflowError {
    fn from(error: AnalystError) -> Self {
        match error {
            AnalystError::Unavailable(reason) => Self::AnalystUnavailable(reason),
            AnalystError::Failed(cause) => Self::VerificationFailed(cause),
        }
    }
}

/// Loads the state of the verification.
async fn load_verification_state(
    tx: &mut Tx,
    request: Arc<VerifyStep>,
) -> Result<VerificationState, WorkflowError> {
    let token = request.lease;
    let lease = read_lease(tx, token).await?;
    let job = tx.job_get(request.job_id).await?;
    let job = job.filter(|job| job.spec.task == lease.task && is_step_attempt(&job.spec));
    let job = job.ok_or(WorkflowError::JobNotFound(request.job_id))?;
    if !job.status.is_terminal() {
        return Err(WorkflowError::JobNotEnded(job.spec.id));
    }
    if let Some(verdict) = load_verdict(tx, token, lease.run, &job).await? {
        return Ok(VerificationState::Verdict(verdict));
    }
    let (step_index, attempt) = (job.spec.step_index, job.spec.attempt);
    let of_step = tx.job_list_step(lease.run, step_index).await?;
    let checks = AttemptChecks::select(of_step, lease.run, &job)?;
    if let Some(open) = checks.open {
        return Ok(VerificationState::Waiting(format!(
            "check job {open} of step {}",
            step_index + 1
        )));
    }
    let task = load_task(tx, lease.task).await?.spec;
    let job_id = job.spec.id;
    let sequence = tx.checkpoint_position(lease.task).await? + 1;
    Ok(VerificationState::Case(Box::new(VerificationCase {
        task: lease.task,
        user: task.created_by,
        run: lease.run,
        job: job_id,
        step_index,
        attempt,
        round: round(tx, lease.run, sequence).await?,
        evidence: load_evidence_with_checks(
            tx,
            job,
            checks,
            EvidenceScope::for_step(request.is_last_step),
        )
        .await?,
        expected_outputs: request.expected_outputs.clone(),
        criteria: criteria_of_step(&request, &task.acceptance_criteria),
    })))
}

/// The criteria of the step and, for the last step, those of the task.
fn criteria_of_step(request: &VerifyStep, of_task: &[Criterion]) -> Vec<Criterion> {
    let mut criteria = refine_criteria(&request.criteria);
    if request.is_last_step {
        criteria.extend(refine_criteria(of_task));
    }
    criteria
}

/// Loads the journalled verdict on a job.
pub(super) async fn load_verdict(
    tx: &mut Tx,
    token: LeaseToken,
    run: RunId,
    job: &Job,
) -> Result<Option<Verdict>, WorkflowError> {
    let key = verdict_key(tx, token, run, job.spec.step_index, job.spec.attempt).await?;
    tx.effect_get(run, &key).await?.map(parse_verdict).transpose()
}

/// The effect key of a verdict: transition, step, attempt and, if a person requested another verification, its
/// round.
async fn verdict_key(
    tx: &mut Tx,
    token: LeaseToken,
    run: RunId,
    step_index: u32,
    attempt: u32,
) -> Result<String, WorkflowError> {
    let sequence = tx.checkpoint_position(token.task_id).await? + 1;
    let key = format!("{sequence}/verdict/{step_index}/{attempt}");
    let round = round(tx, run, sequence).await?;
    Ok(if round == 0 { key } else { format!("{key}/{round}") })
}

fn parse_verdict(verdict: Value) -> Result<Verdict, WorkflowError> {
    serde_json::from_value(verdict).map_err(|error| {
        let (column, reason) = ("answer".to_owned(), error.to_string());
        cynode_store::Error::Unreadable { column, reason }.into()
    })
}

/// Whether the case has the current criteria of its task. Locks the task, so that they do not change until the
/// transaction ends.
async fn has_current_criteria(
    tx: &mut Tx,
    request: &VerifyStep,
    case: &VerificationCase,
) -> Result<bool, WorkflowError> {
    let task = tx.task_lock(case.task).await?.ok_or(WorkflowError::TaskNotFound(case.task))?;
    Ok(criteria_of_step(request, &task.spec.acceptance_criteria) == case.criteria)
}

async fn persist_verdict(
    tx: &mut Tx,
    token: LeaseToken,
    case: &VerificationCase,
    verdict: Verdict,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<Verdict, WorkflowError> {
    // The lock on the lease serialises conclusions for this task.
    let lease = check_lease(tx, token).await?;
    let key = verdict_key(tx, token, lease.run, case.step_index, case.attempt).await?;
    if let Some(known) = tx.effect_get(lease.run, &key).await? {
        return parse_verdict(known);
    }
    let task = load_task(tx, lease.task).await?;
    let verdict = apply_preference(tx, &task, verdict).await?;
    let sequence = tx.checkpoint_position(lease.task).await? + 1;
    tx.effect_record(lease.run, sequence, &Effect { key, answer: json!(verdict) }).await?;
    if matches!(verdict.status, VerdictStatus::Unclear | VerdictStatus::Unverified) {
        // An older runner would treat an unjudged criterion as met.
        tx.run_require_version(lease.run, ASKS_UNJUDGED_GRAPH_VERSION).await?;
    }
    let (run, job) = (case.run, case.job);
    let kept = StepVerdict { run, job, task: lease.task, verdict: verdict.clone() };
    tx.verdict_put(&kept).await?;
    let room = findings::remaining_findings(tx, lease.task).await?;
    if room < verdict.findings.len() {
        // The verdict in the state of the run has all findings.
        tracing::warn!(task.id = %lease.task, "too many findings: some not recorded");
    }
    let subject =
        FindingSubject { run: Some(run), job: Some(job), step_index: Some(case.step_index) };
    let by = FindingAuthorship { author: FindingAuthor::Rule, token: None, user: case.user };
    for request in rule_findings(&verdict).take(room) {
        findings::FindingDraft { subject, by, now, request, verification: None }
            .insert(tx, &task)
            .await?;
    }
    Ok(verdict)
}

/// The findings of a verdict that were not written by analysts. The location of an unjudged criterion is its index
/// among the prose criteria, as in findings of analysts.
fn rule_findings(verdict: &Verdict) -> impl Iterator<Item = CreateFinding> {
    let mut prose = 0;
    let located = verdict.findings.iter().map(move |finding| {
        let location =
            if finding.is_prose() { criterion_location(prose) } else { finding.rule.clone() };
        prose += usize::from(finding.is_prose());
        (finding, location)
    });
    let others = located.filter(|(finding, _)| finding.rule != ANALYST_RULE);
    others.map(|(finding, location)| recorded_finding(finding, location))
}

/// Converts a finding of a verdict to a recorded finding.
fn recorded_finding(finding: &verdict::Finding, location: String) -> CreateFinding {
    let (status, severity) = match finding.status {
        verdict::FindingStatus::Pass => (FindingStatus::Pass, Severity::Info),
        verdict::FindingStatus::Fail => (FindingStatus::Fail, Severity::Error),
        verdict::FindingStatus::Unchecked | verdict::FindingStatus::Unclear => {
            (FindingStatus::NeedsClarification, Severity::Warning)
        }
    };
    CreateFinding {
        status,
        severity,
        message: findings::sanitize_finding_text(&finding.message),
        location: Some(location),
        suggestion: finding.suggestion.as_deref().map(findings::sanitize_finding_text),
        step_index: None,
        job_id: None,
    }
}
