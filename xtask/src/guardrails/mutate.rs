//! `cargo xtask guardrails --mutate`: switches on the fault that a requirement declares, and shows that
//! the tests of its row fail (ADR 56).
//!
//! One build with the feature `cynode-fault/injection` serves every row. The tests of the declared
//! packages run once without a fault and must pass; then the tests of each row run with
//! its fault, until the first fails. End-to-end tests and checks with third-party programs, which need whole
//! binaries, are left out: [`Requirement::fault_packages`] names the packages that count.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::evidence::{Evidence, ListedTest, Outcome};
use super::junit::{self, Report};
use super::requirements::{Requirement, Requirements};
use crate::{prepare, tool};

/// The name of the row whose fault is switched on.
const SWITCH: &str = "CYNODE_FAULT";
const FEATURE: &str = "cynode-fault/injection";
const PROFILE: &str = "mutation";
const JUNIT: &str = "target/nextest/mutation/junit.xml";
/// What the build made, so that no run builds again, whatever changes meanwhile.
const BINARIES: &str = "target/nextest/mutation/binaries.json";
const PACKAGES: &str = "target/nextest/mutation/packages.json";

/// How a row stands after its fault was switched on.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// A test failed under the fault.
    Noticed { test: String },
    /// Every test passed although the behaviour was gone.
    Survived { tests: usize },
    /// A test fails without any fault, so that a failure under it says nothing.
    BrokenBefore { test: String },
    /// No named test is in the declared packages, or none ran.
    Untested,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Noticed { test } => write!(f, "noticed by {test}"),
            Self::Survived { tests } => write!(f, "SURVIVED {tests} tests"),
            Self::BrokenBefore { test } => write!(f, "BROKEN: {test} fails without a fault"),
            Self::Untested => f.write_str("UNTESTED: no named test ran in the declared packages"),
        }
    }
}

/// Runs the fault of row `id`, or every declared one; returns whether each was noticed.
pub fn run(out: &mut dyn Write, id: Option<&str>) -> Result<bool> {
    let text = fs::read_to_string(tool::root().join("docs/requirements.toml"))?;
    let requirements = Requirements::parse(&text)?;
    let rows = select_rows(&requirements, id)?;
    prepare::ensure_postgres()?;

    let packages: BTreeSet<&str> =
        rows.iter().flat_map(|row| &row.fault_packages).map(String::as_str).collect();
    let start = Instant::now();
    writeln!(out, "mutate: building {} packages with deliberate faults", packages.len())?;
    out.flush()?;
    let listed = build_tests(&packages)?;
    writeln!(out, "mutate: built in {:.0} s", start.elapsed().as_secs_f64())?;

    let chosen: Vec<Vec<&ListedTest>> = rows.iter().map(|row| tests_of_row(row, &listed)).collect();
    let all: BTreeSet<&ListedTest> = chosen.iter().flatten().copied().collect();
    let before = run_tests(all.iter().copied(), None)?;
    writeln!(out, "mutate: {} tests without a fault", before.cases.len())?;

    let mut unnoticed = 0;
    for (row, tests) in rows.iter().zip(&chosen) {
        let verdict = match judge_before(tests, &before) {
            Some(verdict) => verdict,
            None => judge_under_fault(&run_tests(tests.iter().copied(), Some(&row.id))?),
        };
        unnoticed += usize::from(!matches!(verdict, Verdict::Noticed { .. }));
        let what = row.fault.as_deref().unwrap_or_default();
        writeln!(out, "{:<16} {verdict}\n{:16} ({what})", row.id, "")?;
        out.flush()?;
    }
    writeln!(
        out,
        "mutate: {} faults, {} noticed, {unnoticed} not, in {:.0} s",
        rows.len(),
        rows.len() - unnoticed,
        start.elapsed().as_secs_f64()
    )?;
    Ok(unnoticed == 0)
}

fn select_rows<'r>(
    requirements: &'r Requirements,
    id: Option<&str>,
) -> Result<Vec<&'r Requirement>> {
    let declared = requirements.rows.iter().filter(|row| row.fault.is_some());
    let Some(id) = id else {
        return Ok(declared.collect());
    };
    let found: Vec<&Requirement> = declared.clone().filter(|row| row.id == id).collect();
    if found.is_empty() {
        let ids: Vec<&str> = declared.map(|row| row.id.as_str()).collect();
        bail!("{id} declares no fault in docs/requirements.toml. These do: {}", ids.join(", "));
    }
    Ok(found)
}

