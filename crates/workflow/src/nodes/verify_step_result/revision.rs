//! What becomes of the command of a step that was not accepted: the findings go to the project manager,
//! which plans another one for the next attempt or says why not. Either is kept with the run.

use cynode_domain::job::{Action, Ending};
use cynode_domain::plan::StepAuthor;
use cynode_domain::question::{Answer, Question, QuestionKind, ReplyForm};
use cynode_domain::standstill::{GIVEN_BY_PERSON, MAX_CONTINUATIONS};
use cynode_domain::verdict::{Verdict, VerdictStatus};
use cynode_wire::replanning::ReplanView;

use super::{Verification, VerifyStepResult};
use crate::engine::{NodeCx, NodeError};
use crate::state::Revision;

impl VerifyStepResult {
    /// What becomes of the command; nothing if the step was accepted, or if its command never ran to an
    /// end.
    pub(super) async fn revision(
        &self,
        cx: &mut NodeCx<'_>,
        input: &Verification,
        verdict: &Verdict,
    ) -> Result<Option<Revision>, NodeError> {
        let standing = &input.standing;
        if verdict.status != VerdictStatus::Fail || !has_run(&standing.ending) {
            return Ok(None);
        }
        let kept = |reason: String| Revision { job_id: input.job_id, action: None, reason };
        if standing.author == StepAuthor::Person {
            return Ok(Some(kept(GIVEN_BY_PERSON.to_owned())));
        }
        if !standing.may_retry && standing.continued >= MAX_CONTINUATIONS {
            let reason = format!("the run went on {MAX_CONTINUATIONS} times already");
            return Ok(Some(kept(reason)));
        }
        let revision = match self.replanned(cx, input).await? {
            ReplanView::Replanned { action, reason, needs_approval } => {
                let refusal = if needs_approval { refused(cx, input, &action)? } else { None };
                match refusal {
                    Some(refusal) => kept(refusal),
                    None => Revision { job_id: input.job_id, action: Some(action), reason },
                }
            }
            ReplanView::Kept { reason } | ReplanView::Waiting { waiting_for: reason } => {
                kept(reason)
            }
        };
        Ok(Some(revision))
    }

    /// What the project manager says. It is recorded, so that a node that is entered again does not ask
    /// twice.
    async fn replanned(
        &self,
        cx: &mut NodeCx<'_>,
        input: &Verification,
    ) -> Result<ReplanView, NodeError> {
        let (key, life) = (format!("replan/{}", input.job_id), cx.life());
        cx.effect(&key, async {
            loop {
                let view = self.0.replan(input.job_id).await?;
                let ReplanView::Waiting { waiting_for } = &view else { return Ok(view) };
                life.waits_for(waiting_for);
            }
        })
        .await
    }
}

/// Whether the command ran, so that another one may do better.
const fn has_run(ending: &Ending) -> bool {
    match ending {
        Ending::Exited { .. } | Ending::TimedOut | Ending::LimitReached { .. } => true,
        Ending::Canceled | Ending::Interrupted { .. } | Ending::NotStarted { .. } => false,
    }
}

/// Why a person does not want the new command, whose task wants its plans approved.
fn refused(
    cx: &NodeCx<'_>,
    input: &Verification,
    action: &Action,
) -> Result<Option<String>, NodeError> {
    let [step, what] = &input.standing.step;
    let (Action::Command { line: new } | Action::Script { text: new }) = action;
    let question = Question {
        kind: QuestionKind::Approval,
        text: format!("{step} was not accepted and was planned anew. Shall the new command run?"),
        about: vec![what.clone(), new.chars().take(1000).collect()],
        accepts: vec![ReplyForm::Yes, ReplyForm::No],
    };
    let answer: Answer = cx.ask("replan", &question)?;
    Ok(answer.refusal())
}
