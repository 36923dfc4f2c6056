//! The `JUnit` report that nextest writes, as far as it is needed.

use anyhow::{Context as _, Result};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite, XmlString};

use super::evidence::Outcome;

/// The name of a report that is written here, and of its only suite.
const SUITE: &str = "conformance";

/// The test cases of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Every case, in the order of the report.
    pub cases: Vec<Case>,
}

/// One test that the run knew of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The test binary, such as `cynode-node::it`.
    pub binary: String,
    /// The test's path in the binary.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
}

impl Case {
    /// The binary and the path, joined.
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.binary, self.name)
    }
}

impl Report {
    /// How many cases ended in `outcome`.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }
}

/// Reads a report; fails if it is not a complete one.
pub fn parse(xml: &str) -> Result<Report> {
    let report = quick_junit::Report::deserialize_from_str(xml).context("not a JUnit report")?;
    let cases = report.test_suites.into_iter().flat_map(|suite| suite.test_cases);
    Ok(Report { cases: cases.map(to_case).collect() })
}

/// Writes a report that [`parse`] reads; a test that is only listed did not run.
pub fn write(cases: &[Case]) -> Result<String> {
    let mut suite = TestSuite::new(SUITE);
    for case in cases {
        let status = match case.outcome {
            Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Outcome::Skipped | Outcome::Listed => TestCaseStatus::skipped(),
            Outcome::Passed => TestCaseStatus::success(),
        };
        let mut written = TestCase::new(case.name.as_str(), status);
        written.set_classname(case.binary.as_str());
        suite.add_test_case(written);
    }
    let mut report = quick_junit::Report::new(SUITE);
    report.add_test_suite(suite);
    Ok(report.to_string()?)
}

fn to_case(case: TestCase) -> Case {
    let outcome = match case.status {
        TestCaseStatus::Success { .. } => Outcome::Passed,
        TestCaseStatus::NonSuccess { .. } => Outcome::Failed,
        TestCaseStatus::Skipped { .. } => Outcome::Skipped,
    };
    let binary = case.classname.map(XmlString::into_string).unwrap_or_default();
    Case { binary, name: case.name.into_string(), outcome }
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0">
  <testsuite name="cynode-x" tests="3" disabled="0" errors="0" failures="1">
    <testcase name="a::tests::holds" classname="cynode-x" timestamp="2026-01-01T00:00:00Z" time="0.01">
    </testcase>
    <testcase name="a::tests::breaks&lt;T&gt;" classname="cynode-x::it" time="0.02">
      <failure message="thread panicked" type="test failure">left &lt; right</failure>
      <system-out><![CDATA[<testcase name="printed" classname="not a test"/>]]></system-out>
    </testcase>
    <testcase name="a::tests::idle" classname="cynode-x" time="0"><skipped/></testcase>
    <testcase name="short" classname="cynode-x" time="0"/>
  </testsuite>
</testsuites>"#;

    #[test]
    fn every_case_of_a_report_is_read_with_its_outcome() {
        let report = parse(XML).unwrap();

        let read: Vec<(String, Outcome)> =
            report.cases.iter().map(|case| (case.full_name(), case.outcome)).collect();
        assert_eq!(
            read,
            [
                ("cynode-x::a::tests::holds".to_owned(), Outcome::Passed),
                ("cynode-x::it::a::tests::breaks<T>".to_owned(), Outcome::Failed),
                ("cynode-x::a::tests::idle".to_owned(), Outcome::Skipped),
                ("cynode-x::short".to_owned(), Outcome::Passed),
            ]
        );
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let case = |name: &str, outcome| Case {
            binary: "interop::\"a\" & <b>".to_owned(),
            name: name.to_owned(),
            outcome,
        };
        let cases = vec![case("holds", Outcome::Passed), case("breaks", Outcome::Failed)];

        assert_eq!(parse(&write(&cases).unwrap()).unwrap(), Report { cases });
    }

    #[test]
    fn a_broken_report_is_refused() {
        assert!(parse("").is_err());
        assert!(parse("<testcase name=\"cut").is_err());
        let cut = XML.split_once("<skipped/>").unwrap().0;
        assert!(parse(cut).is_err());
    }

    #[test]
    fn a_test_that_passed_after_a_failure_passed_and_one_that_failed_again_failed() {
        let report = parse(
            r#"<testsuites name="run" tests="2" failures="1" errors="0">
  <testsuite name="x" tests="2" disabled="0" errors="0" failures="1">
    <testcase name="flaky" classname="x"><flakyFailure type="test failure"/></testcase>
    <testcase name="broken" classname="x">
      <failure type="test failure"/><rerunFailure type="test failure"/>
    </testcase>
  </testsuite>
</testsuites>"#,
        );

        let outcomes: Vec<Outcome> =
            report.unwrap().cases.iter().map(|case| case.outcome).collect();
        assert_eq!(outcomes, [Outcome::Passed, Outcome::Failed]);
    }
}
