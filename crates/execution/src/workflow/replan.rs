//! Replanning of rejected steps by the project manager.
//!
//! The findings about the attempt are read from the database, never from the runner, and handed over with the
//! evidence. Every answer is bounded here: a command given by a person is kept, a command that was tried already is
//! rejected, and a run is replanned at most `MAX_REPLANS` times. An answer that keeps the command has a reason.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::finding::FindingStatus;
use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::plan::StepAuthor;
use cynode_domain::suspension::{AUTHORED_BY_PERSON, MAX_REPLANS, REPLANNING_GRAPH_VERSION};
use cynode_domain::verdict::VerdictStatus;
use cynode_store::{Job, Tx};
use cynode_wire::continuing::NO_MANAGER;
use cynode_wire::handoff::{FindingNote, ReplanAnswer, ReplanHandoff, ReplanOutcome};
use cynode_wire::replanning::{ReplanStep, ReplanView};
use tokio::time::Instant;

use super::check::{CHECK_FACTOR, command_of_job};
use super::continuation::lowercase_first;
use super::evidence::{EvidenceScope, load_evidence, shorten_output};
use super::inflight::{InFlightCache, retry_unreachable};
use super::job_creation::is_step_attempt;
use super::plan::{describe_handoff_error, is_runnable};
use super::plan_state::load_planned_step;
use super::verify::load_verdict;
use super::{MAX_WAIT_MS, WorkflowError, WorkflowService, load_task, read_lease};
use crate::{handoff::HandoffError, handoff::HandoffService, handoff::HandoffSubject};
use cynode_resources::Signals;
use cynode_resources::signals::Topic;

/// Prefix of the effect key under which the runner journals a revision, before the job id.
const REPLAN: &str = "replan";
/// How many findings of a task are read, newest first, and how many of those are handed over.
const READ_FINDINGS: u32 = 1000;
const MAX_FINDINGS: usize = 50;

/// Has rejected steps replanned by the project manager.
#[derive(Clone)]
pub(crate) struct StepReplanner {
    handoffs: HandoffService,
    answers: InFlightCache<JobId, ReplanView>,
}

impl StepReplanner {
    pub(super) fn new(handoffs: HandoffService, signals: Signals) -> Self {
        Self { handoffs, answers: InFlightCache::new(signals) }
    }

    async fn compute(self, request: ReplanRequest) -> ReplanView {
        let ReplanRequest { subject, body, needs_approval, .. } = request;
        let answer = retry_unreachable(|| self.handoffs.replan(&subject, body.clone())).await;
        if let Err(error) = &answer {
            tracing::warn!(
                task.id = ?subject.task, error = error as &dyn std::error::Error,
                "replanning handoff failed"
            );
        }
        validate_answer(answer, &body.tried, needs_approval)
    }
}

/// Whether a rule or the project manager decides.
enum ReplanCase {
    /// A rule keeps the command; the reason.
    Kept(String),
    NeedsManager(Box<ReplanRequest>),
}

struct ReplanRequest {
    run: RunId,
    subject: HandoffSubject,
    body: ReplanHandoff,
    needs_approval: bool,
}

impl WorkflowService {
    /// Has the step of a rejected job replanned; waits up to `wait_ms` for the answer.
    pub async fn replan_step(&self, request: ReplanStep) -> Result<ReplanView, WorkflowError> {
        let Some(replanner) = self.replanner.clone().filter(|r| r.handoffs.is_configured()) else {
            return Ok(ReplanView::Kept { reason: NO_MANAGER.to_owned() });
        };
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.subscribe(Topic::Results);
        let request = Arc::new(request);
        loop {
            let shared = Arc::clone(&request);
            let open = match self.store.read(move |tx| Box::pin(load_request(tx, shared))).await? {
                ReplanCase::Kept(reason) => return Ok(ReplanView::Kept { reason }),
                ReplanCase::NeedsManager(open) => *open,
            };
            let run = open.run;
            let making = replanner.clone().compute(open);
            if let Some(view) = replanner.answers.get_or_start(request.job_id, making) {
                if matches!(view, ReplanView::Replanned { .. }) {
                    // Committed before the answer is returned: an older runner would drop the author of the command.
                    let raise = self.store.write(move |tx| {
                        Box::pin(async move {
                            tx.run_require_version(run, REPLANNING_GRAPH_VERSION).await
                        })
                    });
                    raise.await?;
                }
                return Ok(view);
            }
            if !listener.wait(deadline).await {
                let waiting_for = "the project manager to replan the step".to_owned();
                return Ok(ReplanView::Waiting { waiting_for });
            }
        }
    }
}

