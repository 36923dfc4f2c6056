//! Whether a change that was approved needs its tests run.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Scope, object, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// What cannot break a program.
const PROSE: &[&str] = &[".md", ".txt", ".rst", ".adoc", "LICENSE"];

/// Must the tests run?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestsNeeded {
    /// How big the change is.
    pub scope: Scope,
    /// The files that changed.
    pub changed: Vec<String>,
    /// Whether the installation demands that tests pass.
    pub require_tests_pass: bool,
    /// Whether the project has tests.
    pub has_tests: bool,
}

/// Whether tests must run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestsDecision {
    /// Whether.
    pub needed: bool,
    /// Why.
    pub reason: String,
}

impl TestsDecision {
    fn ruled(needed: bool, reason: &str) -> Ruling<Self> {
        Ruling::new(Self { needed, reason: reason.to_owned() }, reason)
    }
}

impl Decision for TestsNeeded {
    type Answer = TestsDecision;

    const PURPOSE: &'static str = "tests_needed";
    const HINT: &'static str = "fast";

    fn schema(&self) -> Value {
        object(&json!({
            "needed": { "type": "boolean", "description": "Whether the tests must run." },
            "reason": text("Why, in one sentence.", 500),
        }))
    }

    fn prompt(&self) -> String {
        let scope = self.scope.as_str();
        let changed = untrusted::quote("changed files", &self.changed.join("\n"), 8 * 1024);
        format!("Must the tests run for this {scope} change?\n\n{changed}")
    }

    fn by_rule(&self) -> Option<Ruling<TestsDecision>> {
        if !self.has_tests {
            return Some(TestsDecision::ruled(false, "the project has no tests"));
        }
        let is_prose = |path: &String| PROSE.iter().any(|ending| path.ends_with(ending));
        if !self.changed.is_empty() && self.changed.iter().all(is_prose) {
            return Some(TestsDecision::ruled(false, "only documents changed"));
        }
        (self.require_tests_pass || self.scope >= Scope::Medium)
            .then(|| TestsDecision::ruled(true, "tests must pass before it goes on"))
    }

    fn fallback(&self) -> Ruling<TestsDecision> {
        TestsDecision::ruled(self.require_tests_pass, "as the installation demands")
    }

    fn summary(answer: &TestsDecision) -> String {
        let needed = if answer.needed { "tests" } else { "no tests" };
        format!("{needed}: {}", answer.reason)
    }
}
