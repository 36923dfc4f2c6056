//! Having a step's result judged, and putting on record what was found.
//!
//! An [`Analyst`](super::analyst::Analyst) judges what the database says about the job, never what the
//! runner says about it. Verdict and findings are written in one transaction under the caller's lease;
//! the verdict goes into the run's journal under step and attempt, so that asking again gives the same
//! one and doubles nothing.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::criteria::{Criterion, sharpened};
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity, at_criterion};
use cynode_domain::ids::RunId;
use cynode_domain::verdict::{self, ASKS_UNJUDGED_SINCE, BY_ANALYST, Verdict, VerdictStatus};
use cynode_runtime::failpoint;
use cynode_store::{
    Effect, Finder, FindingPlace, Job, JobStore, StepVerdict, TaskStore, Tx, VerdictStore,
    WorkflowStore,
};
use cynode_wire::findings::CreateFinding;
use cynode_wire::workflow::{Hold, VerificationView, VerifyStep};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::analyst::{AnalystError, Case, Opinion};
use super::check::{Checks, run as run_check};
use super::evidence::{RunFiles, evidence};
use super::make::names_step;
use super::settle::{by_preference, round};
use super::{MAX_WAIT_MS, Workflow, WorkflowError, check, held_now, task_of};
use crate::findings;
use crate::signals::Topic;

/// What is known when a verdict is asked for.
enum Known {
    /// The verdict that was given before.
    Verdict(Verdict),
    /// A check has not ended.
    Waiting(String),
    /// Everything that an analyst needs.
    Case(Box<Case>),
}

impl Workflow {
    /// Judges the result of a job that has ended; waits for the verdict as long as the request says.
    pub async fn verify(&self, request: VerifyStep) -> Result<VerificationView, WorkflowError> {
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.listen(Topic::Results);
        let (hold, request) = (request.hold, Arc::new(request));
        failpoint::hit("verify_arrived", "verify_step_result");
        loop {
            let asked = Arc::clone(&request);
            let known = self.store.read(move |tx| Box::pin(look(tx, asked))).await?;
            let waiting_for = match known {
                Known::Verdict(verdict) => return Ok(verdict.into()),
                Known::Waiting(waiting_for) => waiting_for,
                Known::Case(case) => match self.analyst.examine(&case).await? {
                    Opinion::Verdict(verdict) => {
                        match self.conclude(&request, *case, verdict).await? {
                            Some(verdict) => return Ok(verdict.into()),
                            None => continue,
                        }
                    }
                    Opinion::Check { command } => {
                        self.check(hold, *case, command).await?;
                        continue;
                    }
                    Opinion::Later { waiting_for } => waiting_for,
                },
            };
            if !listener.wait(deadline).await {
                return Ok(VerificationView { verdict: None, waiting_for: Some(waiting_for) });
            }
        }
    }

    async fn check(&self, hold: Hold, case: Case, command: String) -> Result<(), WorkflowError> {
        let asked = (command, self.placer.placing());
        let made = self
            .store
            .write(move |tx| Box::pin(async move { run_check(tx, hold, &case, asked).await }))
            .await?;
        self.placer.ask(made.asked);
        self.signals.send(Topic::Jobs);
        Ok(())
    }

    /// Puts verdict and findings on record, unless another call was faster: then gives its verdict.
    /// Nothing if the criteria that it rests on are no longer those of the task.
    async fn conclude(
        &self,
        request: &Arc<VerifyStep>,
        case: Case,
        verdict: Verdict,
    ) -> Result<Option<Verdict>, WorkflowError> {
        let now = self.clock.now();
        let request = Arc::clone(request);
        failpoint::hit("verify_judged", "verify_step_result");
        let kept = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    if request.is_last_step && !has_criteria(tx, &request, &case).await? {
                        return Ok(None);
                    }
                    conclude(tx, request.hold, (&case, verdict), now).await.map(Some)
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
            AnalystError::Away(reason) => Self::NoAnalyst(reason),
            AnalystError::Failed(cause) => Self::Judge(cause),
        }
    }
}

/// What the database knows of the step.
async fn look(tx: &mut Tx, request: Arc<VerifyStep>) -> Result<Known, WorkflowError> {
    let hold = request.hold;
    let lease = held_now(tx, hold).await?;
    let job = tx.job_get(request.job_id).await?;
    let job = job.filter(|job| job.asked.task == lease.task && names_step(&job.asked));
    let job = job.ok_or(WorkflowError::NoJob(request.job_id))?;
    if !job.status.is_terminal() {
        return Err(WorkflowError::StillRunning(job.asked.id));
    }
    if let Some(verdict) = judged(tx, hold, (lease.run, &job)).await? {
        return Ok(Known::Verdict(verdict));
    }
    let (step_index, attempt) = (job.asked.step_index, job.asked.attempt);
    let of_step = tx.job_list_step(lease.run, step_index).await?;
    let checks = Checks::among(of_step, lease.run, &job)?;
    if let Some(open) = checks.open {
        return Ok(Known::Waiting(format!("check job {open} of step {}", step_index + 1)));
    }
    let task = task_of(tx, lease.task).await?.asked;
    let job_id = job.asked.id;
    let sequence = tx.checkpoint_position(lease.task).await? + 1;
    Ok(Known::Case(Box::new(Case {
        task: lease.task,
        user: task.created_by,
        run: lease.run,
        job: job_id,
        step_index,
        attempt,
        round: round(tx, lease.run, sequence).await?,
        evidence: evidence(tx, job, checks, RunFiles::for_step(request.is_last_step)).await?,
        owed: request.expected_outputs.clone(),
        criteria: criteria(&request, &task.acceptance_criteria),
    })))
}

