//! Has the step's result judged, however long the analyst takes. What follows from the verdict is
//! decided by the graph's edges.
//!
//! A step that is not accepted has failed if its command said so. Where it did not, as with a node
//! that went away, and no attempt is left, the project manager is asked how the run goes on; it may
//! want a person to say. Without one the step has failed.
//!
//! Criteria that nobody judged, a person is asked about: the step is accepted if the person accepts them, is
//! judged again if the person says so, and is not accepted otherwise.
//!
//! What was found about a step that is not accepted goes to the project manager, which may plan another
//! command for the next attempt (`revision`).

mod revision;

use cynode_domain::criteria::{Criterion, sharpened};
use cynode_domain::ids::JobId;
use cynode_domain::job::Ending;
use cynode_domain::plan::StepAuthor;
use cynode_domain::question::{Answer, Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::standstill::Standstill;
use cynode_domain::verdict::{CLARIFY, Verdict, VerdictStatus};
use cynode_wire::continuing::ContinuationView;
use cynode_wire::handoff::ContinueWith;
use cynode_wire::workflow::VerificationView;

use super::Control;
use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::{Continuation, GoingOn, Revision, RunState};

/// Has the step's result judged.
#[derive(Debug)]
pub struct VerifyStepResult(pub Control);

/// What is to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The job that ended.
    pub job_id: JobId,
    /// Artifact paths the step owed.
    pub expected_outputs: Vec<String>,
    /// What must be true of the result of this step.
    pub criteria: Vec<Criterion>,
    /// Whether the task's acceptance criteria apply.
    pub is_last_step: bool,
    /// Where the run stands if it is not accepted.
    pub standing: Standing,
}

/// Where a run stands whose step is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How the job ended.
    pub ending: Ending,
    /// Whether the step runs again without anybody's say.
    pub may_retry: bool,
    /// How often the run went on already after it stood still.
    pub continued: u32,
    /// The step in words: its number, and what it runs.
    pub step: [String; 2],
    /// Whose words its command is.
    pub author: StepAuthor,
}

/// What was found, and how the run goes on where the verdict alone does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// What was found.
    pub verdict: Verdict,
    /// How it goes on.
    pub continuation: Option<Continuation>,
    /// What becomes of the command of a step that was not accepted.
    pub revision: Option<Revision>,
}

impl Node for VerifyStepResult {
    const NAME: &'static str = "verify_step_result";
    type Input = Verification;
    type Output = Judged;

    async fn run(&self, cx: &mut NodeCx<'_>, input: Verification) -> Result<Judged, NodeError> {
        let verdict = self.settled_verdict(cx, &input).await?;
        let revision = self.revision(cx, &input, &verdict).await?;
        let standing = &input.standing;
        let is_replanned = revision.as_ref().is_some_and(|revision| revision.action.is_some());
        let stands = !standing.may_retry && Standstill::of(&standing.ending, &verdict).is_some();
        let continuation = if is_replanned && !standing.may_retry {
            let (how, reason) = (GoingOn::Retry, "it was planned anew".to_owned());
            let (job_id, number) = (input.job_id, standing.continued + 1);
            Some(Continuation { job_id, number, how, reason })
        } else if stands && !is_replanned {
            self.continuation(cx, &input, &verdict).await?
        } else {
            None
        };
        Ok(Judged { verdict, continuation, revision })
    }
}

impl VerifyStepResult {
    /// The verdict, with conditions that nobody judged settled by a person.
    async fn settled_verdict(
        &self,
        cx: &mut NodeCx<'_>,
        input: &Verification,
    ) -> Result<Verdict, NodeError> {
        let mut round = 0;
        loop {
            let verdict = self.verdict(cx, input, round).await?;
            if verdict.status != VerdictStatus::Unclear {
                return Ok(verdict);
            }
            let answer: Answer = cx.ask(&in_round(CLARIFY, round), &unjudged(input, &verdict))?;
            if answer.reply != Some(Reply::Retry {}) {
                return Ok(verdict.settled_by(&answer));
            }
            round += 1;
        }
    }

    /// The verdict after a person asked so often to have the result judged again.
    async fn verdict(
        &self,
        cx: &mut NodeCx<'_>,
        input: &Verification,
        round: u32,
    ) -> Result<Verdict, NodeError> {
        let key = in_round(&format!("verify/{}", input.job_id), round);
        let life = cx.life();
        cx.effect(&key, async {
            loop {
                let VerificationView { verdict, waiting_for } = self.0.verify(input).await?;
                if let Some(verdict) = verdict {
                    return Ok(verdict);
                }
                life.waits_for(waiting_for.as_deref().unwrap_or("a verdict"));
            }
        })
        .await
    }

