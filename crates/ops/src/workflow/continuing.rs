//! Having the project manager say how a run goes on that stands still.
//!
//! Why it stands still is read from the job and its verdict, never told by the runner. The answer is
//! bounded here, whoever gave it: what was not accepted is not taken as it is, a run goes on a few
//! times only, and a command that did its work, or may have done part of it, runs again only if its
//! task, a preference or a person says so. Without an answer a person is asked about an interrupted step, and
//! every other step has failed.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::{JobId, RunId};
use cynode_domain::run::VERIFY;
use cynode_domain::standstill::{
    CONTINUES_SINCE, IF_INTERRUPTED, IfInterrupted, MAX_CONTINUATIONS, Standstill,
};
use cynode_domain::verdict::VerdictStatus;
use cynode_store::{JobStore, Tx, WorkflowStore};
use cynode_wire::continuing::{ContinuationView, ContinueRun, NO_MANAGER};
use cynode_wire::handoff::{ContinueAnswer, ContinueRunHandoff, ContinueWith};
use tokio::time::Instant;

use super::beside::{Beside, patiently};
use super::check::split;
use super::evidence::ending_of;
use super::plan::{in_words, owner};
use super::verify::judged;
use super::{MAX_WAIT_MS, Workflow, WorkflowError, held_now, job_view, task_of};
use crate::Signals;
use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::preferences;
use crate::signals::Topic;

/// What the runner calls the effect that keeps how a run goes on, before the id of the job.
const CONTINUE: &str = "continue";

/// Who says how runs go on.
#[derive(Clone)]
pub(crate) struct Continuer {
    handoffs: Handoffs,
    answers: Beside<JobId, ContinuationView>,
}

impl Continuer {
    pub(crate) fn new(handoffs: Handoffs, signals: Signals) -> Self {
        Self { handoffs, answers: Beside::new(signals) }
    }

    async fn make(self, asked: Asked) -> ContinuationView {
        let Asked { subject, body, bounds, .. } = asked;
        let answer = patiently(|| self.handoffs.continue_run(&subject, body.clone())).await;
        if let Err(error) = &answer {
            let task = subject.task;
            tracing::warn!(
                task.id = ?task, error = error as &dyn std::error::Error,
                "the project manager did not say how a run goes on"
            );
        }
        bounds.settle(answer)
    }
}

/// What is asked about a run.
enum Question {
    /// Rules say it.
    Settled(ContinuationView),
    /// The project manager says it.
    Open(Box<Asked>),
}

struct Asked {
    run: RunId,
    subject: Subject,
    body: ContinueRunHandoff,
    bounds: Bounds,
}

/// What no answer can change.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    standstill: Standstill,
    /// Whether the task or a preference says that what was interrupted runs again.
    may_repeat: bool,
}

/// What a command may have done by the time its run stood still; nothing if it never began.
const fn done_by(standstill: Standstill) -> Option<&'static str> {
    match standstill {
        Standstill::NotStarted => None,
        Standstill::Interrupted | Standstill::LimitReached => {
            Some("it may have done part of its work")
        }
        Standstill::Rejected => Some("it did its work once already"),
    }
}

impl Bounds {
    fn settle(self, answer: Result<ContinueAnswer, HandoffError>) -> ContinuationView {
        let is_interrupted = self.standstill == Standstill::Interrupted;
        let done = done_by(self.standstill).filter(|_| !self.may_repeat);
        let (with, reason) = match answer {
            Ok(answer) if answer.with == ContinueWith::Continue => {
                let reason = "what was not accepted is not taken as it is";
                (ContinueWith::GiveUp, reason.to_owned())
            }
            Ok(ContinueAnswer { with: ContinueWith::Retry, reason, .. }) => match done {
                Some(done) => (ContinueWith::AskPerson, done.to_owned()),
                None => (ContinueWith::Retry, reason),
            },
            Ok(answer) => (answer.with, answer.reason),
            Err(error) if is_interrupted => (ContinueWith::AskPerson, lower(&in_words(&error))),
            Err(error) => (ContinueWith::GiveUp, lower(&in_words(&error))),
        };
        ContinuationView::Settled { with, reason }
    }
}

impl Workflow {
    /// Says how a run goes on whose step was not accepted; waits for that as long as the request says.
    pub async fn continuation(
        &self,
        request: ContinueRun,
    ) -> Result<ContinuationView, WorkflowError> {
        let Some(continuer) = self.continuer.clone().filter(|c| c.handoffs.is_configured()) else {
            return Ok(ContinuationView::NoManager { reason: NO_MANAGER.to_owned() });
        };
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.listen(Topic::Results);
        let request = Arc::new(request);
        loop {
            let wanted = Arc::clone(&request);
            let asked = match self.store.read(move |tx| Box::pin(look(tx, wanted))).await? {
                Question::Settled(view) => return Ok(view),
                Question::Open(asked) => *asked,
            };
            let run = asked.run;
            let making = continuer.clone().make(asked);
            if let Some(view) = continuer.answers.progress(request.job_id, making) {
                self.keep_from_older_runners(run, &view).await?;
                return Ok(view);
            }
            if !listener.wait(deadline).await {
                let waiting_for = "the project manager, who says how it goes on".to_owned();
                return Ok(ContinuationView::Waiting { waiting_for });
            }
        }
    }

