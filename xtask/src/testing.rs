//! `cargo xtask test`: every test, then the guardrails against what the tests showed.

use std::fs;
use std::io::Write;

use anyhow::{Context as _, Result};

use crate::guardrails::evidence::{Evidence, Outcome};
use crate::guardrails::{self, Documents, junit};
use crate::{prepare, tool};

/// Runs everything; the last line printed is `N passed, N failed, N skipped`.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    let mut nextest = prepare::nextest()?;
    let postgres = prepare::postgres()?;
    writeln!(out, "test: PostgreSQL programs in {}", postgres.display())?;

    // The end-to-end tests start the real binaries, which no test depends on as a crate.
    let mut build = tool::cargo(&["build"]);
    tool::must_succeed(build.args(tool::binary_package_args()))?;

    // A report of an earlier run must not speak for this one.
    let report_path = tool::root().join(guardrails::DEFAULT_JUNIT);
    if report_path.exists() {
        fs::remove_file(&report_path).context("cannot remove the last report")?;
    }
    let unit_tests = tool::succeeds(nextest.args(["run", "--workspace"]))?;
    let doc_tests = tool::succeeds(&mut tool::cargo(&["test", "--doc", "--workspace", "--quiet"]))?;

    let xml = fs::read_to_string(&report_path).unwrap_or_default();
    let report = junit::parse(&xml);
    let documents = Documents::read(&tool::root())?;
    let guarded = guardrails::judge(out, &documents, &Evidence::of_report(&report))?;
    if !doc_tests {
        writeln!(out, "test: documentation tests failed")?;
    }
    writeln!(out, "{}", closing_line(&report))?;
    Ok(unit_tests && doc_tests && guarded && !report.cases.is_empty())
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
