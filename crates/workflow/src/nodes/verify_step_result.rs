//! Requests the verification of the step's result and waits for the verdict. The graph's edges decide
//! what follows from it.
//!
//! A rejected step has failed if its command failed. If the command did not fail (e.g. its worker node was
//! lost) and no attempt is left, the project manager decides how the run continues, or defers to a person.
//! Without a project manager, a person or a preference decides about an interrupted step, and every other step has
//! failed.
//!
//! A person is asked about criteria without a judgement: the step is accepted, verified again or rejected, as the
//! person answers.
//!
//! The findings about a rejected step go to the project manager, which may plan another command for the next
//! attempt (`revision`).

mod revision;

use std::sync::Arc;

use cynode_domain::criteria::{Criterion, refine_criteria};
use cynode_domain::ids::JobId;
use cynode_domain::job::JobEnding;
use cynode_domain::plan::StepAuthor;
use cynode_domain::question::{Answer, Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::suspension::SuspensionReason;
use cynode_domain::verdict::{CLARIFY_QUESTION, Verdict, VerdictStatus};
use cynode_wire::continuing::{ContinuationView, ContinueRun};
use cynode_wire::handoff::ContinueWith;
use cynode_wire::workflow::{VerificationView, VerifyStep};
use cynode_workflow_state::{ContinuationOutcome, ContinuationRecord, StepRevision, WorkflowState};

use crate::engine::{NodeContext, StateBinding, WorkflowNode, WorkflowNodeError};
use crate::run_handle::{POLL_MS, RunHandle};

/// Verifies the step's result.
#[derive(Debug)]
pub struct VerifyStepResultNode(pub Arc<RunHandle>);

/// The result to verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepVerificationInput {
    pub job_id: JobId,
    /// Artifact paths the step must have produced.
    pub expected_outputs: Vec<String>,
    /// Criteria of this step.
    pub criteria: Vec<Criterion>,
    /// Whether the task's acceptance criteria apply.
    pub is_last_step: bool,
    pub rejection: StepRejectionContext,
}

/// Context for handling a rejected step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRejectionContext {
    pub ending: JobEnding,
    /// Whether the step is retried without a decision.
    pub may_retry: bool,
    /// How often the run has already continued after stalling.
    pub continued: u32,
    /// Number and command of the step, rendered.
    pub step: [String; 2],
    /// Author of its command.
    pub author: StepAuthor,
}

/// The verdict, and how the run continues if the verdict alone does not decide it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepVerificationOutcome {
    pub verdict: Verdict,
    pub continuation: Option<ContinuationRecord>,
    pub revision: Option<StepRevision>,
}

impl WorkflowNode for VerifyStepResultNode {
    const NAME: &'static str = "verify_step_result";
    type Input = StepVerificationInput;
    type Output = StepVerificationOutcome;

    async fn run(
        &self,
        cx: &mut NodeContext<'_>,
        input: StepVerificationInput,
    ) -> Result<StepVerificationOutcome, WorkflowNodeError> {
        let verdict = self.resolve_verdict(cx, &input).await?;
        let revision = self.revise_step(cx, &input, &verdict).await?;
        let standing = &input.rejection;
        let is_replanned = revision.as_ref().is_some_and(|revision| revision.action.is_some());
        let stands =
            !standing.may_retry && SuspensionReason::for_step(&standing.ending, &verdict).is_some();
        let continuation = if is_replanned && !standing.may_retry {
            let (how, reason) = (ContinuationOutcome::Retry, "it was replanned".to_owned());
            let (job_id, number) = (input.job_id, standing.continued + 1);
            Some(ContinuationRecord { job_id, number, how, reason })
        } else if stands && !is_replanned {
            self.decide_continuation(cx, &input, &verdict).await?
        } else {
            None
        };
        Ok(StepVerificationOutcome { verdict, continuation, revision })
    }
}

impl VerifyStepResultNode {
    /// Awaits the verdict; a person settles criteria without a judgement.
    async fn resolve_verdict(
        &self,
        cx: &mut NodeContext<'_>,
        input: &StepVerificationInput,
    ) -> Result<Verdict, WorkflowNodeError> {
        let mut round = 0;
        loop {
            let verdict = self.await_verdict(cx, input, round).await?;
            if verdict.status != VerdictStatus::Unclear {
                return Ok(verdict);
            }
            let answer: Answer = cx.require_answer(
                &round_key(CLARIFY_QUESTION, round),
                &unjudged_question(input, &verdict),
            )?;
            if answer.reply != Some(Reply::Retry {}) {
                return Ok(verdict.settle_with_answer(&answer));
            }
            round += 1;
        }
    }

    /// Awaits the verdict of a round; each `retry` answer of a person starts the next round.
    async fn await_verdict(
        &self,
        cx: &mut NodeContext<'_>,
        input: &StepVerificationInput,
        round: u32,
    ) -> Result<Verdict, WorkflowNodeError> {
        let key = round_key(&format!("verify/{}", input.job_id), round);
        let life = cx.heartbeat();
        let body = VerifyStep {
            lease: self.0.lease_token(),
            job_id: input.job_id,
            expected_outputs: input.expected_outputs.clone(),
            criteria: input.criteria.clone(),
            is_last_step: input.is_last_step,
            wait_ms: POLL_MS,
        };
        cx.effect(&key, async {
            loop {
                let VerificationView { verdict, waiting_for } = self.0.call(&body).await?;
                if let Some(verdict) = verdict {
                    return Ok(verdict);
                }
                life.report_waiting(waiting_for.as_deref().unwrap_or("a verdict"));
            }
        })
        .await
    }

