//! Replans a rejected step: the findings go to the project manager, which plans another command for the
//! next attempt or explains why not. Either is stored in the state.

use cynode_domain::job::{Action, JobEnding};
use cynode_domain::plan::StepAuthor;
use cynode_domain::question::{Answer, Question, QuestionKind, ReplyForm};
use cynode_domain::suspension::{AUTHORED_BY_PERSON, MAX_CONTINUATIONS};
use cynode_domain::verdict::{Verdict, VerdictStatus};
use cynode_wire::replanning::{ReplanStep, ReplanView};
use cynode_workflow_state::StepRevision;

use super::{StepVerificationInput, VerifyStepResultNode};
use crate::engine::{NodeContext, WorkflowNodeError};
use crate::run_handle::POLL_MS;

impl VerifyStepResultNode {
    /// Requests a new command; `None` if the step was accepted or its command did not run to an end.
    pub(super) async fn revise_step(
        &self,
        cx: &mut NodeContext<'_>,
        input: &StepVerificationInput,
        verdict: &Verdict,
    ) -> Result<Option<StepRevision>, WorkflowNodeError> {
        let standing = &input.rejection;
        if verdict.status != VerdictStatus::Fail || !has_run(&standing.ending) {
            return Ok(None);
        }
        let kept = |reason: String| StepRevision { job_id: input.job_id, action: None, reason };
        if standing.author == StepAuthor::Person {
            return Ok(Some(kept(AUTHORED_BY_PERSON.to_owned())));
        }
        if !standing.may_retry && standing.continued >= MAX_CONTINUATIONS {
            let reason = format!("the run was already continued {MAX_CONTINUATIONS} times");
            return Ok(Some(kept(reason)));
        }
        let revision = match self.await_replan(cx, input).await? {
            ReplanView::Replanned { action, reason, needs_approval } => {
                let refusal = if needs_approval { ask_approval(cx, input, &action)? } else { None };
                match refusal {
                    Some(refusal) => kept(refusal),
                    None => StepRevision { job_id: input.job_id, action: Some(action), reason },
                }
            }
            ReplanView::Kept { reason } | ReplanView::Waiting { waiting_for: reason } => {
                kept(reason)
            }
        };
        Ok(Some(revision))
    }

    /// Awaits the project manager's answer. It is recorded, so that a node that is entered again does not
    /// ask twice.
    async fn await_replan(
        &self,
        cx: &mut NodeContext<'_>,
        input: &StepVerificationInput,
    ) -> Result<ReplanView, WorkflowNodeError> {
        let (key, life) = (format!("replan/{}", input.job_id), cx.heartbeat());
        let body =
            ReplanStep { lease: self.0.lease_token(), job_id: input.job_id, wait_ms: POLL_MS };
        cx.effect(&key, async {
            loop {
                let view = self.0.call(&body).await?;
                let ReplanView::Waiting { waiting_for } = &view else { return Ok(view) };
                life.report_waiting(waiting_for);
            }
        })
        .await
    }
}

/// Whether the command ran, so that another one may succeed.
const fn has_run(ending: &JobEnding) -> bool {
    match ending {
        JobEnding::Exited { .. } | JobEnding::TimedOut | JobEnding::LimitReached { .. } => true,
        JobEnding::Canceled | JobEnding::Interrupted { .. } | JobEnding::NotStarted { .. } => false,
    }
}

/// Asks a person to approve the new command; returns the reason of a refusal.
fn ask_approval(
    cx: &NodeContext<'_>,
    input: &StepVerificationInput,
    action: &Action,
) -> Result<Option<String>, WorkflowNodeError> {
    let [step, what] = &input.rejection.step;
    let (Action::Command { line: new }
    | Action::Script { text: new }
    | Action::Agent { prompt: new, .. }) = action;
    let question = Question {
        kind: QuestionKind::Approval,
        text: format!("{step} was not accepted. Run the new command?"),
        about: vec![what.clone(), new.chars().take(1000).collect()],
        accepts: vec![ReplyForm::Yes, ReplyForm::No],
    };
    let answer: Answer = cx.require_answer("replan", &question)?;
    Ok(answer.refusal())
}
