//! Signs of manipulation in changes: what may weaken the checks of the project. Only people accept them.

use std::collections::BTreeSet;

use cynode_domain::ids::TaskId;
use cynode_domain::question::{Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::request::QuestionSubject;
use cynode_planning::tampering::find_tampering;
use cynode_store::AttemptStatus;
use cynode_wire::git::TaskDiffView;
use serde_json::json;

use super::Step;
use super::conclude::message;
use crate::RequestError;

/// The most signs of manipulation that a person is asked about at once.
const MAX_SIGNS: usize = 20;

impl Step<'_> {
    /// Signs in the changes of a child task that no person accepted, the first [`MAX_SIGNS`] of them. Changes that cannot be
    /// read are a sign, and so are signs that are not listed, which no earlier answer accepts.
    ///
    /// Invariant: a sign about changes that were not checked names them, because an accepted sign is not asked about again:
    /// its acceptance must cover no other changes.
    pub(super) fn find_open_signs(
        &self,
        child: TaskId,
        diff: Option<&TaskDiffView>,
    ) -> Vec<String> {
        let mut signs: Vec<String> = describe_unchecked(child, diff).into_iter().collect();
        let patch = diff.map(|diff| diff.patch.as_str()).unwrap_or_default();
        let found = find_tampering(patch).into_iter();
        signs.extend(found.map(|sign| format!("{}: {}", sign.path, sign.what)));
        let answers = self.snapshot.request.state.answers.iter();
        let accepted: BTreeSet<&String> = answers
            .filter(|answered| answered.answer.reply == Some(Reply::Yes {}))
            .flat_map(|answered| &answered.asked.question.about)
            .collect();
        signs.retain(|sign| !accepted.contains(sign));
        let hidden = signs.len().saturating_sub(MAX_SIGNS);
        if hidden > 0 {
            signs.truncate(MAX_SIGNS);
            // Added after the accepted signs were removed: an earlier answer with the same words was about other signs.
            signs
                .push(format!("{hidden} more signs, which are not listed: read the changes first"));
        }
        signs
    }

    /// Asks a person to accept signs in the changes of a step that is no unit, or to repeat the step. A step whose changes
    /// were not collected has failed: they cannot be used.
    ///
    /// The attempt is concluded after the answer, when this is decided again: accepted signs are no longer open then.
    pub(super) async fn ask_about_step(
        mut self,
        attempt: &AttemptStatus,
        is_collected: bool,
        signs: Vec<String>,
    ) -> Result<(), RequestError> {
        let summary = format!("its changes may weaken the checks: {}", signs.join("; "));
        let failed = AttemptStatus { summary: Some(summary), ..attempt.clone() };
        if !is_collected {
            return self.fail_step(&failed).await;
        }
        let (step, number) = (attempt.attempt.unit.clone(), attempt.attempt.number);
        let text = format!(
            "{step}, attempt {number}: its changes may weaken the checks. Accept them as they are (yes), repeat the step (retry), or give up (no)?"
        );
        if self.is_rejected(&text) {
            let outcome = json!({ "result": "failed", "message": message(&failed) });
            return self.finish_attempt(&failed, outcome).await;
        }
        let question = Question {
            kind: QuestionKind::Approval,
            text,
            about: signs,
            accepts: vec![ReplyForm::Yes, ReplyForm::Retry, ReplyForm::No],
        };
        self.set_question(QuestionSubject::ReviewCap { unit: step }, question);
        self.save_question().await
    }

    /// Whether a person answered this question otherwise than with yes.
    fn is_rejected(&self, text: &str) -> bool {
        self.snapshot.request.state.answers.iter().any(|answered| {
            answered.asked.question.text == text && answered.answer.reply != Some(Reply::Yes {})
        })
    }
}

/// Why the changes of a child task could not be checked completely; `None` if they were.
fn describe_unchecked(child: TaskId, diff: Option<&TaskDiffView>) -> Option<String> {
    match diff {
        None => Some(format!(
            "the changes of task {child} were not collected, so they were not checked"
        )),
        Some(diff) if diff.is_truncated => Some(format!(
            "the changes up to commit {} are too long to be checked",
            diff.changes.head
        )),
        Some(_) => None,
    }
}
