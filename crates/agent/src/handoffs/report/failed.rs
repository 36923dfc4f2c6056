//! Something failed: whoever can mend it is told how it goes on.

use cynode_domain::agent::InstructionKind;
use cynode_domain::report::TestResults;
use serde_json::json;

use super::Matter;
use crate::AgentError;
use crate::brain::decisions::{FailureAction, HandleFailure};
use crate::context::untrusted;

/// How often an agent may fail before a person is asked.
const MAX_FAILURES: u32 = 3;
/// The reports that count as a failure.
const FAILURES: &[&str] = &["tests_failed", "work_blocked", "blocked"];

impl Matter {
    /// Who tests does not mend: the failure goes to whoever did the work.
    pub(super) async fn tests_failed(&mut self, tests: &TestResults) -> Result<String, AgentError> {
        let names: Vec<String> =
            tests.failures.iter().map(|test| format!("{}: {}", test.name, test.message)).collect();
        let what =
            format!("{} of {} tests failed\n{}", tests.failed, tests.total, names.join("\n"));
        let mut to = self.from.clone();
        if to.starts_with("tester") {
            to = self.owner(&what).await?.unwrap_or(to);
        }
        self.failed(&to, &what).await
    }

    /// Decides about a failure, and tells the agent.
    pub(super) async fn failed(&mut self, to: &str, error: &str) -> Result<String, AgentError> {
        let count = self.reports(FAILURES).count();
        let question = HandleFailure {
            role: to.to_owned(),
            // The present one is among them, unless more was said since than is looked at.
            failures: u32::try_from(count).unwrap_or(u32::MAX).max(1),
            max_failures: MAX_FAILURES,
            error: error.to_owned(),
            checkpoint: None,
        };
        let handled = self.work.think(&question).await?;
        let (kind, words) = match handled.action {
            FailureAction::Retry => {
                (InstructionKind::Continue, "Try again; mend what failed first.")
            }
            FailureAction::ReduceScope => (
                InstructionKind::ReduceScope,
                "Do less: leave out what failed, and say what you left out.",
            ),
            FailureAction::Escalate => {
                self.needs_person = Some(format!("{to} failed: {}", untrusted::inline(error)));
                (InstructionKind::Pause, "Wait: a person decides how it goes on.")
            }
        };
        if kind != InstructionKind::Pause {
            self.resume_unit().await?;
        }
        self.instruct((to, kind), words, json!({ "failure": untrusted::inline(error) })).await?;
        Ok(format!("{to} is told: {words} ({})", untrusted::inline(&handled.reason)))
    }
}
