//! Continuation of stalled runs, decided by the project manager. Without one, the rule for interrupted steps applies
//! here, and every other step fails.
//!
//! The reason of a stall is read from the job and its verdict, never from the runner. Every answer is bounded here: a
//! rejected result is never accepted, a run continues at most `MAX_CONTINUATIONS` times, and a command that ran, even
//! in part, runs again only if its task, a preference or a person allows it. Without an answer, a person decides about
//! an interrupted step, and every other step fails.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::{JobId, RunId};
use cynode_domain::run::VERIFY_NODE;
use cynode_domain::suspension::{
    CONTINUATION_GRAPH_VERSION, IF_INTERRUPTED_KEY, IfInterrupted, MAX_CONTINUATIONS,
    SuspensionReason,
};
use cynode_domain::verdict::VerdictStatus;
use cynode_store::Tx;
use cynode_wire::continuing::{ContinuationView, ContinueRun, NO_MANAGER};
use cynode_wire::handoff::{ContinueAnswer, ContinueRunHandoff, ContinueWith};
use tokio::time::Instant;

use super::check::split_attempt;
use super::evidence::ending_of;
use super::inflight::{InFlightCache, retry_unreachable};
use super::plan::describe_handoff_error;
use super::verify::load_verdict;
use super::{MAX_WAIT_MS, WorkflowError, WorkflowService, job_view, load_task, read_lease};
use crate::{handoff::HandoffError, handoff::HandoffService, handoff::HandoffSubject};
use cynode_resources::Signals;
use cynode_resources::preferences;
use cynode_resources::signals::Topic;

/// Prefix of the effect key under which the runner journals a continuation, before the job id.
const CONTINUE: &str = "continue";

/// Asks the project manager how stalled runs continue.
#[derive(Clone)]
pub(crate) struct ContinuationDecider {
    handoffs: HandoffService,
    answers: InFlightCache<JobId, ContinuationView>,
}

impl ContinuationDecider {
    pub(super) fn new(handoffs: HandoffService, signals: Signals) -> Self {
        Self { handoffs, answers: InFlightCache::new(signals) }
    }

    async fn decide(self, request: ContinuationRequest) -> ContinuationView {
        let ContinuationRequest { subject, body, bounds, .. } = request;
        let answer = retry_unreachable(|| self.handoffs.continue_run(&subject, body.clone())).await;
        if let Err(error) = &answer {
            let task = subject.task;
            tracing::warn!(
                task.id = ?task, error = error as &dyn std::error::Error,
                "continuation handoff failed"
            );
        }
        bounds.apply_to(answer)
    }
}

/// Whether rules or the project manager decide.
enum ContinuationCase {
    Decided(ContinuationView),
    NeedsManager(Box<ContinuationRequest>),
}

struct ContinuationRequest {
    run: RunId,
    subject: HandoffSubject,
    body: ContinueRunHandoff,
    bounds: ContinuationBounds,
    /// The preference for interrupted steps.
    if_interrupted: Option<IfInterrupted>,
}

impl ContinuationRequest {
    /// Decides without a project manager: an interrupted step as its task, a preference or a person says.
    fn decide_without_manager(&self) -> ContinuationView {
        if self.bounds.suspension != SuspensionReason::Interrupted {
            return ContinuationView::NoManager { reason: NO_MANAGER.to_owned() };
        }
        let (policy, reason) = IfInterrupted::resolve(self.if_interrupted, self.body.may_repeat);
        ContinuationView::Settled { with: policy.into(), reason: reason.to_owned() }
    }
}

/// The bounds that apply to every answer.
#[derive(Debug, Clone, Copy)]
struct ContinuationBounds {
    suspension: SuspensionReason,
    /// Whether the task or a preference allows an interrupted command to run again.
    may_repeat: bool,
}

/// What a command may already have done, as a reason; `None` if it never started.
const fn side_effect_reason(suspension: SuspensionReason) -> Option<&'static str> {
    match suspension {
        SuspensionReason::NotStarted => None,
        SuspensionReason::Interrupted | SuspensionReason::LimitReached => {
            Some("it may have done part of its work")
        }
        SuspensionReason::Rejected => Some("it already ran once"),
    }
}