/// The named tests of `row` in its declared packages.
fn tests_of_row<'t>(row: &Requirement, listed: &'t [ListedTest]) -> Vec<&'t ListedTest> {
    let counts = |test: &ListedTest| {
        let package = test.binary.split("::").next().unwrap_or_default();
        row.fault_packages.iter().any(|declared| declared == package)
    };
    let is_named = |test: &ListedTest| row.tests.iter().any(|name| test.is_named(name));
    listed.iter().filter(|test| counts(test) && is_named(test)).collect()
}

/// The verdict that needs no run under the fault, if there is one.
fn judge_before(tests: &[&ListedTest], before: &Report) -> Option<Verdict> {
    if tests.is_empty() {
        return Some(Verdict::Untested);
    }
    tests.iter().find_map(|test| {
        let full_name = test.full_name();
        let case = before.cases.iter().find(|case| case.full_name() == full_name);
        let passed = case.is_some_and(|case| case.outcome == Outcome::Passed);
        (!passed).then_some(Verdict::BrokenBefore { test: full_name })
    })
}

fn judge_under_fault(under_fault: &Report) -> Verdict {
    let failed = under_fault.cases.iter().find(|case| case.outcome == Outcome::Failed);
    match failed {
        Some(case) => Verdict::Noticed { test: case.full_name() },
        None if under_fault.cases.is_empty() => Verdict::Untested,
        None => Verdict::Survived { tests: under_fault.cases.len() },
    }
}

/// Builds the tests of `packages` with faults, and lists them.
fn build_tests(packages: &BTreeSet<&str>) -> Result<Vec<ListedTest>> {
    let directory = tool::root().join("target/nextest/mutation");
    fs::create_dir_all(directory).context("cannot create the directory of the report")?;
    let mut build = prepare::ensure_nextest()?;
    build.args(["list", "--list-type", "binaries-only", "--message-format", "json"]);
    build.args(["--features", FEATURE, "-p", "cynode-fault"]).env_remove(SWITCH);
    build.args(packages.iter().flat_map(|package| ["-p", package]));
    fs::write(tool::root().join(BINARIES), tool::stdout_of(&mut build)?)?;
    let mut metadata = tool::cargo_command(&["metadata", "--format-version", "1"]);
    fs::write(tool::root().join(PACKAGES), tool::stdout_of(&mut metadata)?)?;

    let mut list = nextest_of_build("list")?;
    list.args(["--message-format", "json"]).env_remove(SWITCH);
    Evidence::listed_tests(&tool::stdout_of(&mut list)?)
}

/// Nextest with the tests that [`build_tests`] built.
fn nextest_of_build(what: &str) -> Result<Command> {
    let mut command = prepare::ensure_nextest()?;
    command.args([what, "--profile", PROFILE]);
    command.args(["--binaries-metadata", BINARIES, "--cargo-metadata", PACKAGES]);
    Ok(command)
}

