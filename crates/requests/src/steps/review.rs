//! The review gate: reads the report of a reviewer and decides what follows.

use cynode_domain::report::ReviewFeedback;
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_domain::work::UnitKind;
use cynode_execution::artifacts::DiffScope;
use cynode_ops::work::WorkBoard;
use cynode_planning::requirements::list_requirements;
use cynode_planning::review::{
    GateDecision, MAX_REVIEW_BYTES, REVIEW_FILE, ReviewReport, ReviewRound, ReviewScope,
    decide_review, describe_left_out,
};
use cynode_store::AttemptStatus;
use serde_json::json;

use super::Step;
use super::conclude::message;
use crate::RequestError;

impl Step<'_> {
    /// Decides about the unit that a reviewer judged.
    pub(super) async fn conclude_review(
        mut self,
        attempt: &AttemptStatus,
        index: usize,
    ) -> Result<(), RequestError> {
        if self.is_stale(attempt, index)? {
            return self.discard(attempt, index).await;
        }
        let owner = self.owner().await?;
        let child = attempt.attempt.child;
        let own = self.read_changes(&owner, child, DiffScope::Own).await?;
        if let Some(file) = own.as_ref().and_then(|own| own.changes.files.first()) {
            let fault = format!("it changed {}: a reviewer changes nothing", file.path);
            return Box::pin(self.fail_review(attempt, fault)).await;
        }
        let text = self.read_artifact(&owner, child, REVIEW_FILE, MAX_REVIEW_BYTES).await?;
        let scope = ReviewScope {
            requirements: list_requirements(&self.snapshot.task.spec.prompt).len(),
            is_reduced: self.is_scope_reduced(self.board()?.unit(index)),
        };
        let report = match text.ok_or_else(|| format!("there is no {REVIEW_FILE}")) {
            Ok(text) => ReviewReport::parse(&text, scope),
            Err(fault) => Err(fault),
        };
        let report = match report {
            Ok(report) => report,
            Err(fault) => return Box::pin(self.fail_review(attempt, fault)).await,
        };
        self.snapshot.request.state.unit_failures.remove(&attempt.attempt.unit);
        let settings = self.snapshot.request.settings.clone();
        let feedback = report.to_feedback();
        let board = self.board_mut()?;
        board.transition(index, Status::Submitted)?;
        board.edit_unit(index).summary = Some(feedback.summary.clone());
        let Some(work) = implementation_index(board, index) else {
            board.approve(index)?;
            return self.finish_attempt(attempt, json!({ "result": "done" })).await;
        };
        let previous: Option<ReviewFeedback> = board
            .unit(work)
            .revision_feedback
            .clone()
            .and_then(|value| serde_json::from_value(value).ok());
        let decision = decide_review(&ReviewRound {
            feedback: &feedback,
            previous: previous.as_ref(),
            revisions: board.unit(work).revision_count,
            max_revisions: settings.max_review_rounds,
            skip_minor: settings.skip_minor_issues,
        });
        match decision {
            GateDecision::Approve { notes } => {
                board.approve(index)?;
                let all = describe_left_out(&report).into_iter().chain(notes);
                self.snapshot.request.state.notes.extend(all);
                let outcome = json!({ "result": "done", "message": feedback.summary, "verdict": "approved", "review": feedback });
                self.finish_attempt(attempt, outcome).await
            }
            GateDecision::Revise { feedback: issues } => {
                board.revise(work, json!(issues))?;
                let outcome = json!({ "result": "done", "message": feedback.summary, "verdict": "changes_requested", "review": feedback });
                self.finish_attempt(attempt, outcome).await
            }
            GateDecision::AskPerson { reason, notes } => {
                self.ask_about_unit(attempt, &reason, notes).await
            }
        }
    }

    /// A review that cannot be read is repeated as a failed attempt.
    async fn fail_review(self, attempt: &AttemptStatus, fault: String) -> Result<(), RequestError> {
        let failed = AttemptStatus {
            summary: Some(format!("the review was not accepted: {fault} ({})", message(attempt))),
            ..attempt.clone()
        };
        self.fail_unit(&failed).await
    }
}

/// The implementation that a review or a test is about.
pub(crate) fn implementation_index(board: &WorkBoard, index: usize) -> Option<usize> {
    let component = board.unit(index).component.clone();
    let is_it = |other: &usize| {
        board.unit(*other).component == component
            && board.unit(*other).kind == UnitKind::Implementation
    };
    (0..board.units().len()).find(is_it)
}
