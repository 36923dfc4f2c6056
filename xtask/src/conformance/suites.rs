//! The suites that test servers.

use std::fs;
use std::process::Stdio;
use std::thread;

use anyhow::{Context as _, Result, anyhow};

use super::packages::InstalledPackages;
use super::report::{self, SuiteScenario};
use crate::tool;

/// One run of a suite.
#[derive(Debug)]
struct ConformanceSuite {
    /// Display name.
    name: &'static str,
    /// The package that contains it.
    alias: &'static str,
    arguments: &'static [&'static str],
    /// The revision whose frozen list defines the scored scenarios; without one every scenario is
    /// scored.
    requirements: Option<&'static str>,
}

/// The released suite, and the one with the newest revision.
const SUITES: &[ConformanceSuite] = &[
    ConformanceSuite {
        name: "0.1.16 active",
        alias: "conformance-stable",
        arguments: &["--suite", "active"],
        requirements: None,
    },
    ConformanceSuite {
        name: "0.2 2025-11-25",
        alias: "conformance-next",
        arguments: &["--requirements", "2025-11-25"],
        requirements: Some("2025-11-25"),
    },
    ConformanceSuite {
        name: "0.2 2026-07-28",
        alias: "conformance-next",
        arguments: &["--requirements", "2026-07-28"],
        requirements: Some("2026-07-28"),
    },
];

/// Runs every suite against `url`, concurrently; returns the result of each scenario.
pub(super) fn run_suites(
    packages: &InstalledPackages,
    label: &str,
    url: &str,
) -> Result<Vec<SuiteScenario>> {
    let ran = thread::scope(|scope| {
        let running: Vec<_> = SUITES
            .iter()
            .map(|suite| scope.spawn(move || run_suite(packages, label, url, suite)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a suite could not be run")))
        };
        running.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    Ok(ran.into_iter().flatten().collect())
}

/// Runs every suite against `url`, and those with failed scored scenarios once more.
pub(super) fn run_twice(
    packages: &InstalledPackages,
    label: &str,
    url: &str,
) -> Result<Vec<SuiteScenario>> {
    retry_failed_suites(packages, label, url, &run_suites(packages, label, url)?)
}

/// Runs every suite with failed scored scenarios once more, alone: a scenario that failed because
/// the machine was busy passes now, and is reported as passed on the second try.
pub(super) fn retry_failed_suites(
    packages: &InstalledPackages,
    label: &str,
    url: &str,
    first: &[SuiteScenario],
) -> Result<Vec<SuiteScenario>> {
    let label = format!("{label}, second try");
    let mut all = vec![];
    for suite in SUITES {
        let first: Vec<_> = first.iter().filter(|one| one.suite == suite.name).cloned().collect();
        if first.iter().any(SuiteScenario::needs_retry) {
            all.extend(report::merge_runs(first, run_suite(packages, &label, url, suite)?));
        } else {
            all.extend(first);
        }
    }
    Ok(all)
}

fn run_suite(
    packages: &InstalledPackages,
    label: &str,
    url: &str,
    suite: &ConformanceSuite,
) -> Result<Vec<SuiteScenario>> {
    let directory = tool::target_dir().join("conformance/results").join(label).join(suite.name);
    if directory.exists() {
        fs::remove_dir_all(&directory).context("cannot remove the last results")?;
    }
    fs::create_dir_all(&directory)?;
    let log = fs::File::create(directory.join("output.txt"))?;
    let mut command = packages.node();
    command.arg(packages.suite(suite.alias).join("dist/index.js")).args(["server", "--url", url]);
    command.args(suite.arguments).arg("--output-dir").arg(&directory);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    // The exit code is ignored: the results are read next.
    command.status().context("the suite does not start")?;
    let scored =
        suite.requirements.map(|revision| load_required_scenarios(packages, revision, "server"));
    report::read_results(suite.name, &directory, scored.transpose()?.as_deref())
}

/// The scenarios of a part, `server` or `client`, that a revision requires.
pub(super) fn load_required_scenarios(
    packages: &InstalledPackages,
    revision: &str,
    part: &str,
) -> Result<Vec<String>> {
    let file = packages.suite("conformance-next").join(format!("requirements/{revision}.yaml"));
    let text = fs::read_to_string(&file).context("the list of what counts is gone")?;
    Ok(report::parse_scored_scenarios(&text, part))
}