impl ContinuationBounds {
    fn apply_to(self, answer: Result<ContinueAnswer, HandoffError>) -> ContinuationView {
        let is_interrupted = self.suspension == SuspensionReason::Interrupted;
        let done = side_effect_reason(self.suspension).filter(|_| !self.may_repeat);
        let (with, reason) = match answer {
            Ok(answer) if answer.with == ContinueWith::Continue => {
                let reason = "a rejected result cannot be accepted";
                (ContinueWith::GiveUp, reason.to_owned())
            }
            Ok(ContinueAnswer { with: ContinueWith::Retry, reason, .. }) => match done {
                Some(done) => (ContinueWith::AskPerson, done.to_owned()),
                None => (ContinueWith::Retry, reason),
            },
            Ok(answer) => (answer.with, answer.reason),
            Err(error) if is_interrupted => {
                (ContinueWith::AskPerson, lowercase_first(&describe_handoff_error(&error)))
            }
            Err(error) => (ContinueWith::GiveUp, lowercase_first(&describe_handoff_error(&error))),
        };
        ContinuationView::Settled { with, reason }
    }
}

impl WorkflowService {
    /// Decides how a run continues whose step was rejected; waits up to `wait_ms` for the decision.
    pub async fn decide_continuation(
        &self,
        request: ContinueRun,
    ) -> Result<ContinuationView, WorkflowError> {
        let continuer = self.continuer.clone().filter(|c| c.handoffs.is_configured());
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.subscribe(Topic::Results);
        let request = Arc::new(request);
        loop {
            let shared = Arc::clone(&request);
            let case = match self.store.read(move |tx| Box::pin(load_case(tx, shared))).await? {
                ContinuationCase::Decided(view) => return Ok(view),
                ContinuationCase::NeedsManager(case) => *case,
            };
            let run = case.run;
            let Some(continuer) = &continuer else {
                let view = case.decide_without_manager();
                self.raise_graph_version(run, &view).await?;
                return Ok(view);
            };
            let making = continuer.clone().decide(case);
            if let Some(view) = continuer.answers.get_or_start(request.job_id, making) {
                self.raise_graph_version(run, &view).await?;
                return Ok(view);
            }
            if !listener.wait(deadline).await {
                let waiting_for = "the project manager's decision".to_owned();
                return Ok(ContinuationView::Waiting { waiting_for });
            }
        }
    }

    /// Raises the graph version of a run that continues or asks a person, so that older runners do not claim it.
    /// Committed before the answer is returned, in case this runner dies with the answer.
    async fn raise_graph_version(
        &self,
        run: RunId,
        view: &ContinuationView,
    ) -> Result<(), WorkflowError> {
        use ContinueWith::{AskPerson, Retry};
        if !matches!(view, ContinuationView::Settled { with: Retry | AskPerson, .. }) {
            return Ok(());
        }
        let raised = self.store.write(move |tx| {
            Box::pin(async move { tx.run_require_version(run, CONTINUATION_GRAPH_VERSION).await })
        });
        Ok(raised.await?)
    }
}