    /// A run that goes on, or asks whether it does, is no more for a runner that cannot do so. Written
    /// before the answer is given, so that no such runner finds it if this one dies with the answer.
    async fn keep_from_older_runners(
        &self,
        run: RunId,
        view: &ContinuationView,
    ) -> Result<(), WorkflowError> {
        use ContinueWith::{AskPerson, Retry};
        if !matches!(view, ContinuationView::Settled { with: Retry | AskPerson, .. }) {
            return Ok(());
        }
        let raised = self.store.write_alone(move |tx| {
            Box::pin(async move { tx.run_raise_version(run, CONTINUES_SINCE).await })
        });
        Ok(raised.await?)
    }
}

/// What the database knows of the standstill, if the caller holds the task.
async fn look(tx: &mut Tx, request: Arc<ContinueRun>) -> Result<Question, WorkflowError> {
    let hold = request.hold;
    let lease = held_now(tx, hold).await?;
    let job = tx.job_get(request.job_id).await?;
    let job =
        job.filter(|job| job.asked.task == lease.task && split(job.asked.attempt).1.is_none());
    let job = job.ok_or(WorkflowError::NoJob(request.job_id))?;
    if !job.status.is_terminal() {
        return Err(WorkflowError::StillRunning(job.asked.id));
    }
    let (job_id, attempts) = (job.asked.id, job.asked.attempt);
    let verdict = judged(tx, hold, (lease.run, &job)).await?;
    let verdict = verdict.filter(|verdict| verdict.status == VerdictStatus::Fail);
    let verdict =
        verdict.ok_or_else(|| WorkflowError::Invalid("the step was not refused".to_owned()))?;
    let ending = ending_of(&job_view(job)?);
    let Some(standstill) = Standstill::of(&ending, &verdict) else {
        return Ok(give_up("its command decided it".to_owned()));
    };
    // The journal knows; a run that branched off another brings the number of that one along.
    let journalled = tx.effects_of_others(lease.run, CONTINUE, &job_id.to_string()).await?;
    let continued = request.continued.max(journalled);
    if continued >= MAX_CONTINUATIONS {
        return Ok(give_up(format!("the run went on {MAX_CONTINUATIONS} times already")));
    }
    let task = task_of(tx, hold.task_id).await?.asked;
    let resolved = preferences::for_task(tx, &task).await?;
    let preferred = resolved.effective.get(IF_INTERRUPTED).and_then(|found| found.value.as_str());
    let may_repeat = task.options.retry_interrupted;
    let is_wanted = preferred == Some(IfInterrupted::Retry.as_str());
    let trace = tx.run_of_task(hold.task_id).await?.map(|run| run.trace.to_string());
    let subject = Subject {
        project: Some(task.project),
        task: Some(task.id),
        run: Some(lease.run),
        ..Subject::of(owner(tx, task.created_by).await?, trace.unwrap_or_default())
    };
    let why = verdict.first_failure().unwrap_or_default();
    let body = ContinueRunHandoff {
        node: VERIFY.to_owned(),
        situation: format!("A step was not accepted, and no attempt is left: {why}"),
        attempts,
        standstill: Some(standstill),
        continued,
        may_repeat,
    };
    let bounds = Bounds { standstill, may_repeat: may_repeat || is_wanted };
    Ok(Question::Open(Box::new(Asked { run: lease.run, subject, body, bounds })))
}

fn give_up(reason: String) -> Question {
    Question::Settled(ContinuationView::Settled { with: ContinueWith::GiveUp, reason })
}

/// A sentence as a part of another one.
pub(super) fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(
        (standstill, may_repeat): (Standstill, bool),
        answer: Result<ContinueWith, HandoffError>,
    ) -> ContinueWith {
        let reason = "because".to_owned();
        let answer = answer.map(|with| ContinueAnswer { with, reason, decisions: vec![] });
        let view = Bounds { standstill, may_repeat }.settle(answer);
        let ContinuationView::Settled { with, .. } = view else { panic!("{view:?}") };
        with
    }

    #[test]
    fn no_answer_takes_a_refused_result_or_repeats_a_command_that_was_cut_off() {
        use ContinueWith as With;
        for (of, said, expected) in [
            ((Standstill::Rejected, true), With::Continue, With::GiveUp),
            ((Standstill::Rejected, true), With::Retry, With::Retry),
            ((Standstill::Rejected, false), With::Retry, With::AskPerson),
            ((Standstill::Rejected, false), With::GiveUp, With::GiveUp),
            ((Standstill::LimitReached, false), With::Retry, With::AskPerson),
            ((Standstill::LimitReached, true), With::Retry, With::Retry),
            ((Standstill::Interrupted, false), With::Retry, With::AskPerson),
            ((Standstill::Interrupted, true), With::Retry, With::Retry),
            ((Standstill::Interrupted, true), With::GiveUp, With::GiveUp),
            ((Standstill::NotStarted, false), With::Retry, With::Retry),
        ] {
            assert_eq!(settled(of, Ok(said)), expected, "{of:?} {said:?}");
        }
    }

    #[test]
    fn without_an_answer_a_person_decides_about_an_interruption_only() {
        let away = || Err(HandoffError::Away("gone".to_owned()));

        assert_eq!(settled((Standstill::Interrupted, true), away()), ContinueWith::AskPerson);
        assert_eq!(settled((Standstill::LimitReached, false), away()), ContinueWith::GiveUp);
    }
}
