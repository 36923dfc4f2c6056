//! `cargo xtask test`: every test, then programs of others against the gateway, then the guardrails
//! against what all of them showed.

use std::fs;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::guardrails::evidence::{Evidence, Outcome};
use crate::guardrails::junit::{self, Case};
use crate::guardrails::{self, Documents};
use crate::{conformance, local_model, prepare, tool};

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// What every change has to pass.
    Fast,
    /// A real model on this machine too.
    Slow,
}

/// Runs everything; the last line printed is `N passed, N failed, N skipped`.
pub fn run(out: &mut dyn Write, lane: Lane) -> Result<bool> {
    let mut nextest = prepare::nextest()?;
    let postgres = prepare::postgres()?;
    writeln!(out, "test: PostgreSQL programs in {}", postgres.display())?;
    let driver = prepare::browser()?;
    writeln!(out, "test: browser driver {}", driver.display())?;

    // The end-to-end tests start the real binaries, which no test depends on as a crate.
    let mut build = tool::cargo(&["build"]);
    tool::must_succeed(build.args(tool::binary_package_args()))?;

    // A report of an earlier run must not speak for this one.
    let report_path = tool::root().join(guardrails::DEFAULT_JUNIT);
    if report_path.exists() {
        fs::remove_file(&report_path).context("cannot remove the last report")?;
    }
    conformance::forget().context("cannot remove the last record of conformance")?;
    let unit_tests = tool::succeeds(nextest.args(["run", "--workspace"]))?;
    let doc_tests = tool::succeeds(&mut tool::cargo(&["test", "--doc", "--workspace", "--quiet"]))?;

    let xml = fs::read_to_string(&report_path).unwrap_or_default();
    let mut report = junit::parse(&xml);
    let has_tests = !report.cases.is_empty();
    report.cases.extend(interop(out)?);
    if lane == Lane::Slow {
        writeln!(out, "test: a real model on this machine")?;
        report.cases.extend(local_model::judge(out)?);
    }
    let documents = Documents::read(&tool::root())?;
    let guarded = guardrails::judge(out, &documents, &Evidence::of_report(&report))?;
    if !doc_tests {
        writeln!(out, "test: documentation tests failed")?;
    }
    writeln!(out, "{}", closing_line(&report))?;
    let failed = report.count(Outcome::Failed);
    Ok(unit_tests && doc_tests && guarded && has_tests && failed == 0)
}

/// Suites, clients and servers of others against the binaries that the tests built. That they cannot
/// be had is a failure like any other.
fn interop(out: &mut dyn Write) -> Result<Vec<Case>> {
    writeln!(out, "test: official MCP suites and clients, and servers of others")?;
    out.flush()?;
    let start = Instant::now();
    let cases = conformance::judge_all(out).or_else(|error| {
        writeln!(out, "test: the gateway cannot be judged: {error:#}")?;
        let (binary, name) = ("interop".to_owned(), "judged".to_owned());
        anyhow::Ok(vec![Case { binary, name, outcome: Outcome::Failed }])
    })?;
    let passed = cases.iter().filter(|case| case.outcome == Outcome::Passed).count();
    let took = start.elapsed().as_secs_f64();
    writeln!(
        out,
        "test: {passed} of {} checks with programs of others in {took:.0} s",
        cases.len()
    )?;
    Ok(cases)
}

fn closing_line(report: &junit::Report) -> String {
    format!(
        "{} passed, {} failed, {} skipped",
        report.count(Outcome::Passed),
        report.count(Outcome::Failed),
        report.count(Outcome::Skipped)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_counts_what_the_report_says() {
        let report = junit::parse(
            "<testcase name=\"a\" classname=\"x\"/><testcase name=\"b\" classname=\"x\"><failure/></testcase>",
        );

        assert_eq!(closing_line(&report), "1 passed, 1 failed, 0 skipped");
    }
}
