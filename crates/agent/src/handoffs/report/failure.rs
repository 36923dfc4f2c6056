//! Decides how to continue after a failure and instructs the agent.

use cynode_domain::agent::InstructionKind;
use cynode_domain::report::TestResults;
use serde_json::json;

use super::ReportContext;
use crate::HandoffAgentError;
use crate::brain::decisions::{FailureAction, HandleFailure};
use crate::context::untrusted;

/// Failures of an agent before the problem is escalated to a person.
const MAX_FAILURES: u32 = 3;
/// Report types that count as a failure.
const FAILURES: &[&str] = &["tests_failed", "work_blocked", "blocked"];

impl ReportContext {
    /// Testers fix nothing: sends the failure to the role that did the work.
    pub(super) async fn handle_failed_tests(
        &mut self,
        tests: &TestResults,
    ) -> Result<String, HandoffAgentError> {
        let names: Vec<String> =
            tests.failures.iter().map(|test| format!("{}: {}", test.name, test.message)).collect();
        let what =
            format!("{} of {} tests failed\n{}", tests.failed, tests.total, names.join("\n"));
        let mut to = self.from.clone();
        if to.starts_with("tester") {
            to = self.choose_owner(&what).await?.unwrap_or(to);
        }
        self.handle_failure(&to, &what).await
    }

    /// Decides about a failure and instructs the agent.
    pub(super) async fn handle_failure(
        &mut self,
        to: &str,
        error: &str,
    ) -> Result<String, HandoffAgentError> {
        let count = self.component_reports(FAILURES).count();
        let question = HandleFailure {
            role: to.to_owned(),
            // Includes the current failure, unless it is beyond the loaded messages.
            failures: u32::try_from(count).unwrap_or(u32::MAX).max(1),
            max_failures: MAX_FAILURES,
            error: error.to_owned(),
            checkpoint: None,
        };
        let handled = self.work.decide(&question).await?;
        let (kind, words) = match handled.action {
            FailureAction::Retry => {
                (InstructionKind::Continue, "Try again; fix what failed first.")
            }
            FailureAction::ReduceScope => (
                InstructionKind::ReduceScope,
                "Do less: leave out what failed, and report what you left out.",
            ),
            FailureAction::Escalate => {
                self.needs_person = Some(format!("{to} failed: {}", untrusted::inline(error)));
                (InstructionKind::Pause, "Wait: a person decides how to continue.")
            }
        };
        if kind != InstructionKind::Pause {
            self.resume_unit().await?;
        }
        self.instruct(to, kind, words, json!({ "failure": untrusted::inline(error) })).await?;
        Ok(format!("instructed {to}: {words} ({})", untrusted::inline(&handled.reason)))
    }
}
