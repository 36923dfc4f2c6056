//! Takes note of an ended attempt.

use cynode_domain::ids::TaskId;
use cynode_domain::question::{Question, QuestionKind, ReplyForm};
use cynode_domain::report::{ReviewFeedback, ReviewIssue, Verdict};
use cynode_domain::request::{MAX_UNIT_FAILURES, QuestionSubject};
use cynode_domain::status::{TaskStatus, WorkUnitStatus as Status};
use cynode_domain::work::UnitKind;
use cynode_execution::artifacts::DiffScope;
use cynode_store::AttemptStatus;
use serde_json::{Value, json};

use super::Step;
use super::review::implementation_index;
use super::sources::{blocking_finding, is_source_kind};
use crate::RequestError;
use crate::next_action::failures;
use crate::remember::remember_failure;
use crate::snapshot::{CONTEXT, INTEGRATE, MERGE, PUSH, REVISE, is_budget_stop, is_passed};

/// The longest message that an attempt leaves.
const MAX_MESSAGE_CHARS: usize = 2_000;

impl Step<'_> {
    pub(super) async fn conclude(self, child: TaskId) -> Result<(), RequestError> {
        let is_it = |attempt: &&AttemptStatus| attempt.attempt.child == child;
        let Some(attempt) = self.snapshot.attempts.iter().find(is_it).cloned() else {
            return Ok(());
        };
        let unit = attempt.attempt.unit.clone();
        if attempt.status == TaskStatus::Failed
            && let Some(refused) = self.find_budget_stop(child).await?
        {
            return self.conclude_budget_stop(&attempt, &refused).await;
        }
        match (unit.as_str(), attempt.status == TaskStatus::Completed) {
            (CONTEXT, true) => self.finish_attempt(&attempt, json!({ "result": "done" })).await,
            (MERGE, true) => Box::pin(self.conclude_merge(&attempt)).await,
            (INTEGRATE, true) => Box::pin(self.conclude_integration(&attempt)).await,
            (PUSH, true) => self.conclude_push(&attempt).await,
            (REVISE, true) => Box::pin(self.conclude_revision(&attempt)).await,
            (INTEGRATE, false) if is_conflict(&attempt) && !self.has_merged_before() => {
                let outcome = json!({ "result": "conflict", "message": message(&attempt) });
                self.finish_attempt(&attempt, outcome).await
            }
            (CONTEXT | INTEGRATE | MERGE | PUSH | REVISE, false) => self.fail_step(&attempt).await,
            (_, true) => Box::pin(self.conclude_unit(&attempt)).await,
            (_, false) => Box::pin(self.conclude_failed_unit(&attempt)).await,
        }
    }

    /// Whether an agent resolved conflicts already.
    fn has_merged_before(&self) -> bool {
        self.snapshot.attempts_at(MERGE).filter(|merge| !is_budget_stop(merge)).count() >= 2
    }

    /// A unit whose child task completed: documents and code are checked for manipulation, reviews are read.
    async fn conclude_unit(mut self, attempt: &AttemptStatus) -> Result<(), RequestError> {
        let unit = attempt.attempt.unit.clone();
        let index = self.board()?.find_unit(&unit)?;
        match self.board()?.unit(index).kind {
            UnitKind::Review => Box::pin(self.conclude_review(attempt, index)).await,
            UnitKind::Test if self.is_stale(attempt, index)? => self.discard(attempt, index).await,
            UnitKind::Test => {
                let board = self.board_mut()?;
                board.transition(index, Status::Submitted)?;
                board.edit_unit(index).summary.clone_from(&attempt.summary);
                board.approve(index)?;
                self.snapshot.request.state.unit_failures.remove(&unit);
                let outcome = json!({ "result": "done", "message": message(attempt) });
                self.finish_attempt(attempt, outcome).await
            }
            UnitKind::Spec | UnitKind::Design | UnitKind::Implementation => {
                Box::pin(self.conclude_work(attempt, index)).await
            }
        }
    }

    /// Changes of an agent: those that must not be used are a failure, and signs of manipulation are left to a person. All
    /// changes are checked, also those of earlier attempts.
    async fn conclude_work(
        mut self,
        attempt: &AttemptStatus,
        index: usize,
    ) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        let diff = self.read_changes(&owner, attempt.attempt.child, DiffScope::All).await?;
        if let Some(finding) = diff.as_ref().and_then(blocking_finding) {
            let summary = format!("its changes must not be used: {finding}");
            return self
                .fail_unit(&AttemptStatus { summary: Some(summary), ..attempt.clone() })
                .await;
        }
        let signs = self.find_open_signs(attempt.attempt.child, diff.as_ref());
        self.snapshot.request.state.unit_failures.remove(&attempt.attempt.unit);
        let board = self.board_mut()?;
        board.transition(index, Status::Submitted)?;
        board.edit_unit(index).summary.clone_from(&attempt.summary);
        if !signs.is_empty() {
            return self.ask_about_unit(attempt, "its changes may weaken the checks", signs).await;
        }
        board.approve(index)?;
        self.finish_attempt(attempt, json!({ "result": "done", "message": message(attempt) })).await
    }

    /// Concludes an attempt that resolved conflicts; its other changes are checked like those of any unit.
    async fn conclude_merge(mut self, attempt: &AttemptStatus) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        let diff = self.read_changes(&owner, attempt.attempt.child, DiffScope::All).await?;
        let signs = self.find_open_signs(attempt.attempt.child, diff.as_ref());
        if signs.is_empty() {
            if self.snapshot.request.state.fix.feedback.take().is_some() {
                let note = "an agent corrected the merged result after its review";
                self.snapshot.request.state.notes.push(note.to_owned());
            }
            self.snapshot.request.state.unit_failures.remove(MERGE);
            return self.finish_attempt(attempt, json!({ "result": "done" })).await;
        }
        Box::pin(self.ask_about_step(attempt, diff.is_some(), signs)).await
    }

    /// Whether an attempt judged another state of the implementation than the present one.
    pub(super) fn is_stale(
        &self,
        attempt: &AttemptStatus,
        index: usize,
    ) -> Result<bool, RequestError> {
        let board = self.board()?;
        let Some(work) = implementation_index(board, index) else { return Ok(false) };
        let unit = board.unit(work);
        let judged = attempt.attempt.sequence;
        let accepted = self.snapshot.accepted_attempt(&unit.id);
        let is_newer = accepted.is_some_and(|newest| newest.attempt.sequence > judged);
        Ok(!is_passed(unit.status) || is_newer)
    }

    /// Repeats a review or a test whose subject has changed meanwhile.
    pub(super) async fn discard(
        mut self,
        attempt: &AttemptStatus,
        index: usize,
    ) -> Result<(), RequestError> {
        let board = self.board_mut()?;
        board.transition(index, Status::Submitted)?;
        board.transition(index, Status::RevisionRequested)?;
        let outcome = json!({ "result": "stale", "message": "its subject has changed meanwhile" });
        self.finish_attempt(attempt, outcome).await
    }

    /// A failed test sends the implementation back; every other unit is started again.
    async fn conclude_failed_unit(mut self, attempt: &AttemptStatus) -> Result<(), RequestError> {
        let index = self.board()?.find_unit(&attempt.attempt.unit)?;
        let unit = self.board()?.unit(index);
        let is_test = unit.kind == UnitKind::Test;
        // The agent of the next attempt resolves the conflict, once; a second conflict is a failure like any other.
        if is_conflict(attempt)
            && is_source_kind(unit.kind)
            && !self.snapshot.has_conflict(&unit.id)
        {
            let outcome = json!({ "result": "conflict", "message": message(attempt) });
            return self.finish_attempt(attempt, outcome).await;
        }
        if !is_test || attempt.status != TaskStatus::Failed {
            return self.fail_unit(attempt).await;
        }
        if self.is_stale(attempt, index)? {
            return self.discard(attempt, index).await;
        }
        let limit = self.snapshot.request.settings.max_review_rounds;
        let reason = message(attempt);
        let board = self.board_mut()?;
        board.transition(index, Status::Submitted)?;
        let work = implementation_index(board, index);
        match work.filter(|work| board.unit(*work).revision_count < limit) {
            Some(work) => {
                board.revise(work, json!(failed_test_feedback(&reason)))?;
                let outcome = json!({ "result": "failed", "message": reason });
                self.finish_attempt(attempt, outcome).await
            }
            None => self.ask_about_unit(attempt, "the tests fail", vec![reason]).await,
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
    pub(super) async fn fail_step(mut self, attempt: &AttemptStatus) -> Result<(), RequestError> {
        let step = attempt.attempt.unit.clone();
        let failed = failures(&self.snapshot, &step) + 1;
        self.snapshot.request.state.unit_failures.insert(step.clone(), failed);
        let reason = message(attempt);
        // Commands that fail once fail again; a push may meet another one.
        let is_repeated = match attempt.status {
            TaskStatus::Failed => step == PUSH || step == REVISE,
            // It ended well, but left nothing that can be used.
            TaskStatus::Completed => step == INTEGRATE,
            TaskStatus::Pending
            | TaskStatus::Running
            | TaskStatus::Canceled
            | TaskStatus::Superseded => false,
        };
        let limit = if is_repeated { MAX_UNIT_FAILURES } else { 1 };
        if failed >= limit {
            let mut question = Question {
                kind: QuestionKind::Approval,
                text: format!("The step {step} failed. Try again?"),
                about: vec![reason.clone()],
                accepts: vec![ReplyForm::Retry, ReplyForm::No],
            };
            if step == INTEGRATE && attempt.status == TaskStatus::Failed && self.may_fix_result() {
                "The tests of the merged result fail. Have an agent correct it (yes, or text with a hint), run them again (retry), or give up (no)?"
                    .clone_into(&mut question.text);
                question.accepts.extend([ReplyForm::Yes, ReplyForm::Text]);
            }
            self.set_question(QuestionSubject::UnitFailed { unit: step }, question);
        }
        self.finish_attempt(attempt, json!({ "result": "failed", "message": reason })).await
    }

    /// Whether an agent may correct the merged result once more.
    fn may_fix_result(&self) -> bool {
        let request = &self.snapshot.request;
        request.state.fix.rounds < request.settings.max_review_rounds.max(1)
    }

    /// Records the outcome of an attempt, together with the changes of the request.
    pub(super) async fn finish_attempt(
        self,
        attempt: &AttemptStatus,
        outcome: Value,
    ) -> Result<(), RequestError> {
        let (child, now) = (attempt.attempt.child, self.service.clock.now());
        let (task, unit) = (self.snapshot.task.clone(), attempt.attempt.unit.clone());
        let number = attempt.attempt.number;
        let data = json!({
            "unit": attempt.attempt.unit, "attempt": attempt.attempt.number, "outcome": outcome,
            "waits": self.snapshot.request.question.is_some(),
        });
        self.save_with("request.attempt_ended", data, move |tx| {
            Box::pin(async move {
                tx.attempt_conclude(child, &outcome, now).await?;
                if outcome["result"] == "failed" {
                    let reason = outcome["message"].as_str().unwrap_or("no reason was given");
                    remember_failure(tx, &task, &unit, number, reason, now).await?;
                }
                Ok(())
            })
        })
        .await
    }
}

/// The feedback to an agent about failed tests.
fn failed_test_feedback(reason: &str) -> ReviewFeedback {
    let issue = ReviewIssue {
        description: format!("the tests of the project fail: {reason}"),
        file_location: String::new(),
        how_to_fix: "make them pass without changing what they check".to_owned(),
    };
    ReviewFeedback {
        verdict: Verdict::ChangesRequested,
        critical_issues: vec![issue],
        major_issues: vec![],
        minor_issues: vec![],
        summary: "the tests fail".to_owned(),
    }
}

fn is_conflict(attempt: &AttemptStatus) -> bool {
    attempt
        .summary
        .as_deref()
        .is_some_and(|summary| summary.contains("could not start: merge conflict: "))
}

/// The summary of the child task, shortened.
pub(super) fn message(attempt: &AttemptStatus) -> String {
    let summary = attempt.summary.as_deref().unwrap_or("it ended without a summary");
    summary.chars().take(MAX_MESSAGE_CHARS).collect()
}