/// Runs `tests`, with the fault of a row or without one. With a fault, the first failure ends the run.
fn run_tests<'t>(
    tests: impl IntoIterator<Item = &'t ListedTest>,
    fault: Option<&str>,
) -> Result<Report> {
    let filters: Vec<String> = tests.into_iter().map(ListedTest::filter).collect();
    if filters.is_empty() {
        return Ok(Report::default());
    }
    let report = tool::root().join(JUNIT);
    if report.exists() {
        fs::remove_file(&report).context("cannot remove the last report")?;
    }
    let mut command = nextest_of_build("run")?;
    command.args(["-E", &filters.join(" | ")]);
    match fault {
        Some(id) => command.arg("--max-fail=1").env(SWITCH, id),
        None => command.arg("--no-fail-fast").env_remove(SWITCH),
    };
    // Tests are meant to fail here; the report says which did.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    tool::run_and_check(&mut command)?;
    match fs::read_to_string(&report) {
        Ok(xml) => junit::parse(&xml),
        Err(_) => Ok(Report::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guardrails::junit::Case;

    fn listed(names: &[(&str, &str)]) -> Vec<ListedTest> {
        let test = |(binary, name): &(&str, &str)| ListedTest {
            binary: (*binary).to_owned(),
            name: (*name).to_owned(),
        };
        names.iter().map(test).collect()
    }

    fn report(cases: &[(&str, &str, Outcome)]) -> Report {
        let case = |(binary, name, outcome): &(&str, &str, Outcome)| Case {
            binary: (*binary).to_owned(),
            name: (*name).to_owned(),
            outcome: *outcome,
        };
        Report { cases: cases.iter().map(case).collect() }
    }

    fn requirements() -> Requirements {
        let row = |id: &str, more: &str| {
            format!(
                "[[requirement]]\nid = \"{id}\"\nseed = \"000\"\nlevel = \"must\"\ntext = \"x\"\n\
                 state = \"done\"\ntests = [\"it_holds\"]\n{more}"
            )
        };
        let declared = "fault = \"it fails\"\nfault_packages = [\"cynode-x\"]\n";
        Requirements::parse(&format!("{}{}[anchors]\n", row("A-1", ""), row("A-2", declared)))
            .unwrap()
    }

    #[test]
    fn rows_that_declare_a_fault_are_selected_and_others_named_in_the_refusal() {
        let requirements = requirements();

        let all = select_rows(&requirements, None).unwrap();
        let refused = select_rows(&requirements, Some("A-1")).unwrap_err().to_string();

        assert_eq!(all.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["A-2"]);
        assert!(refused.contains("A-1 declares no fault"), "{refused}");
        assert!(refused.ends_with("A-2"), "{refused}");
    }

    #[test]
    fn only_named_tests_of_declared_packages_count() {
        let requirements = requirements();
        let row = select_rows(&requirements, Some("A-2")).unwrap()[0];
        let listed = listed(&[
            ("cynode-x::it", "a::it_holds"),
            ("cynode-x", "it_holds"),
            ("cynode-x", "a::and_it_holds"),
            ("cynode-xy", "it_holds"),
        ]);

        let tests = tests_of_row(row, &listed);

        let names: Vec<String> = tests.iter().map(|test| test.full_name()).collect();
        assert_eq!(names, ["cynode-x::it::a::it_holds", "cynode-x::it_holds"]);
    }

    #[test]
    fn a_fault_counts_as_noticed_only_by_a_test_that_passes_without_it() {
        let listed = listed(&[("cynode-x", "a")]);
        let tests: Vec<&ListedTest> = listed.iter().collect();
        let passed = report(&[("cynode-x", "a", Outcome::Passed)]);
        let failed = report(&[("cynode-x", "a", Outcome::Failed)]);
        let broken = Some(Verdict::BrokenBefore { test: "cynode-x::a".to_owned() });

        assert_eq!(judge_before(&tests, &passed), None);
        assert_eq!(judge_before(&tests, &failed), broken);
        assert_eq!(judge_before(&tests, &Report::default()), broken);
        assert_eq!(judge_before(&[], &passed), Some(Verdict::Untested));

        let noticed = Verdict::Noticed { test: "cynode-x::a".to_owned() };
        assert_eq!(judge_under_fault(&failed), noticed);
        assert_eq!(judge_under_fault(&passed), Verdict::Survived { tests: 1 });
        assert_eq!(judge_under_fault(&Report::default()), Verdict::Untested);
    }

    /// What the example says that asks for the fault of X-03.
    fn ask_the_switch(features: &[&str], switch: Option<&str>) -> String {
        let mut command =
            tool::cargo_command(&["run", "--quiet", "--offline", "-p", "cynode-fault"]);
        command.args(["--example", "switch"]).args(features).env_remove(SWITCH);
        if let Some(id) = switch {
            command.env(SWITCH, id);
        }
        tool::stdout_of(&mut command).unwrap().trim().to_owned()
    }

    #[test]
    fn a_fault_is_on_only_with_the_feature_and_for_the_named_row() {
        let with = ["--features", FEATURE];

        let said = [
            ask_the_switch(&[], Some("X-03")),
            ask_the_switch(&with, None),
            ask_the_switch(&with, Some("X-04")),
            ask_the_switch(&with, Some("X-03")),
        ];

        assert_eq!(said, ["off", "off", "off", "on"]);
    }
}
