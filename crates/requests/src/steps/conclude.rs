//! Takes note of an ended attempt.

use cynode_domain::ids::TaskId;
use cynode_domain::question::{Question, QuestionKind, ReplyForm};
use cynode_domain::request::{MAX_UNIT_FAILURES, QuestionSubject};
use cynode_domain::status::{TaskStatus, WorkUnitStatus as Status};
use cynode_domain::work::UnitKind;
use cynode_execution::artifacts::DiffScope;
use cynode_planning::tampering::find_tampering;
use cynode_store::AttemptStatus;
use serde_json::{Value, json};

use super::Step;
use crate::RequestError;
use crate::next_action::failures;
use crate::snapshot::{CONTEXT, INTEGRATE, MERGE, PUSH};

/// The longest message that an attempt leaves.
const MAX_MESSAGE_CHARS: usize = 2_000;

impl Step<'_> {
    pub(super) async fn conclude(self, child: TaskId) -> Result<(), RequestError> {
        let is_it = |attempt: &&AttemptStatus| attempt.attempt.child == child;
        let Some(attempt) = self.snapshot.attempts.iter().find(is_it).cloned() else {
            return Ok(());
        };
        let unit = attempt.attempt.unit.clone();
        match (unit.as_str(), attempt.status == TaskStatus::Completed) {
            (CONTEXT | MERGE, true) => {
                self.finish_attempt(&attempt, json!({ "result": "done" })).await
            }
            (INTEGRATE, true) => self.conclude_integration(&attempt).await,
            (PUSH, true) => self.conclude_push(&attempt).await,
            (INTEGRATE, false) if is_conflict(&attempt) && !self.has_merged_before() => {
                let outcome = json!({ "result": "conflict", "message": message(&attempt) });
                self.finish_attempt(&attempt, outcome).await
            }
            (CONTEXT | INTEGRATE | MERGE | PUSH, false) => self.fail_step(&attempt).await,
            (_, true) => Box::pin(self.conclude_unit(&attempt)).await,
            (_, false) => self.fail_unit(&attempt).await,
        }
    }

    /// Whether an agent resolved conflicts already.
    fn has_merged_before(&self) -> bool {
        self.snapshot.attempts_at(MERGE).count() >= 2
    }

    /// A unit whose child task completed: documents and code are checked for manipulation, reviews are read.
    async fn conclude_unit(mut self, attempt: &AttemptStatus) -> Result<(), RequestError> {
        let unit = attempt.attempt.unit.clone();
        self.snapshot.request.state.unit_failures.remove(&unit);
        let index = self.board()?.find_unit(&unit)?;
        match self.board()?.unit(index).kind {
            UnitKind::Review => Box::pin(self.conclude_review(attempt, index)).await,
            UnitKind::Spec | UnitKind::Design | UnitKind::Implementation | UnitKind::Test => {
                let owner = self.owner().await?;
                let diff = self.read_changes(&owner, attempt.attempt.child, DiffScope::Own).await?;
                let patch = diff.map(|diff| diff.patch).unwrap_or_default();
                let signs = find_tampering(&patch);
                let board = self.board_mut()?;
                board.transition(index, Status::Submitted)?;
                board.edit_unit(index).summary.clone_from(&attempt.summary);
                if !signs.is_empty() {
                    let about =
                        signs.iter().map(|sign| format!("{}: {}", sign.path, sign.what)).collect();
                    return self
                        .ask_about_unit(attempt, "its changes may weaken the checks", about)
                        .await;
                }
                board.approve(index)?;
                let data = json!({ "result": "done", "message": message(attempt) });
                self.finish_attempt(attempt, data).await
            }
        }
    }

    pub(super) fn board(&self) -> Result<&cynode_ops::work::WorkBoard, RequestError> {
        self.snapshot
            .board
            .as_ref()
            .ok_or_else(|| RequestError::Invalid(vec!["there is no plan".to_owned()]))
    }

    pub(super) fn board_mut(&mut self) -> Result<&mut cynode_ops::work::WorkBoard, RequestError> {
        self.snapshot
            .board
            .as_mut()
            .ok_or_else(|| RequestError::Invalid(vec!["there is no plan".to_owned()]))
    }

    /// Asks a person about the result of a unit.
    pub(super) async fn ask_about_unit(
        mut self,
        attempt: &AttemptStatus,
        reason: &str,
        about: Vec<String>,
    ) -> Result<(), RequestError> {
        let unit = attempt.attempt.unit.clone();
        let question = Question {
            kind: QuestionKind::Approval,
            text: format!(
                "{unit}: {reason}. Accept it as it is (yes), say what to change (text), or give up (no)?"
            ),
            about,
            accepts: vec![ReplyForm::Yes, ReplyForm::Text, ReplyForm::No],
        };
        self.set_question(QuestionSubject::ReviewCap { unit }, question);
        let outcome = json!({ "result": "done", "message": format!("a person decides: {reason}") });
        self.finish_attempt(attempt, outcome).await
    }

    /// The agent of a unit failed: it starts again, with less to do, and then a person is asked.
    pub(super) async fn fail_unit(mut self, attempt: &AttemptStatus) -> Result<(), RequestError> {
        let unit = attempt.attempt.unit.clone();
        let failed = failures(&self.snapshot, &unit) + 1;
        self.snapshot.request.state.unit_failures.insert(unit.clone(), failed);
        let reason = message(attempt);
        if failed >= MAX_UNIT_FAILURES || attempt.status == TaskStatus::Canceled {
            self.snapshot.request.state.unit_failures.insert(unit.clone(), MAX_UNIT_FAILURES);
            let question = Question {
                kind: QuestionKind::Clarification,
                text: format!(
                    "{unit} failed {failed} times. Try again (retry), help with a hint (text), or give up (no)?"
                ),
                about: vec![reason.clone()],
                accepts: vec![ReplyForm::Retry, ReplyForm::Text, ReplyForm::No],
            };
            self.set_question(QuestionSubject::UnitFailed { unit }, question);
        }
        self.finish_attempt(attempt, json!({ "result": "failed", "message": reason })).await
    }

    /// A step that is no unit failed: it is repeated, and then a person is asked.
    async fn fail_step(mut self, attempt: &AttemptStatus) -> Result<(), RequestError> {
        let step = attempt.attempt.unit.clone();
        let failed = failures(&self.snapshot, &step) + 1;
        self.snapshot.request.state.unit_failures.insert(step.clone(), failed);
        let reason = message(attempt);
        // Commands that fail once fail again; a push may meet another one.
        let limit = if step == PUSH { MAX_UNIT_FAILURES } else { 1 };
        if failed >= limit {
            let question = Question {
                kind: QuestionKind::Approval,
                text: format!("The step {step} failed. Try again?"),
                about: vec![reason.clone()],
                accepts: vec![ReplyForm::Retry, ReplyForm::No],
            };
            self.set_question(QuestionSubject::UnitFailed { unit: step }, question);
        }
        self.finish_attempt(attempt, json!({ "result": "failed", "message": reason })).await
    }

    /// Records what came of an attempt, together with the changes of the request.
    pub(super) async fn finish_attempt(
        self,
        attempt: &AttemptStatus,
        outcome: Value,
    ) -> Result<(), RequestError> {
        let (child, now) = (attempt.attempt.child, self.service.clock.now());
        let data = json!({
            "unit": attempt.attempt.unit, "attempt": attempt.attempt.number, "outcome": outcome,
            "waits": self.snapshot.request.question.is_some(),
        });
        self.save_with("request.attempt_ended", data, move |tx| {
            Box::pin(async move {
                tx.attempt_conclude(child, &outcome, now).await?;
                Ok(())
            })
        })
        .await
    }
}

fn is_conflict(attempt: &AttemptStatus) -> bool {
    attempt.summary.as_deref().is_some_and(|summary| summary.contains("merge conflict:"))
}

/// The summary of the child task, shortened.
pub(super) fn message(attempt: &AttemptStatus) -> String {
    let summary = attempt.summary.as_deref().unwrap_or("it ended without a summary");
    summary.chars().take(MAX_MESSAGE_CHARS).collect()
}
