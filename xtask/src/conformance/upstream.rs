//! The suites that test clients, against the gateway's upstream client. The suite starts a server
//! for each scenario and the program `conformance_client` of the gateway's crate, a thin wrapper
//! around the upstream client. Authorization scenarios do not apply: see [`applies`].

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};

use super::packages::InstalledPackages;
use super::report::{self, ScenarioVerdict, SuiteScenario};
use super::suites;
use crate::tool;

/// The scenarios of the released suite that do not need authorization; it has no list of them.
const RELEASED: [&str; 4] =
    ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"];
/// Added to the suite after its lists were frozen: run, but not scored.
const NOT_SCORED: &str = "json-schema-2020-12-preservation";
/// Number of concurrent scenarios.
const AT_ONCE: usize = 3;

/// One scenario to run.
#[derive(Debug)]
struct ClientScenario {
    suite: &'static str,
    alias: &'static str,
    revision: Option<&'static str>,
    scenario: String,
    scored: bool,
}

/// Whether a scenario can be run. The gateway obtains no tokens for servers: their owner configures
/// the headers that are sent, so there is no OAuth client to test.
fn applies(scenario: &str) -> bool {
    !scenario.starts_with("auth/")
}

/// Runs every scenario that applies; returns their results.
pub(super) fn run_client_scenarios(packages: &InstalledPackages) -> Result<Vec<SuiteScenario>> {
    let program = build_client()?;
    let results = create_results_directory("upstream")?;
    let waiting = Mutex::new(VecDeque::from(list_client_scenarios(packages)?));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || -> Result<Vec<SuiteScenario>> {
        let mut done = vec![];
        while let Some(client_scenario) = next() {
            done.push(run_client_scenario(packages, &program, &results, &client_scenario)?);
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
    let mut scenarios: Vec<SuiteScenario> = ran.into_iter().flatten().collect();
    scenarios.sort_by(|a, b| (a.suite, &a.name).cmp(&(b.suite, &b.name)));
    Ok(scenarios)
}

/// Runs failed scored scenarios once more, one at a time: some measure time, which is unreliable on
/// a busy machine. A scenario that passes now is reported as passed on the second try.
pub(super) fn retry_failed_scenarios(
    packages: &InstalledPackages,
    first: Vec<SuiteScenario>,
) -> Result<Vec<SuiteScenario>> {
    if !first.iter().any(SuiteScenario::needs_retry) {
        return Ok(first);
    }
    let (program, client_scenarios) = (build_client()?, list_client_scenarios(packages)?);
    let results = create_results_directory("upstream, second try")?;
    let try_again = |scenario: SuiteScenario| -> Result<SuiteScenario> {
        let is_it = |client_scenario: &&ClientScenario| {
            (client_scenario.suite, &client_scenario.scenario) == (scenario.suite, &scenario.name)
        };
        let client_scenario = client_scenarios.iter().find(is_it);
        match client_scenario.filter(|_| scenario.needs_retry()) {
            Some(client_scenario) => {
                let second = run_client_scenario(packages, &program, &results, client_scenario)?;
                Ok(scenario.with_second_try(second.verdict))
            }
            None => Ok(scenario),
        }
    };
    first.into_iter().map(try_again).collect()
}

/// An empty directory for results.
fn create_results_directory(name: &str) -> Result<PathBuf> {
    let results = tool::target_dir().join("conformance/results").join(name);
    if results.exists() {
        fs::remove_dir_all(&results).context("cannot remove the last results")?;
    }
    Ok(results)
}

/// Path of the client, which is built if it does not exist.
fn build_client() -> Result<PathBuf> {
    let program = tool::target_dir().join("debug/examples/conformance_client");
    // The suite splits its command at spaces.
    if program.to_string_lossy().contains(' ') {
        bail!("the suite cannot start {}: its path has a space", program.display());
    }
    Ok(program)
}

fn list_client_scenarios(packages: &InstalledPackages) -> Result<Vec<ClientScenario>> {
    let mut client_scenarios: Vec<ClientScenario> = RELEASED
        .map(|scenario| ClientScenario {
            suite: "0.1.16 client",
            alias: "conformance-stable",
            revision: None,
            scenario: scenario.to_owned(),
            scored: true,
        })
        .into();
    for (suite, revision) in [("0.2 client 2025", "2025-11-25"), ("0.2 client 2026", "2026-07-28")]
    {
        let client_scenario = |scenario: String, scored| ClientScenario {
            suite,
            alias: "conformance-next",
            revision: Some(revision),
            scenario,
            scored,
        };
        let required = suites::load_required_scenarios(packages, revision, "client")?;
        client_scenarios
            .extend(required.into_iter().filter(|s| applies(s)).map(|s| client_scenario(s, true)));
        client_scenarios.push(client_scenario(NOT_SCORED.to_owned(), false));
    }
    Ok(client_scenarios)
}

fn run_client_scenario(
    packages: &InstalledPackages,
    program: &Path,
    results: &Path,
    client_scenario: &ClientScenario,
) -> Result<SuiteScenario> {
    let directory = results.join(client_scenario.suite).join(&client_scenario.scenario);
    fs::create_dir_all(&directory)?;
    let log = fs::File::create(directory.join("output.txt"))?;
    let mut command = packages.node();
    command.arg(packages.suite(client_scenario.alias).join("dist/index.js")).arg("client");
    command.arg("--command").arg(program).args(["--scenario", &client_scenario.scenario]);
    command.args(
        client_scenario.revision.into_iter().flat_map(|revision| ["--spec-version", revision]),
    );
    command.arg("--output-dir").arg(&directory);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let status = command.status().context("the suite does not start")?;
    let ClientScenario { suite, scored, .. } = *client_scenario;
    let mut verdict = read_verdict(&directory)?;
    if matches!(verdict, ScenarioVerdict::Passed(_)) && !status.success() {
        let place = directory.display();
        verdict = ScenarioVerdict::Failed(vec![format!("the suite is not content; see {place}")]);
    }
    Ok(SuiteScenario { suite, name: client_scenario.scenario.clone(), scored, verdict })
}

/// The result in the only directory of results. A warning counts as a failure, as in the suite
/// itself.
fn read_verdict(directory: &Path) -> Result<ScenarioVerdict> {
    let found = fs::read_dir(directory)?.flatten().find(|entry| entry.path().is_dir());
    let Some(found) = found else { return Ok(ScenarioVerdict::Missing) };
    Ok(report::verdict_of_checks(&report::read_checks(&found.path())?, &["FAILURE", "WARNING"]))
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

        let verdict = read_verdict(directory.path()).unwrap();

        assert_eq!(verdict, ScenarioVerdict::Failed(vec!["b: failed".to_owned()]));
    }
}
