//! Having the project manager plan a step anew whose result was not accepted.
//!
//! What was found about the attempt is read from the database, never told by the runner, and handed over
//! with the evidence. The answer is bounded here, whoever gave it: a person's command stays as it is, a
//! command that was tried already is no new plan, and a run is planned anew a few times only. Every answer
//! that changes nothing says why.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::finding::FindingStatus;
use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::job::{Action, Ending};
use cynode_domain::plan::StepAuthor;
use cynode_domain::standstill::{GIVEN_BY_PERSON, MAX_REPLANS, REPLANS_SINCE};
use cynode_domain::verdict::VerdictStatus;
use cynode_store::{FindingStore, Job, JobStore, Tx, WorkflowStore};
use cynode_wire::continuing::NO_MANAGER;
use cynode_wire::handoff::{FindingNote, ReplanAnswer, ReplanHandoff, ReplanOutcome};
use cynode_wire::replanning::{ReplanStep, ReplanView};
use tokio::time::Instant;

use super::beside::{Beside, patiently};
use super::check::{CHECK, command_of};
use super::continuing::lower;
use super::evidence::{RunFiles, evidence_of};
use super::make::names_step;
use super::plan::{in_words, is_sound, owner};
use super::planned::planned_step;
use super::verify::judged;
use super::{MAX_WAIT_MS, Workflow, WorkflowError, held_now, task_of};
use crate::Signals;
use crate::analysts::shortened;
use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::signals::Topic;

/// What the runner calls the effect that keeps what became of a command, before the id of the job.
const REPLAN: &str = "replan";
/// How many findings of a task are read, newest first, and how many of them are handed over.
const READ_FINDINGS: u32 = 1000;
const MAX_FINDINGS: usize = 50;

/// Has steps planned anew.
#[derive(Clone)]
pub(crate) struct Replanner {
    handoffs: Handoffs,
    answers: Beside<JobId, ReplanView>,
}

impl Replanner {
    pub(crate) fn new(handoffs: Handoffs, signals: Signals) -> Self {
        Self { handoffs, answers: Beside::new(signals) }
    }

    async fn make(self, request: Request) -> ReplanView {
        let Request { subject, body, needs_approval, .. } = request;
        let answer = patiently(|| self.handoffs.replan(&subject, body.clone())).await;
        if let Err(error) = &answer {
            tracing::warn!(
                task.id = ?subject.task, error = error as &dyn std::error::Error,
                "the project manager did not plan a step anew"
            );
        }
        settle_answer(answer, &body.tried, needs_approval)
    }
}

/// What is known when a step is to be planned anew.
enum Known {
    /// A rule keeps the command, and why.
    Kept(String),
    /// The project manager decides.
    Open(Box<Request>),
}

struct Request {
    run: RunId,
    subject: Subject,
    body: ReplanHandoff,
    needs_approval: bool,
}

impl Workflow {
    /// Has the step of a job planned anew whose result was not accepted; waits for the answer as long as
    /// the request says.
    pub async fn replan(&self, request: ReplanStep) -> Result<ReplanView, WorkflowError> {
        let Some(replanner) = self.replanner.clone().filter(|r| r.handoffs.is_configured()) else {
            return Ok(ReplanView::Kept { reason: NO_MANAGER.to_owned() });
        };
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.listen(Topic::Results);
        let request = Arc::new(request);
        loop {
            let wanted = Arc::clone(&request);
            let open = match self.store.read(move |tx| Box::pin(load_request(tx, wanted))).await? {
                Known::Kept(reason) => return Ok(ReplanView::Kept { reason }),
                Known::Open(open) => *open,
            };
            let run = open.run;
            let making = replanner.clone().make(open);
            if let Some(view) = replanner.answers.progress(request.job_id, making) {
                if matches!(view, ReplanView::Replanned { .. }) {
                    // Written before the answer is given: an older runner would forget whose command it is.
                    let raise = self.store.write_alone(move |tx| {
                        Box::pin(async move { tx.run_raise_version(run, REPLANS_SINCE).await })
                    });
                    raise.await?;
                }
                return Ok(view);
            }
            if !listener.wait(deadline).await {
                let waiting_for = "the project manager, who plans the step anew".to_owned();
                return Ok(ReplanView::Waiting { waiting_for });
            }
        }
    }
}

