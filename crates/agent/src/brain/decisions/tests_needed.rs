//! Decision: whether the tests must run for an approved change.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{WorkScope, object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// Endings of files that cannot break a program.
const PROSE: &[&str] = &[".md", ".txt", ".rst", ".adoc", "LICENSE"];

/// Decides whether the tests must run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestsNeeded {
    /// The size of the change.
    pub scope: WorkScope,
    pub changed: Vec<String>,
    /// Whether the installation requires passing tests.
    pub require_tests_pass: bool,
    pub has_tests: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestsDecision {
    pub needed: bool,
    pub reason: String,
}

impl TestsDecision {
    fn rule_answer(needed: bool, reason: &str) -> RuleAnswer<Self> {
        RuleAnswer::new(Self { needed, reason: reason.to_owned() }, reason)
    }
}

impl BrainDecision for TestsNeeded {
    type Answer = TestsDecision;

    const PURPOSE: &'static str = "tests_needed";
    const HINT: &'static str = "fast";

    fn schema(&self) -> Value {
        object_schema(&json!({
            "needed": { "type": "boolean", "description": "Whether the tests must run." },
            "reason": text_schema("Why, in one sentence.", 500),
        }))
    }

    fn prompt(&self) -> String {
        let scope = self.scope.as_str();
        let changed = untrusted::quote("changed files", &self.changed.join("\n"), 8 * 1024);
        format!("Must the tests run for this {scope} change?\n\n{changed}")
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<TestsDecision>> {
        if !self.has_tests {
            return Some(TestsDecision::rule_answer(false, "the project has no tests"));
        }
        let is_prose = |path: &String| PROSE.iter().any(|ending| path.ends_with(ending));
        if !self.changed.is_empty() && self.changed.iter().all(is_prose) {
            return Some(TestsDecision::rule_answer(false, "only documents changed"));
        }
        (self.require_tests_pass || self.scope >= WorkScope::Medium)
            .then(|| TestsDecision::rule_answer(true, "tests must pass first"))
    }

    fn fallback(&self) -> RuleAnswer<TestsDecision> {
        TestsDecision::rule_answer(self.require_tests_pass, "as configured")
    }

    fn summarize(answer: &TestsDecision) -> String {
        let needed = if answer.needed { "tests" } else { "no tests" };
        format!("{needed}: {}", answer.reason)
    }
}
