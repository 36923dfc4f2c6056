//! `cargo xtask test`: every test, then third-party programs against the gateway, then cgroups in a
//! virtual machine, then the guardrails against all results.

use std::fs;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::guardrails::evidence::{Evidence, Outcome};
use crate::guardrails::junit::{self, Case};
use crate::guardrails::{self, Documents};
use crate::{conformance, local_model, prepare, third_party_agents, tool, vm};

/// The extent of a test run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestLane {
    /// Tests that every change must pass.
    Fast,
    /// Also a real model on this machine, and agents of other vendors.
    Slow,
}

/// Runs everything; the last line printed is `N passed, N failed, N skipped`.
pub fn run(out: &mut dyn Write, lane: TestLane) -> Result<bool> {
    let mut nextest = prepare::ensure_nextest()?;
    let postgres = prepare::ensure_postgres()?;
    writeln!(out, "test: PostgreSQL programs in {}", postgres.display())?;
    let driver = prepare::ensure_browser()?;
    writeln!(out, "test: browser driver {}", driver.display())?;

    // The end-to-end tests start the real binaries, which no test depends on as a crate.
    tool::build_for_tests()?;

    // The report of an earlier run must not be used.
    let report_path = tool::root().join(guardrails::DEFAULT_JUNIT);
    if report_path.exists() {
        fs::remove_file(&report_path).context("cannot remove the last report")?;
    }
    conformance::remove_recorded_results()
        .context("cannot remove the last record of conformance")?;
    let unit_tests = tool::run_and_check(nextest.args(["run", "--workspace"]))?;
    let doc_tests = tool::run_and_check(&mut tool::cargo_command(&[
        "test",
        "--doc",
        "--workspace",
        "--quiet",
    ]))?;

    // Without a report no test ran, and the run fails below.
    let mut report = match fs::read_to_string(&report_path) {
        Ok(xml) => junit::parse(&xml)?,
        Err(_) => junit::Report::default(),
    };
    let has_tests = !report.cases.is_empty();
    report.cases.extend(run_interop_checks(out)?);
    report.cases.extend(run_vm_tests(out)?);
    if lane == TestLane::Slow {
        writeln!(out, "test: a real model on this machine")?;
        report.cases.extend(local_model::run_model_cases(out)?);
        report.cases.extend(third_party_agents::run_agent_cases(out)?);
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

/// Third-party suites, clients and servers against the binaries that the tests built. A failed
/// installation is a failure like any other.
fn run_interop_checks(out: &mut dyn Write) -> Result<Vec<Case>> {
    writeln!(out, "test: official MCP suites and clients, and third-party servers")?;
    out.flush()?;
    let start = Instant::now();
    let cases = conformance::run_all_checks(out).or_else(|error| {
        writeln!(out, "test: the conformance checks cannot run: {error:#}")?;
        let (binary, name) = ("interop".to_owned(), "judged".to_owned());
        anyhow::Ok(vec![Case { binary, name, outcome: Outcome::Failed }])
    })?;
    let passed = cases.iter().filter(|case| case.outcome == Outcome::Passed).count();
    let took = start.elapsed().as_secs_f64();
    writeln!(
        out,
        "test: {passed} of {} checks with third-party programs in {took:.0} s",
        cases.len()
    )?;
    Ok(cases)
}

/// The tests of cgroups, which need a kernel of their own. A machine that cannot be started is a failure like any other.
fn run_vm_tests(out: &mut dyn Write) -> Result<Vec<Case>> {
    if !vm::IS_SUPPORTED {
        writeln!(out, "test: no virtual machine on this processor, so cgroups are not tested")?;
        return Ok(vec![]);
    }
    writeln!(out, "test: cgroups, in a virtual machine")?;
    out.flush()?;
    vm::run_vm_cases(out).or_else(|error| {
        writeln!(out, "test: the virtual machine cannot run: {error:#}")?;
        let (binary, name) = (vm::BINARY.to_owned(), "ran".to_owned());
        anyhow::Ok(vec![Case { binary, name, outcome: Outcome::Failed }])
    })
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
        let case =
            |name: &str, outcome| Case { binary: "x".to_owned(), name: name.to_owned(), outcome };
        let cases = vec![case("a", Outcome::Passed), case("b", Outcome::Failed)];
        let report = junit::Report { cases };

        assert_eq!(closing_line(&report), "1 passed, 1 failed, 0 skipped");
    }
}