/// What the database knows of the step, if the caller holds the task.
async fn load_request(tx: &mut Tx, request: Arc<ReplanStep>) -> Result<Known, WorkflowError> {
    let hold = request.hold;
    let lease = held_now(tx, hold).await?;
    let job = tx.job_get(request.job_id).await?;
    let job = job.filter(|job| job.asked.task == lease.task && names_step(&job.asked));
    let job = job.ok_or(WorkflowError::NoJob(request.job_id))?;
    if !job.status.is_terminal() {
        return Err(WorkflowError::StillRunning(job.asked.id));
    }
    let verdict = judged(tx, hold, (lease.run, &job)).await?;
    // What was not judged, the runner asks a person, who may have said no.
    let is_open = |status| matches!(status, VerdictStatus::Fail | VerdictStatus::Unclear);
    if !verdict.is_some_and(|verdict| is_open(verdict.status)) {
        return Err(WorkflowError::Invalid("the step was not refused".to_owned()));
    }
    let journalled = tx.effects_of_others(lease.run, REPLAN, &job.asked.id.to_string()).await?;
    if journalled >= MAX_REPLANS {
        return Ok(Known::Kept(format!("the run was planned anew {MAX_REPLANS} times already")));
    }
    let Some(planned) = planned_step(tx, lease.task, job.asked.step_index).await? else {
        return Ok(Known::Kept("its plan is not known".to_owned()));
    };
    if planned.step.author == StepAuthor::Person {
        return Ok(Known::Kept(GIVEN_BY_PERSON.to_owned()));
    }
    let task = task_of(tx, lease.task).await?.asked;
    let trace = tx.run_of_task(lease.task).await?.map(|run| run.trace.to_string());
    let subject = Subject {
        project: Some(task.project),
        task: Some(task.id),
        run: Some(lease.run),
        ..Subject::of(owner(tx, task.created_by).await?, trace.unwrap_or_default())
    };
    let (step_index, attempt) = (job.asked.step_index, job.asked.attempt);
    let (findings, tried) =
        (load_findings(tx, task.id, job.asked.id).await?, load_tried_commands(tx, &job).await?);
    let files = RunFiles::for_step(planned.is_last);
    let evidence = shortened(evidence_of(tx, job, files).await?);
    if !may_help(&evidence.ending) {
        return Ok(Known::Kept("its command did not run to its end".to_owned()));
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
    Ok(Known::Open(Box::new(Request { run: lease.run, subject, body, needs_approval })))
}

/// Whether another command may help after one that ended like this.
const fn may_help(ending: &Ending) -> bool {
    match ending {
        Ending::Exited { .. } | Ending::TimedOut | Ending::LimitReached { .. } => true,
        Ending::Canceled | Ending::Interrupted { .. } | Ending::NotStarted { .. } => false,
    }
}

/// What was found about a job's result and is not met, oldest first.
async fn load_findings(
    tx: &mut Tx,
    task: TaskId,
    job: JobId,
) -> Result<Vec<FindingNote>, cynode_store::Error> {
    let found = tx.finding_list(task, None, READ_FINDINGS).await?.into_iter();
    let open = found
        .filter(|finding| finding.place.job == Some(job) && finding.status != FindingStatus::Pass);
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

/// The commands that were run at the step of this job so far, oldest first; its own is the last.
async fn load_tried_commands(tx: &mut Tx, job: &Job) -> Result<Vec<String>, cynode_store::Error> {
    let mut jobs = tx.job_list_step(job.asked.run, job.asked.step_index).await?;
    jobs.retain(|other| other.asked.attempt < CHECK && other.asked.attempt <= job.asked.attempt);
    jobs.sort_by_key(|other| other.asked.attempt);
    if !jobs.iter().any(|other| other.asked.id == job.asked.id) {
        // A run that was retried from here has the job of the run before it judged.
        jobs.push(job.clone());
    }
    Ok(jobs.iter().filter_map(|job| command_of(job).ok()).collect())
}

fn settle_answer(
    answer: Result<ReplanAnswer, HandoffError>,
    tried: &[String],
    needs_approval: bool,
) -> ReplanView {
    let kept = |reason: &str| ReplanView::Kept { reason: reason.to_owned() };
    let ReplanAnswer { outcome, reason, .. } = match answer {
        Ok(answer) => answer,
        Err(error) => return ReplanView::Kept { reason: lower(&in_words(&error)) },
    };
    let line = match outcome {
        ReplanOutcome::Kept {} => return ReplanView::Kept { reason },
        ReplanOutcome::Replanned { command } => command,
    };
    if tried.iter().any(|before| before.trim() == line.trim()) {
        return kept("the project manager proposed a command that was tried already");
    }
    let action = Action::Command { line };
    if !is_sound(&action) {
        return kept("the command that the project manager proposed cannot be run");
    }
    ReplanView::Replanned { action, reason, needs_approval }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(command: &str) -> ReplanView {
        let outcome = ReplanOutcome::Replanned { command: command.to_owned() };
        let reason = "it prints more".to_owned();
        let answer = ReplanAnswer { outcome, reason, decisions: vec![] };
        settle_answer(Ok(answer), &["make".to_owned(), "make all".to_owned()], false)
    }

    #[test]
    fn a_command_that_was_tried_or_cannot_be_run_is_no_new_plan() {
        for command in ["make", " make all\n", "", "  ", "a\0b"] {
            let view = settled(command);
            assert!(matches!(view, ReplanView::Kept { .. }), "{command:?} {view:?}");
        }
        let ReplanView::Replanned { action, .. } = settled("make more") else { panic!() };
        assert_eq!(action, Action::Command { line: "make more".to_owned() });
    }

    #[test]
    fn a_manager_that_is_away_keeps_the_command_and_the_reason_is_on_record() {
        let away = Err(HandoffError::Away("gone".to_owned()));

        let view = settle_answer(away, &[], false);

        let reason = "the project manager cannot be reached".to_owned();
        assert_eq!(view, ReplanView::Kept { reason });
    }
}
