//! The suites that judge servers: which are run, and how.

use std::fs;
use std::process::Stdio;
use std::thread;

use anyhow::{Context as _, Result, anyhow};

use super::packages::Packages;
use super::report::{self, Scenario};
use crate::tool;

/// One run of a suite.
#[derive(Debug)]
struct Suite {
    /// What people call it.
    name: &'static str,
    /// The package that holds it.
    alias: &'static str,
    arguments: &'static [&'static str],
    /// The revision whose frozen list says what counts; without one everything does.
    requirements: Option<&'static str>,
}

/// The released suite, and the one that knows the newest revision.
const SUITES: &[Suite] = &[
    Suite {
        name: "0.1.16 active",
        alias: "conformance-stable",
        arguments: &["--suite", "active"],
        requirements: None,
    },
    Suite {
        name: "0.2 2025-11-25",
        alias: "conformance-next",
        arguments: &["--requirements", "2025-11-25"],
        requirements: Some("2025-11-25"),
    },
    Suite {
        name: "0.2 2026-07-28",
        alias: "conformance-next",
        arguments: &["--requirements", "2026-07-28"],
        requirements: Some("2026-07-28"),
    },
];

/// Runs every suite against `url`, all at once; what each scenario came to.
pub(super) fn run(packages: &Packages, label: &str, url: &str) -> Result<Vec<Scenario>> {
    let ran = thread::scope(|scope| {
        let running: Vec<_> = SUITES
            .iter()
            .map(|suite| scope.spawn(move || run_one(packages, label, url, suite)))
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a suite could not be run")))
        };
        running.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    Ok(ran.into_iter().flatten().collect())
}

/// Runs every suite against `url`, and those once more in which something that counts did not pass.
pub(super) fn run_twice(packages: &Packages, label: &str, url: &str) -> Result<Vec<Scenario>> {
    again(packages, label, url, &run(packages, label, url)?)
}

/// Runs every suite once more, and alone, in which something that counts did not pass: what failed
/// because the machine was busy passes now, and is said to have passed on the second try.
pub(super) fn again(
    packages: &Packages,
    label: &str,
    url: &str,
    first: &[Scenario],
) -> Result<Vec<Scenario>> {
    let label = format!("{label}, second try");
    let mut all = vec![];
    for suite in SUITES {
        let first: Vec<_> = first.iter().filter(|one| one.suite == suite.name).cloned().collect();
        if first.iter().any(Scenario::is_to_be_tried_again) {
            all.extend(report::merged(first, run_one(packages, &label, url, suite)?));
        } else {
            all.extend(first);
        }
    }
    Ok(all)
}

fn run_one(packages: &Packages, label: &str, url: &str, suite: &Suite) -> Result<Vec<Scenario>> {
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
    // Its exit code says less than its results, which are read next.
    command.status().context("the suite does not start")?;
    let scored = suite.requirements.map(|revision| required(packages, revision, "server"));
    report::read(suite.name, &directory, scored.transpose()?.as_deref())
}

/// The scenarios of a part, `server` or `client`, that a revision requires.
pub(super) fn required(packages: &Packages, revision: &str, part: &str) -> Result<Vec<String>> {
    let file = packages.suite("conformance-next").join(format!("requirements/{revision}.yaml"));
    let text = fs::read_to_string(&file).context("the list of what counts is gone")?;
    Ok(report::scored(&text, part))
}