    /// Decides how the run continues; `None` if only a project manager could, and there is none.
    async fn decide_continuation(
        &self,
        cx: &mut NodeContext<'_>,
        input: &StepVerificationInput,
        verdict: &Verdict,
    ) -> Result<Option<ContinuationRecord>, WorkflowNodeError> {
        let (with, reason) = match self.await_decision(cx, input).await? {
            ContinuationView::Settled { with, reason } => (with, reason),
            ContinuationView::NoManager { .. } | ContinuationView::Waiting { .. } => {
                return Ok(None);
            }
        };
        let (how, reason) = match with {
            ContinueWith::Retry => (ContinuationOutcome::Retry, reason),
            ContinueWith::AskPerson => ask_retry(cx, &retry_question(input, verdict, &reason))?,
            // A rejected result is never accepted by a decision.
            ContinueWith::Continue | ContinueWith::GiveUp => (ContinuationOutcome::GiveUp, reason),
        };
        let (job_id, number) = (input.job_id, input.rejection.continued + 1);
        Ok(Some(ContinuationRecord { job_id, number, how, reason }))
    }

    async fn await_decision(
        &self,
        cx: &mut NodeContext<'_>,
        input: &StepVerificationInput,
    ) -> Result<ContinuationView, WorkflowNodeError> {
        let (key, life) = (format!("continue/{}", input.job_id), cx.heartbeat());
        let body = ContinueRun {
            lease: self.0.lease_token(),
            job_id: input.job_id,
            continued: input.rejection.continued,
            wait_ms: POLL_MS,
        };
        cx.effect(&key, async {
            loop {
                let view = self.0.call(&body).await?;
                let ContinuationView::Waiting { waiting_for } = &view else { return Ok(view) };
                life.report_waiting(waiting_for);
            }
        })
        .await
    }
}

impl StateBinding<WorkflowState> for VerifyStepResultNode {
    fn input(state: &WorkflowState) -> Result<StepVerificationInput, WorkflowNodeError> {
        let result = state.last_result.as_ref();
        let result =
            result.ok_or_else(|| WorkflowNodeError::Denied("no result to verify".to_owned()))?;
        let step = state.current_step();
        let number = state.current_step_index + 1;
        Ok(StepVerificationInput {
            job_id: result.job_id,
            expected_outputs: step.map(|s| s.expected_outputs.clone()).unwrap_or_default(),
            criteria: step.map(|s| s.criteria.clone()).unwrap_or_default(),
            is_last_step: state.is_at_last_step(),
            rejection: StepRejectionContext {
                ending: result.ending.clone(),
                may_retry: state.may_retry(),
                continued: state.continuation.as_ref().map_or(0, |before| before.number),
                step: [
                    format!("Step {number} of {}", state.plan.steps.len()),
                    step.map(|step| super::plan_steps::describe_step(number, step))
                        .unwrap_or_default(),
                ],
                author: step.map(|step| step.author).unwrap_or_default(),
            },
        })
    }

    fn apply(state: &mut WorkflowState, judged: StepVerificationOutcome) {
        if judged.verdict.is_accepted() {
            let of_step = state.current_step().map(|step| refine_criteria(&step.criteria));
            let mut criteria = of_step.unwrap_or_default();
            if state.is_at_last_step() {
                criteria.extend(refine_criteria(&state.acceptance_criteria));
            }
            state.tally = state.tally.with_verdict(&judged.verdict, &criteria);
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

/// The effect key of a round.
fn round_key(key: &str, round: u32) -> String {
    if round == 0 { key.to_owned() } else { format!("{key}/{round}") }
}

/// The question about criteria without a judgement, with the reason of each.
fn unjudged_question(input: &StepVerificationInput, verdict: &Verdict) -> Question {
    let [step, what] = &input.rejection.step;
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

/// The question about a rejected step.
fn retry_question(input: &StepVerificationInput, verdict: &Verdict, reason: &str) -> Question {
    let [step, what] = &input.rejection.step;
    let why = verdict.first_failure().unwrap_or("its result was not accepted");
    Question {
        kind: QuestionKind::Approval,
        text: format!("{step}: {why}; {reason}. Run it again?"),
        about: vec![what.clone()],
        accepts: vec![ReplyForm::Yes, ReplyForm::No],
    }
}

fn ask_retry(
    cx: &NodeContext<'_>,
    question: &Question,
) -> Result<(ContinuationOutcome, String), WorkflowNodeError> {
    let answer: Answer = cx.require_answer("continue", question)?;
    if let Some(refusal) = answer.refusal() {
        return Ok((ContinuationOutcome::GiveUp, refusal));
    }
    let by = answer.by.as_deref().unwrap_or("a person");
    Ok((ContinuationOutcome::Retry, format!("{by} chose to run it again")))
}
