//! The suites that judge clients, on the gateway's own way to installed servers.
//!
//! The suite starts a server for each scenario and the program `conformance_client` of the gateway's
//! crate, which is nothing but that way. Scenarios of authorization do not apply: see [`applies`].

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};

use super::packages::Packages;
use super::report::{self, Scenario, Verdict};
use super::suites;
use crate::tool;

/// The scenarios of the released suite that do not need authorization; it has no list of them.
const RELEASED: [&str; 4] =
    ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"];
/// Added to the suite after its lists were frozen: run, and not scored.
const NOT_SCORED: &str = "json-schema-2020-12-preservation";
/// How many scenarios run at once.
const AT_ONCE: usize = 3;

/// One scenario to run.
#[derive(Debug)]
struct Errand {
    suite: &'static str,
    alias: &'static str,
    revision: Option<&'static str>,
    scenario: String,
    scored: bool,
}

/// Whether a scenario can be run. The gateway gets no tokens for servers: their owner configures
/// the headers that are sent, so that there is no OAuth client to judge.
fn applies(scenario: &str) -> bool {
    !scenario.starts_with("auth/")
}

/// Runs every scenario that applies; what each came to.
pub(super) fn run(packages: &Packages) -> Result<Vec<Scenario>> {
    let program = program()?;
    let results = results("upstream")?;
    let waiting = Mutex::new(VecDeque::from(errands(packages)?));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || -> Result<Vec<Scenario>> {
        let mut done = vec![];
        while let Some(errand) = next() {
            done.push(run_one(packages, &program, &results, &errand)?);
        }
        Ok(done)
    };
    let ran = thread::scope(|scope| {
        let running: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a scenario could not be run")))
        };
        running.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let mut scenarios: Vec<Scenario> = ran.into_iter().flatten().collect();
    scenarios.sort_by(|a, b| (a.suite, &a.name).cmp(&(b.suite, &b.name)));
    Ok(scenarios)
}

/// Runs once more what counts and did not pass, one scenario after the other: some measure time, of
/// which a busy machine has little. What passes now is said to have passed on the second try.
pub(super) fn again(packages: &Packages, first: Vec<Scenario>) -> Result<Vec<Scenario>> {
    if !first.iter().any(Scenario::is_to_be_tried_again) {
        return Ok(first);
    }
    let (program, errands) = (program()?, errands(packages)?);
    let results = results("upstream, second try")?;
    let try_again = |scenario: Scenario| -> Result<Scenario> {
        let is_it =
            |errand: &&Errand| (errand.suite, &errand.scenario) == (scenario.suite, &scenario.name);
        let errand = errands.iter().find(is_it);
        match errand.filter(|_| scenario.is_to_be_tried_again()) {
            Some(errand) => {
                let second = run_one(packages, &program, &results, errand)?;
                Ok(scenario.again(second.verdict))
            }
            None => Ok(scenario),
        }
    };
    first.into_iter().map(try_again).collect()
}

/// Where results go; those of the last time are gone.
fn results(name: &str) -> Result<PathBuf> {
    let results = tool::target_dir().join("conformance/results").join(name);
    if results.exists() {
        fs::remove_dir_all(&results).context("cannot remove the last results")?;
    }
    Ok(results)
}

/// The client, which the tests built or which is built now.
fn program() -> Result<PathBuf> {
    let program = tool::target_dir().join("debug/examples/conformance_client");
    // The suite takes its command apart at spaces.
    if program.to_string_lossy().contains(' ') {
        bail!("the suite cannot start {}: its path has a space", program.display());
    }
    Ok(program)
}

fn errands(packages: &Packages) -> Result<Vec<Errand>> {
    let mut errands: Vec<Errand> = RELEASED
        .map(|scenario| Errand {
            suite: "0.1.16 client",
            alias: "conformance-stable",
            revision: None,
            scenario: scenario.to_owned(),
            scored: true,
        })
        .into();
    for (suite, revision) in [("0.2 client 2025", "2025-11-25"), ("0.2 client 2026", "2026-07-28")]
    {
        let errand = |scenario: String, scored| Errand {
            suite,
            alias: "conformance-next",
            revision: Some(revision),
            scenario,
            scored,
        };
        let required = suites::required(packages, revision, "client")?;
        errands.extend(required.into_iter().filter(|s| applies(s)).map(|s| errand(s, true)));
        errands.push(errand(NOT_SCORED.to_owned(), false));
    }
    Ok(errands)
}

fn run_one(
    packages: &Packages,
    program: &Path,
    results: &Path,
    errand: &Errand,
) -> Result<Scenario> {
    let directory = results.join(errand.suite).join(&errand.scenario);
    fs::create_dir_all(&directory)?;
    let log = fs::File::create(directory.join("output.txt"))?;
    let mut command = packages.node();
    command.arg(packages.suite(errand.alias).join("dist/index.js")).arg("client");
    command.arg("--command").arg(program).args(["--scenario", &errand.scenario]);
    command.args(errand.revision.into_iter().flat_map(|revision| ["--spec-version", revision]));
    command.arg("--output-dir").arg(&directory);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let status = command.status().context("the suite does not start")?;
    let Errand { suite, scored, .. } = *errand;
    let mut verdict = judge(&directory)?;
    if matches!(verdict, Verdict::Passed(_)) && !status.success() {
        let place = directory.display();
        verdict = Verdict::Failed(vec![format!("the suite is not content; see {place}")]);
    }
    Ok(Scenario { suite, name: errand.scenario.clone(), scored, verdict })
}

/// What is in the one directory of results. A warning counts, as it does for the suite itself.
fn judge(directory: &Path) -> Result<Verdict> {
    let found = fs::read_dir(directory)?.flatten().find(|entry| entry.path().is_dir());
    let Some(found) = found else { return Ok(Verdict::Missing) };
    Ok(report::judge(&report::read_checks(&found.path())?, &["FAILURE", "WARNING"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_of_authorization_do_not_apply() {
        assert!(applies("tools_call"));
        assert!(!applies("auth/metadata-default"));
    }

    #[test]
    fn a_warning_of_a_client_scenario_counts_as_a_failure() {
        let directory = tempfile::tempdir().unwrap();
        let result = directory.path().join("tools_call-2026");
        fs::create_dir(&result).unwrap();
        let checks = r#"[{"id":"a","status":"SUCCESS"},{"id":"b","status":"WARNING"}]"#;
        fs::write(result.join("checks.json"), checks).unwrap();

        let verdict = judge(directory.path()).unwrap();

        assert_eq!(verdict, Verdict::Failed(vec!["b: failed".to_owned()]));
    }
}
