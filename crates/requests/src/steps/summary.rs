//! Ends a request: what was done, who decided what, what it was verified by, and what is left open.

use cynode_domain::question::Reply;
use cynode_domain::request::{Decided, Delivery, QuestionSubject};
use cynode_domain::status::{RequestPhase, TaskStatus};
use cynode_domain::verification::VerificationStatus;
use cynode_domain::work::UnitKind;
use cynode_execution::tasks::close_with_children;
use serde_json::json;

use super::Step;
use crate::RequestError;
use crate::snapshot::{INTEGRATE, is_done};

impl Step<'_> {
    pub(super) async fn complete(mut self) -> Result<(), RequestError> {
        let summary = self.summarize();
        let verification = self.verification();
        self.snapshot.request.phase = self.snapshot.request.phase.advance(RequestPhase::Ended)?;
        let task = self.snapshot.task.spec.id;
        let data = json!({ "summary": summary, "delivery": self.snapshot.request.state.delivery });
        self.save_with("request.completed", data, move |tx| {
            Box::pin(async move {
                close_with_children(tx, task, TaskStatus::Completed, &summary).await?;
                tx.task_set_verification(task, verification).await?;
                Ok(())
            })
        })
        .await
    }

    /// A result is verified if the project's tests passed on it or a reviewer judged every requirement, and no person accepted
    /// open issues.
    pub(super) fn verification(&self) -> VerificationStatus {
        let is_reviewed =
            self.snapshot.board.as_ref().is_some_and(|board| {
                board.units().iter().any(|unit| unit.kind == UnitKind::Review)
            });
        let is_overridden = self.snapshot.request.state.answers.iter().any(|answered| {
            matches!(answered.asked.subject, QuestionSubject::ReviewCap { .. })
                && answered.answer.reply == Some(Reply::Yes {})
        });
        let is_judged = self.has_passed_tests() || is_reviewed;
        match (self.snapshot.request.settings.dry_run, is_judged, is_overridden) {
            (true, ..) | (false, false, false) => VerificationStatus::NotChecked,
            (false, _, true) => VerificationStatus::Unverified,
            (false, true, false) => VerificationStatus::Verified,
        }
    }

    /// Whether the tests of the project ran on the merged result and passed.
    fn has_passed_tests(&self) -> bool {
        let request = &self.snapshot.request;
        let has_tests =
            request.state.context.as_ref().is_some_and(|context| !context.test_commands.is_empty());
        let is_integrated = self.snapshot.newest_attempt(INTEGRATE).is_some_and(is_done);
        request.settings.require_tests_pass && has_tests && is_integrated
    }

    pub(super) fn summarize(&self) -> String {
        let state = &self.snapshot.request.state;
        let mut lines = vec![self.result_line()];
        lines.extend(decision_line("kind", state.kind.as_ref(), ToString::to_string));
        lines.extend(decision_line("scope", state.scope.as_ref(), ToString::to_string));
        lines.extend(decision_line("workflow", state.workflow.as_ref(), |units| names(units)));
        if let Some(board) = &self.snapshot.board {
            for unit in board.units() {
                let attempts = self.snapshot.attempts_at(&unit.id).count();
                let rounds = match unit.revision_count {
                    0 => String::new(),
                    1 => ", sent back once".to_owned(),
                    count => format!(", sent back {count} times"),
                };
                let noun = if attempts == 1 { "attempt" } else { "attempts" };
                lines.push(format!("unit {}: {}, {attempts} {noun}{rounds}", unit.id, unit.status));
            }
        }
        lines.push(self.test_line());
        lines.extend(state.notes.iter().map(|note| format!("open: {note}")));
        lines.join("\n")
    }

    fn test_line(&self) -> String {
        let (request, context) = (&self.snapshot.request, &self.snapshot.request.state.context);
        let commands =
            context.as_ref().map(|context| context.test_commands.join(", ")).unwrap_or_default();
        if !request.settings.require_tests_pass {
            "tests: not required".to_owned()
        } else if commands.is_empty() {
            "tests: the project has none".to_owned()
        } else if self.has_passed_tests() {
            format!("tests: {commands} passed")
        } else {
            format!("tests: {commands}, not run")
        }
    }

    fn result_line(&self) -> String {
        let request = &self.snapshot.request;
        if request.settings.dry_run {
            return "dry run: nothing was changed".to_owned();
        }
        match &request.state.delivery {
            Some(delivery) if delivery.head.is_none() => "nothing had to be changed".to_owned(),
            Some(Delivery { pull_request: Some(url), .. }) => {
                format!("delivered as pull request {url}")
            }
            Some(delivery) if delivery.is_pushed => {
                format!("delivered as branch {}", delivery.branch)
            }
            _ => "delivered as a patch".to_owned(),
        }
    }
}

fn decision_line<T>(
    what: &str,
    decided: Option<&Decided<T>>,
    show: impl Fn(&T) -> String,
) -> Option<String> {
    let decided = decided?;
    Some(format!("{what}: {} ({}: {})", show(&decided.value), decided.by, decided.reason))
}

fn names(units: &[UnitKind]) -> String {
    units.iter().map(|unit| unit.as_str()).collect::<Vec<_>>().join(", ")
}