    /// How the run goes on; nothing where nobody decides.
    async fn continuation(
        &self,
        cx: &mut NodeCx<'_>,
        input: &Verification,
        verdict: &Verdict,
    ) -> Result<Option<Continuation>, NodeError> {
        let (with, reason) = match self.decision(cx, input).await? {
            ContinuationView::Settled { with, reason } => (with, reason),
            ContinuationView::NoManager { .. } | ContinuationView::Waiting { .. } => {
                return Ok(None);
            }
        };
        let (how, reason) = match with {
            ContinueWith::Retry => (GoingOn::Retry, reason),
            ContinueWith::AskPerson => asked(cx, &question(input, verdict, &reason))?,
            // What was not accepted is not taken as it is, whoever says so.
            ContinueWith::Continue | ContinueWith::GiveUp => (GoingOn::GiveUp, reason),
        };
        let (job_id, number) = (input.job_id, input.standing.continued + 1);
        Ok(Some(Continuation { job_id, number, how, reason }))
    }

    async fn decision(
        &self,
        cx: &mut NodeCx<'_>,
        input: &Verification,
    ) -> Result<ContinuationView, NodeError> {
        let (key, life) = (format!("continue/{}", input.job_id), cx.life());
        cx.effect(&key, async {
            loop {
                let view = self.0.continuation(input.job_id, input.standing.continued).await?;
                let ContinuationView::Waiting { waiting_for } = &view else { return Ok(view) };
                life.waits_for(waiting_for);
            }
        })
        .await
    }
}

impl On<RunState> for VerifyStepResult {
    fn input(state: &RunState) -> Result<Verification, NodeError> {
        let result = state.last_result.as_ref();
        let result = result.ok_or_else(|| NodeError::Denied("no result to verify".to_owned()))?;
        let step = state.current_step();
        let number = state.current_step_index + 1;
        Ok(Verification {
            job_id: result.job_id,
            expected_outputs: step.map(|s| s.expected_outputs.clone()).unwrap_or_default(),
            criteria: step.map(|s| s.criteria.clone()).unwrap_or_default(),
            is_last_step: state.is_at_last_step(),
            standing: Standing {
                ending: result.ending.clone(),
                may_retry: state.may_retry(),
                continued: state.continuation.as_ref().map_or(0, |before| before.number),
                step: [
                    format!("Step {number} of {}", state.plan.steps.len()),
                    step.map(|step| super::plan_steps::told(number, step)).unwrap_or_default(),
                ],
                author: step.map(|step| step.author).unwrap_or_default(),
            },
        })
    }

    fn apply(state: &mut RunState, judged: Judged) {
        if judged.verdict.is_accepted() {
            let of_step = state.current_step().map(|step| sharpened(&step.criteria));
            let mut criteria = of_step.unwrap_or_default();
            if state.is_at_last_step() {
                criteria.extend(sharpened(&state.acceptance_criteria));
            }
            state.tally = state.tally.with(&judged.verdict, &criteria);
        }
        state.verification = Some(judged.verdict.into());
        if judged.continuation.is_some() {
            state.continuation = judged.continuation;
        }
        if let Some(revision) = judged.revision {
            let index = usize::try_from(state.current_step_index).unwrap_or(usize::MAX);
            if let Some(action) = &revision.action
                && let Some(step) = state.plan.steps.get_mut(index)
            {
                step.action = action.clone();
            }
            state.revision = Some(revision);
        }
    }
}

/// A key of the node, after so many retries of a person.
fn in_round(key: &str, round: u32) -> String {
    if round == 0 { key.to_owned() } else { format!("{key}/{round}") }
}

/// What a person is asked about conditions that nobody judged: each of them, and why.
fn unjudged(input: &Verification, verdict: &Verdict) -> Question {
    let [step, what] = &input.standing.step;
    let open = verdict.open().map(|finding| format!("not judged: {}", finding.message));
    let count = verdict.open().count();
    let noun = if count == 1 { "criterion" } else { "criteria" };
    Question {
        kind: QuestionKind::Approval,
        text: format!(
            "{step}: {count} acceptance {noun} could not be judged. Accept the result anyway (yes), \
             reject it (no), or have it judged again (retry)?"
        ),
        about: std::iter::once(what.clone()).chain(open).collect(),
        accepts: vec![ReplyForm::Yes, ReplyForm::No, ReplyForm::Retry],
    }
}

/// What a person is asked about a step that was not accepted.
fn question(input: &Verification, verdict: &Verdict, reason: &str) -> Question {
    let [step, what] = &input.standing.step;
    let why = verdict.first_failure().unwrap_or("its result was not accepted");
    Question {
        kind: QuestionKind::Approval,
        text: format!("{step}: {why}; {reason}. Shall it run again?"),
        about: vec![what.clone()],
        accepts: vec![ReplyForm::Yes, ReplyForm::No],
    }
}

fn asked(cx: &NodeCx<'_>, question: &Question) -> Result<(GoingOn, String), NodeError> {
    let answer: Answer = cx.ask("continue", question)?;
    if let Some(refusal) = answer.refusal() {
        return Ok((GoingOn::GiveUp, refusal));
    }
    let by = answer.by.as_deref().unwrap_or("somebody");
    Ok((GoingOn::Retry, format!("{by} said that it runs again")))
}
