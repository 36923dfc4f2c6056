//! Which suites are run, and how.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use anyhow::{Context as _, Result};

use super::packages::Packages;
use super::report::{self, Scenario};
use crate::tool;

/// One run of a suite.
#[derive(Debug)]
pub(super) struct Suite {
    /// What people call it.
    pub(super) name: &'static str,
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

/// Runs every suite against `url`; what each scenario came to.
pub(super) fn run(
    out: &mut dyn Write,
    packages: &Packages,
    label: &str,
    url: &str,
) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for suite in SUITES {
        writeln!(out, "conformance: {} {label}", suite.name)?;
        out.flush()?;
        let directory = tool::target_dir().join("conformance/results").join(label).join(suite.name);
        if directory.exists() {
            fs::remove_dir_all(&directory).context("cannot remove the last results")?;
        }
        fs::create_dir_all(&directory)?;
        let package = packages.suite(suite.alias);
        let log = fs::File::create(directory.join("output.txt"))?;
        let mut command = packages.node();
        command.arg(package.join("dist/index.js")).args(["server", "--url", url]);
        command.args(suite.arguments).arg("--output-dir").arg(&directory);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // Its exit code says less than its results, which are read next.
        command.status().context("the suite does not start")?;
        let scored = match suite.requirements {
            None => None,
            Some(revision) => {
                let file = package.join(format!("requirements/{revision}.yaml"));
                let text = fs::read_to_string(&file).context("the list of what counts is gone")?;
                Some(report::scored(&text))
            }
        };
        scenarios.extend(report::read(suite.name, &directory, scored.as_deref())?);
    }
    Ok(scenarios)
}