/// What the result must meet: the criteria of the step and, for the last step, those of the task.
fn criteria(request: &VerifyStep, of_task: &[Criterion]) -> Vec<Criterion> {
    let mut criteria = sharpened(&request.criteria);
    if request.is_last_step {
        criteria.extend(sharpened(of_task));
    }
    criteria
}

/// The verdict that was given on a job before.
pub(super) async fn judged(
    tx: &mut Tx,
    hold: Hold,
    (run, job): (RunId, &Job),
) -> Result<Option<Verdict>, WorkflowError> {
    let key = key(tx, (hold, run), (job.asked.step_index, job.asked.attempt)).await?;
    tx.effect_get(run, &key).await?.map(read).transpose()
}

/// Where the verdict is kept: by step and attempt, by the transition that it leads to, and by how often a
/// person asked for another one, so that a step that a person has judged anew is.
async fn key(
    tx: &mut Tx,
    (hold, run): (Hold, RunId),
    step: (u32, u32),
) -> Result<String, WorkflowError> {
    let sequence = tx.checkpoint_position(hold.task_id).await? + 1;
    let key = format!("{sequence}/verdict/{}/{}", step.0, step.1);
    let round = round(tx, run, sequence).await?;
    Ok(if round == 0 { key } else { format!("{key}/{round}") })
}

fn read(verdict: Value) -> Result<Verdict, WorkflowError> {
    serde_json::from_value(verdict).map_err(|error| {
        let (column, reason) = ("answer".to_owned(), error.to_string());
        cynode_store::Error::Unreadable { column, reason }.into()
    })
}

/// Whether a case rests on the criteria that its task has now. They change no more until the transaction
/// has ended.
async fn has_criteria(
    tx: &mut Tx,
    request: &VerifyStep,
    case: &Case,
) -> Result<bool, WorkflowError> {
    let task = tx.task_lock(case.task).await?.ok_or(WorkflowError::NoTask(case.task))?;
    Ok(criteria(request, &task.asked.acceptance_criteria) == case.criteria)
}

async fn conclude(
    tx: &mut Tx,
    hold: Hold,
    (case, verdict): (&Case, Verdict),
    now: chrono::DateTime<chrono::Utc>,
) -> Result<Verdict, WorkflowError> {
    // From here on, nobody else concludes for this task.
    let lease = check(tx, hold).await?;
    let key = key(tx, (hold, lease.run), (case.step_index, case.attempt)).await?;
    if let Some(known) = tx.effect_get(lease.run, &key).await? {
        return read(known);
    }
    let task = task_of(tx, lease.task).await?;
    let verdict = by_preference(tx, &task, verdict).await?;
    let sequence = tx.checkpoint_position(lease.task).await? + 1;
    tx.effect_record(lease.run, sequence, &Effect { key, answer: json!(verdict) }).await?;
    if matches!(verdict.status, VerdictStatus::Unclear | VerdictStatus::Unverified) {
        // An older runner would take a condition that nobody judged for one that is met.
        tx.run_raise_version(lease.run, ASKS_UNJUDGED_SINCE).await?;
    }
    let (run, job) = (case.run, case.job);
    let kept = StepVerdict { run, job, task: lease.task, verdict: verdict.clone() };
    tx.verdict_put(&kept).await?;
    let room = findings::room(tx, lease.task).await?;
    if room < verdict.findings.len() {
        // The verdict in the run's state has them all.
        tracing::warn!(task.id = %lease.task, "a task has too many findings: some are not listed");
    }
    let place = FindingPlace { run: Some(run), job: Some(job), step_index: Some(case.step_index) };
    let by = Finder { author: FindingAuthor::Rule, token: None, user: case.user };
    for request in by_rules(&verdict).take(room) {
        findings::New { place, by, now, request, verification: None }.insert(tx, &task).await?;
    }
    Ok(verdict)
}

/// The findings of a verdict that analysts have not written themselves. A criterion that nobody judged is
/// located by its place among those that no rule can check, as analysts locate theirs.
fn by_rules(verdict: &Verdict) -> impl Iterator<Item = CreateFinding> {
    let mut prose = 0;
    let located = verdict.findings.iter().map(move |finding| {
        let location = if finding.is_prose() { at_criterion(prose) } else { finding.rule.clone() };
        prose += usize::from(finding.is_prose());
        (finding, location)
    });
    let others = located.filter(|(finding, _)| finding.rule != BY_ANALYST);
    others.map(|(finding, location)| on_record(finding, location))
}

/// A finding of a verdict as it is kept for people.
fn on_record(finding: &verdict::Finding, location: String) -> CreateFinding {
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
        message: findings::fit(&finding.message),
        location: Some(location),
        suggestion: finding.suggestion.as_deref().map(findings::fit),
        step_index: None,
        job_id: None,
    }
}
