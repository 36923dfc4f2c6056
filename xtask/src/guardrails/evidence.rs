//! Which tests exist, and how they ended.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::junit::Report;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the list of tests that would run; it was not run now.
    Listed,
    /// It ran and passed.
    Passed,
    /// It ran and failed.
    Failed,
    /// It did not run.
    Skipped,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Listed => "is listed",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "did not run",
        })
    }
}

/// What the evidence says about a named test.
#[derive(Debug, PartialEq, Eq)]
pub enum Finding {
    /// Every test of that name passed (or is listed, when nothing was run).
    Proves,
    /// No test has that name.
    Unknown,
    /// One of them did not pass.
    DidNotPass {
        /// Its full name.
        test: String,
        /// How it ended.
        outcome: Outcome,
    },
}

/// Every test by its full name: the test binary, then the path in it, joined by `::`.
#[derive(Debug, Default)]
pub struct Evidence {
    tests: BTreeMap<String, Outcome>,
}

impl Evidence {
    /// Evidence of given outcomes.
    pub fn from_outcomes(tests: impl IntoIterator<Item = (String, Outcome)>) -> Self {
        Self { tests: tests.into_iter().collect() }
    }

    /// This evidence and more.
    #[must_use]
    pub fn and(mut self, tests: impl IntoIterator<Item = (String, Outcome)>) -> Self {
        self.tests.extend(tests);
        self
    }

    /// Evidence that all of `tests` passed.
    pub fn all_passed<'a>(tests: impl IntoIterator<Item = &'a str>) -> Self {
        Self::from_outcomes(tests.into_iter().map(|name| (name.to_owned(), Outcome::Passed)))
    }

    /// The outcomes in the report of a run.
    pub fn of_report(report: &Report) -> Self {
        Self::from_outcomes(report.cases.iter().map(|case| (case.full_name(), case.outcome)))
    }

    /// The tests that `cargo nextest list --message-format json` names and that would run.
    pub fn listed_tests(json: &str) -> Result<Vec<ListedTest>> {
        let list: List =
            serde_json::from_str(json).context("the list of tests is not as expected")?;
        let tests = list.suites.into_iter().flat_map(|(binary, suite)| {
            let runs = suite.testcases.into_iter().filter(|(_, case)| !case.ignored);
            runs.map(move |(name, _)| ListedTest { binary: binary.clone(), name })
        });
        Ok(tests.collect())
    }

    /// The tests that `cargo nextest list --message-format json` names.
    pub fn of_list(json: &str) -> Result<Self> {
        let list: List =
            serde_json::from_str(json).context("the list of tests is not as expected")?;
        let tests = list.suites.into_iter().flat_map(|(binary, suite)| {
            suite.testcases.into_iter().map(move |(name, case)| {
                let outcome = if case.ignored { Outcome::Skipped } else { Outcome::Listed };
                (format!("{binary}::{name}"), outcome)
            })
        });
        Ok(Self::from_outcomes(tests))
    }

    /// What is known of the tests named `name`: its full name, or the end of it from a `::` on.
    ///
    /// One name may stand for several tests, such as a law that every backend obeys; then all of
    /// them must pass.
    pub fn find(&self, name: &str) -> Finding {
        let mut known = false;
        for (test, outcome) in &self.tests {
            if !is_end_of_path(test, name) {
                continue;
            }
            known = true;
            if matches!(outcome, Outcome::Failed | Outcome::Skipped) {
                return Finding::DidNotPass { test: test.clone(), outcome: *outcome };
            }
        }
        if known { Finding::Proves } else { Finding::Unknown }
    }

    /// Where the evidence comes from, in words.
    pub fn origin(&self) -> &'static str {
        if self.tests.values().any(|outcome| *outcome == Outcome::Listed) {
            "the list of tests"
        } else {
            "the report of a run"
        }
    }
}

/// A test that a build has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedTest {
    /// The test binary, such as `cynode-node::it`.
    pub binary: String,
    /// The test's path in the binary.
    pub name: String,
}

impl ListedTest {
    /// The binary and the path, joined.
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.binary, self.name)
    }

    /// Whether `name`, as a requirement gives it, stands for this test.
    pub fn is_named(&self, name: &str) -> bool {
        is_end_of_path(&self.full_name(), name)
    }

    /// The nextest filter that selects this test alone.
    pub fn filter(&self) -> String {
        format!("(binary_id(={}) & test(={}))", self.binary, self.name)
    }
}

fn is_end_of_path(path: &str, name: &str) -> bool {
    path == name || path.strip_suffix(name).is_some_and(|rest| rest.ends_with("::"))
}

#[derive(Deserialize)]
struct List {
    #[serde(rename = "rust-suites")]
    suites: BTreeMap<String, Suite>,
}

#[derive(Deserialize)]
struct Suite {
    testcases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
struct Case {
    ignored: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_end_of_a_path_and_not_of_a_word() {
        let evidence = Evidence::all_passed(["cynode-x::a::tests::second_runner_waits"]);

        assert_eq!(evidence.find("second_runner_waits"), Finding::Proves);
        assert_eq!(evidence.find("tests::second_runner_waits"), Finding::Proves);
        assert_eq!(evidence.find("runner_waits"), Finding::Unknown);
    }

    #[test]
    fn a_law_must_pass_on_every_backend() {
        let evidence = Evidence::from_outcomes([
            ("cynode-store::sqlite::law".to_owned(), Outcome::Passed),
            ("cynode-store::postgres::law".to_owned(), Outcome::Failed),
        ]);

        assert_eq!(
            evidence.find("law"),
            Finding::DidNotPass {
                test: "cynode-store::postgres::law".to_owned(),
                outcome: Outcome::Failed
            }
        );
    }

    #[test]
    fn the_list_of_tests_is_evidence_of_existence() {
        let json = r#"{"rust-suites":{"cynode-x":{"testcases":{
            "a::tests::runs":{"ignored":false},"a::tests::idle":{"ignored":true}}}}}"#;

        let evidence = Evidence::of_list(json).unwrap();

        assert_eq!(evidence.find("runs"), Finding::Proves);
        assert!(matches!(evidence.find("idle"), Finding::DidNotPass { .. }));
        assert_eq!(evidence.origin(), "the list of tests");
    }
}