/// Loads the question about the stalled run; fails unless the caller holds the task.
async fn load_case(
    tx: &mut Tx,
    request: Arc<ContinueRun>,
) -> Result<ContinuationCase, WorkflowError> {
    let token = request.lease;
    let lease = read_lease(tx, token).await?;
    let job = tx.job_get(request.job_id).await?;
    let job = job
        .filter(|job| job.spec.task == lease.task && split_attempt(job.spec.attempt).1.is_none());
    let job = job.ok_or(WorkflowError::JobNotFound(request.job_id))?;
    if !job.status.is_terminal() {
        return Err(WorkflowError::JobNotEnded(job.spec.id));
    }
    let (job_id, attempts) = (job.spec.id, job.spec.attempt);
    let verdict = load_verdict(tx, token, lease.run, &job).await?;
    let verdict = verdict.filter(|verdict| verdict.status == VerdictStatus::Fail);
    let verdict =
        verdict.ok_or_else(|| WorkflowError::Invalid("the step was not rejected".to_owned()))?;
    let ending = ending_of(&job_view(job)?);
    let Some(suspension) = SuspensionReason::for_step(&ending, &verdict) else {
        return Ok(decide_give_up("the result of the command is final".to_owned()));
    };
    // Counted in the journal; a forked or retried run brings the count of its parent in the request.
    let journalled = tx.effect_count_others(lease.run, CONTINUE, &job_id.to_string()).await?;
    let continued = request.continued.max(journalled);
    if continued >= MAX_CONTINUATIONS {
        return Ok(decide_give_up(format!(
            "the run was already continued {MAX_CONTINUATIONS} times"
        )));
    }
    let task = load_task(tx, token.task_id).await?.spec;
    if task.options.agent.as_ref().is_some_and(|agent| agent.is_canary) {
        return Ok(decide_give_up("a canary run is not repeated: start another one".to_owned()));
    }
    let resolved = preferences::effective_for_task(tx, &task).await?;
    let preferred = resolved.effective.get(IF_INTERRUPTED_KEY);
    let if_interrupted: Option<IfInterrupted> =
        preferred.and_then(|found| found.value.as_str()?.parse().ok());
    let may_repeat = task.options.retry_interrupted;
    let is_wanted = if_interrupted == Some(IfInterrupted::Retry);
    let subject = HandoffSubject::for_task(tx, &task, lease.run).await?;
    let why = verdict.first_failure().unwrap_or_default();
    let body = ContinueRunHandoff {
        node: VERIFY_NODE.to_owned(),
        situation: format!("A step was rejected, and no attempt is left: {why}"),
        attempts,
        suspension: Some(suspension),
        continued,
        may_repeat,
    };
    let bounds = ContinuationBounds { suspension, may_repeat: may_repeat || is_wanted };
    Ok(ContinuationCase::NeedsManager(Box::new(ContinuationRequest {
        run: lease.run,
        subject,
        body,
        bounds,
        if_interrupted,
    })))
}

fn decide_give_up(reason: String) -> ContinuationCase {
    ContinuationCase::Decided(ContinuationView::Settled { with: ContinueWith::GiveUp, reason })
}

/// Lower-cases the first letter, so that a sentence can follow a colon.
pub(super) fn lowercase_first(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply_bounds(
        suspension: SuspensionReason,
        may_repeat: bool,
        answer: Result<ContinueWith, HandoffError>,
    ) -> ContinueWith {
        let reason = "because".to_owned();
        let answer = answer.map(|with| ContinueAnswer { with, reason, decisions: vec![] });
        let view = ContinuationBounds { suspension, may_repeat }.apply_to(answer);
        let ContinuationView::Settled { with, .. } = view else { panic!("{view:?}") };
        with
    }

    #[test]
    fn no_answer_takes_a_refused_result_or_repeats_a_command_that_was_cut_off() {
        use ContinueWith as With;
        for (of, said, expected) in [
            ((SuspensionReason::Rejected, true), With::Continue, With::GiveUp),
            ((SuspensionReason::Rejected, true), With::Retry, With::Retry),
            ((SuspensionReason::Rejected, false), With::Retry, With::AskPerson),
            ((SuspensionReason::Rejected, false), With::GiveUp, With::GiveUp),
            ((SuspensionReason::LimitReached, false), With::Retry, With::AskPerson),
            ((SuspensionReason::LimitReached, true), With::Retry, With::Retry),
            ((SuspensionReason::Interrupted, false), With::Retry, With::AskPerson),
            ((SuspensionReason::Interrupted, true), With::Retry, With::Retry),
            ((SuspensionReason::Interrupted, true), With::GiveUp, With::GiveUp),
            ((SuspensionReason::NotStarted, false), With::Retry, With::Retry),
        ] {
            assert_eq!(apply_bounds(of.0, of.1, Ok(said)), expected, "{of:?} {said:?}");
        }
    }

    #[test]
    fn without_an_answer_a_person_decides_about_an_interruption_only() {
        let away = || Err(HandoffError::Unreachable("gone".to_owned()));

        assert_eq!(
            apply_bounds(SuspensionReason::Interrupted, true, away()),
            ContinueWith::AskPerson
        );
        assert_eq!(
            apply_bounds(SuspensionReason::LimitReached, false, away()),
            ContinueWith::GiveUp
        );
    }
}