/// Loads the request; fails unless the caller holds the task.
async fn load_request(tx: &mut Tx, request: Arc<ReplanStep>) -> Result<ReplanCase, WorkflowError> {
    let token = request.lease;
    let lease = read_lease(tx, token).await?;
    let job = tx.job_get(request.job_id).await?;
    let job = job.filter(|job| job.spec.task == lease.task && is_step_attempt(&job.spec));
    let job = job.ok_or(WorkflowError::JobNotFound(request.job_id))?;
    if !job.status.is_terminal() {
        return Err(WorkflowError::JobNotEnded(job.spec.id));
    }
    let verdict = load_verdict(tx, token, lease.run, &job).await?;
    // About an unjudged result the runner asks a person, who may have rejected it.
    let is_open = |status| matches!(status, VerdictStatus::Fail | VerdictStatus::Unclear);
    if !verdict.is_some_and(|verdict| is_open(verdict.status)) {
        return Err(WorkflowError::Invalid("the step was not rejected".to_owned()));
    }
    let journalled = tx.effect_count_others(lease.run, REPLAN, &job.spec.id.to_string()).await?;
    if journalled >= MAX_REPLANS {
        return Ok(ReplanCase::Kept(format!("the run was already replanned {MAX_REPLANS} times")));
    }
    let Some(planned) = load_planned_step(tx, lease.task, job.spec.step_index).await? else {
        return Ok(ReplanCase::Kept("its plan is unknown".to_owned()));
    };
    if planned.step.author == StepAuthor::Person {
        return Ok(ReplanCase::Kept(AUTHORED_BY_PERSON.to_owned()));
    }
    let task = load_task(tx, lease.task).await?.spec;
    let subject = HandoffSubject::for_task(tx, &task, lease.run).await?;
    let (step_index, attempt) = (job.spec.step_index, job.spec.attempt);
    let (findings, tried) =
        (load_findings(tx, task.id, job.spec.id).await?, load_tried_commands(tx, &job).await?);
    let files = EvidenceScope::for_step(planned.is_last);
    let evidence = shorten_output(load_evidence(tx, job, files).await?);
    if !is_replannable(&evidence.ending) {
        return Ok(ReplanCase::Kept("its command did not finish".to_owned()));
    }
    let body = ReplanHandoff {
        step_index,
        attempt,
        request: task.prompt,
        tried,
        findings,
        evidence,
        expected_outputs: planned.step.expected_outputs,
    };
    let needs_approval = task.options.approve_plan;
    Ok(ReplanCase::NeedsManager(Box::new(ReplanRequest {
        run: lease.run,
        subject,
        body,
        needs_approval,
    })))
}

/// Whether another command may succeed after this ending.
const fn is_replannable(ending: &JobEnding) -> bool {
    match ending {
        JobEnding::Exited { .. } | JobEnding::TimedOut | JobEnding::LimitReached { .. } => true,
        JobEnding::Canceled | JobEnding::Interrupted { .. } | JobEnding::NotStarted { .. } => false,
    }
}

/// Loads the findings about a job that did not pass, oldest first.
async fn load_findings(
    tx: &mut Tx,
    task: TaskId,
    job: JobId,
) -> Result<Vec<FindingNote>, cynode_store::Error> {
    let found = tx.finding_list(task, None, READ_FINDINGS).await?.into_iter();
    let open = found.filter(|finding| {
        finding.subject.job == Some(job) && finding.status != FindingStatus::Pass
    });
    let mut notes: Vec<_> = open
        .take(MAX_FINDINGS)
        .map(|finding| FindingNote {
            status: finding.status,
            message: finding.message,
            location: finding.location,
            suggestion: finding.suggestion,
        })
        .collect();
    notes.reverse();
    Ok(notes)
}

/// Loads the commands that were run at the step of this job so far, oldest first; its own is the last.
async fn load_tried_commands(tx: &mut Tx, job: &Job) -> Result<Vec<String>, cynode_store::Error> {
    let mut jobs = tx.job_list_step(job.spec.run, job.spec.step_index).await?;
    jobs.retain(|other| {
        other.spec.attempt < CHECK_FACTOR && other.spec.attempt <= job.spec.attempt
    });
    jobs.sort_by_key(|other| other.spec.attempt);
    if !jobs.iter().any(|other| other.spec.id == job.spec.id) {
        // A run that was retried from this step verifies the job of its parent run.
        jobs.push(job.clone());
    }
    Ok(jobs.iter().filter_map(|job| command_of_job(job).ok()).collect())
}

fn validate_answer(
    answer: Result<ReplanAnswer, HandoffError>,
    tried: &[String],
    needs_approval: bool,
) -> ReplanView {
    let kept = |reason: &str| ReplanView::Kept { reason: reason.to_owned() };
    let ReplanAnswer { outcome, reason, .. } = match answer {
        Ok(answer) => answer,
        Err(error) => {
            return ReplanView::Kept { reason: lowercase_first(&describe_handoff_error(&error)) };
        }
    };
    let line = match outcome {
        ReplanOutcome::Kept {} => return ReplanView::Kept { reason },
        ReplanOutcome::Replanned { command } => command,
    };
    if tried.iter().any(|before| before.trim() == line.trim()) {
        return kept("the project manager proposed a command that was tried already");
    }
    let action = Action::Command { line };
    if !is_runnable(&action) {
        return kept("the project manager proposed an invalid command");
    }
    ReplanView::Replanned { action, reason, needs_approval }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replan_with(command: &str) -> ReplanView {
        let outcome = ReplanOutcome::Replanned { command: command.to_owned() };
        let reason = "it prints more".to_owned();
        let answer = ReplanAnswer { outcome, reason, decisions: vec![] };
        validate_answer(Ok(answer), &["make".to_owned(), "make all".to_owned()], false)
    }

    #[test]
    fn a_command_that_was_tried_or_cannot_be_run_is_no_new_plan() {
        for command in ["make", " make all\n", "", "  ", "a\0b"] {
            let view = replan_with(command);
            assert!(matches!(view, ReplanView::Kept { .. }), "{command:?} {view:?}");
        }
        let ReplanView::Replanned { action, .. } = replan_with("make more") else { panic!() };
        assert_eq!(action, Action::Command { line: "make more".to_owned() });
    }

    #[test]
    fn a_manager_that_is_away_keeps_the_command_and_the_reason_is_on_record() {
        let away = Err(HandoffError::Unreachable("gone".to_owned()));

        let view = validate_answer(away, &[], false);

        let reason = "the project manager cannot be reached".to_owned();
        assert_eq!(view, ReplanView::Kept { reason });
    }
}
