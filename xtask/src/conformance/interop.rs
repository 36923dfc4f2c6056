//! Conformance and interoperability as part of `cargo xtask test`: every check as a test case.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use serde_json::json;

use super::clients::SdkClient;
use super::gateway::ConformanceGateway;
use super::interop_check::{CheckOutput, CheckTries, InteropCheck};
use super::packages::{self, InstalledPackages, PackageSet};
use super::process::ChildProgram;
use super::shim::TokenProxy;
use super::{
    exposed_directories, openai, report, servers as foreign, suites, upstream as client_suites,
};
use crate::guardrails::junit::{self, Case};
use crate::tool;

const SERVER: &str = "the_gateway_passes_a_scored_server_scenario";
const CLIENT: &str = "the_upstream_leg_passes_a_scored_client_scenario";
const SDK: &str = "an_official_client_lists_and_calls_tools_through_the_gateway";
const FOREIGN: &str = "a_server_of_others_is_called_and_audited_through_the_gateway";
const OPENAI: &str = "an_official_openai_client_is_answered";

/// The names of the cases. Requirements refer to them like tests; each covers all of its cases.
pub const SENTENCES: [&str; 5] = [SERVER, CLIENT, SDK, FOREIGN, OPENAI];

/// Runs every check through one gateway, with the existing build; writes a record.
pub fn run_all_checks(out: &mut dyn Write) -> Result<Vec<Case>> {
    let packages = packages::install(PackageSet::ClientsAndServers)?;
    let fixture = ChildProgram::start_fixture()?;
    let gateway = ConformanceGateway::start(fixture.url(), &exposed_directories(&packages))?;
    let shim = TokenProxy::start(&gateway.fixture_endpoint(), gateway.token())?;
    let url = gateway.fixture_endpoint().url();
    let place = (&*url, Some(gateway.token()));
    let (serving, asking, mut checks, talks) = thread::scope(|scope| {
        // The suites mostly wait: the others run concurrently.
        let suites = scope.spawn(|| suites::run_suites(&packages, "through", &shim.url()));
        let rest = scope.spawn(|| -> Result<_> {
            let asking = client_suites::run_client_scenarios(&packages)?;
            let mut checks = client_checks(&packages, "through", place);
            checks.extend(server_checks(&packages, &gateway)?);
            checks.iter_mut().for_each(InteropCheck::run);
            Ok((asking, checks, run_openai_checks(&packages)?))
        });
        let gone = |_| anyhow!("a suite could not be run");
        let serving = suites.join().map_err(gone)??;
        let (asking, checks, talks) = rest.join().map_err(gone)??;
        anyhow::Ok((serving, asking, checks, talks))
    })?;
    // Nothing else runs any more: failed checks run without load.
    let serving = suites::retry_failed_suites(&packages, "through", &shim.url(), &serving)?;
    let asking = client_suites::retry_failed_scenarios(&packages, asking)?;
    checks.iter_mut().for_each(InteropCheck::run);
    let talks = retry_openai_checks(&packages, talks)?;

    report::print_brief(out, "upstream", &asking)?;
    report::print_brief(out, "through", &serving)?;
    let mut cases = report::to_test_cases(&asking, CLIENT);
    cases.extend(report::to_test_cases(&serving, SERVER));
    for check in &checks {
        cases.push(check.report_case(out)?);
    }
    cases.push(verify_audit_chain(out, &gateway)?);
    for talk in &talks {
        cases.push(talk.report_case(out)?);
    }
    cases.sort_by_key(Case::full_name);
    fs::write(results_path(), junit::write(&cases)?).context("cannot keep a record")?;
    Ok(cases)
}

/// The results of the last complete run; none if there is no record.
pub fn recorded() -> Result<Vec<Case>> {
    match fs::read_to_string(results_path()) {
        Ok(xml) => Ok(junit::parse(&xml)?.cases),
        Err(_) => Ok(vec![]),
    }
}

/// Removes the results of the last run, so that a later run cannot use them.
pub(crate) fn remove_recorded_results() -> Result<()> {
    match fs::remove_file(results_path()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn results_path() -> PathBuf {
    tool::target_dir().join("conformance/junit.xml")
}

/// The scenarios of the suites that test clients.
pub(super) fn run_upstream_scenarios(
    out: &mut dyn Write,
    packages: &InstalledPackages,
) -> Result<Vec<Case>> {
    let scenarios = client_suites::retry_failed_scenarios(
        packages,
        client_suites::run_client_scenarios(packages)?,
    )?;
    report::print_brief(out, "upstream", &scenarios)?;
    Ok(report::to_test_cases(&scenarios, CLIENT))
}

/// Every official client at an endpoint with the fixture's tools.
pub(super) fn run_sdk_clients(
    out: &mut dyn Write,
    packages: &InstalledPackages,
    label: &str,
    place: (&str, Option<&str>),
) -> Result<Vec<Case>> {
    run_twice(out, &mut client_checks(packages, label, place))
}

/// Every third-party server, called by two clients.
pub(super) fn run_third_party_servers(
    out: &mut dyn Write,
    packages: &InstalledPackages,
    gateway: &ConformanceGateway,
) -> Result<Vec<Case>> {
    let mut cases = run_twice(out, &mut server_checks(packages, gateway)?)?;
    cases.push(verify_audit_chain(out, gateway)?);
    Ok(cases)
}

/// All checks with the official OpenAI client.
pub(super) fn run_openai_client(
    out: &mut dyn Write,
    packages: &InstalledPackages,
) -> Result<Vec<Case>> {
    let talks = retry_openai_checks(packages, run_openai_checks(packages)?)?;
    talks.iter().map(|talk| talk.report_case(out)).collect()
}

/// Runs checks, and the failed ones once more.
fn run_twice(out: &mut dyn Write, checks: &mut [InteropCheck<'_>]) -> Result<Vec<Case>> {
    for _ in 0..2 {
        checks.iter_mut().for_each(InteropCheck::run);
    }
    checks.iter().map(|check| check.report_case(out)).collect()
}

fn client_checks<'a>(
    packages: &'a InstalledPackages,
    label: &str,
    (url, token): (&'a str, Option<&'a str>),
) -> Vec<InteropCheck<'a>> {
    let calls = json!([
        { "tool": "echo", "arguments": { "text": "hello" }, "text": "hello" },
        { "tool": "test_error_handling", "arguments": {}, "error": true },
    ]);
    let check = |client: SdkClient| {
        let calls = calls.clone();
        InteropCheck::new((format!("{client}, {label}"), SDK), move || {
            let output = client.run(packages, url, token, &calls);
            output.unwrap_or_else(|error| Err(format!("{error:#}")))
        })
    };
    SdkClient::ALL.into_iter().map(check).collect()
}

fn server_checks<'a>(
    packages: &'a InstalledPackages,
    gateway: &'a ConformanceGateway,
) -> Result<Vec<InteropCheck<'a>>> {
    let mut checks = vec![];
    // Another process may have taken a port meanwhile: another attempt chooses others.
    let servers =
        foreign::start_all_servers(packages).or_else(|_| foreign::start_all_servers(packages))?;
    for server in servers.into_iter().map(Arc::new) {
        for client in [SdkClient::PYTHON, SdkClient::TYPESCRIPT] {
            let (what, server) = (format!("{}, {client}", server.slug), Arc::clone(&server));
            checks.push(InteropCheck::new((what, FOREIGN), move || {
                server
                    .check_with_client(packages, gateway, client)
                    .map_err(|error| format!("{error:#}"))
            }));
        }
    }
    Ok(checks)
}

/// Verifies the audit chain.
fn verify_audit_chain(out: &mut dyn Write, gateway: &ConformanceGateway) -> Result<Case> {
    let mut tried = CheckTries::new("the audit is intact".to_owned(), FOREIGN);
    tried.record_try(match gateway.run_cynork(&["audit", "verify"]) {
        Ok(verified) if verified["intact"] == true => {
            Ok(format!("{} records", verified["records"]))
        }
        Ok(verified) => Err(verified.to_string()),
        Err(error) => Err(format!("{error:#}")),
    });
    tried.report_case(out)
}

/// The checks of the OpenAI client.
fn run_openai_checks(packages: &InstalledPackages) -> Result<Vec<CheckTries>> {
    let talk = |(check, output): (String, CheckOutput)| {
        let mut talk = CheckTries::new(openai_check_name(&check), OPENAI);
        talk.record_try(output);
        talk
    };
    Ok(openai::run(packages)?.into_iter().map(openai::ScriptCheck::into_result).map(talk).collect())
}

fn openai_check_name(check: &str) -> String {
    format!("OpenAI SDK, {check}")
}

/// Runs the OpenAI client once more if a check failed.
fn retry_openai_checks(
    packages: &InstalledPackages,
    mut talks: Vec<CheckTries>,
) -> Result<Vec<CheckTries>> {
    if talks.iter().all(CheckTries::has_passed) {
        return Ok(talks);
    }
    let second: Vec<_> =
        openai::run(packages)?.into_iter().map(openai::ScriptCheck::into_result).collect();
    // The end of the script is reported only on failure.
    let ends = !second.iter().any(|(check, _)| check == openai::ENDS);
    let ended = ends.then(|| (openai::ENDS.to_owned(), Ok("it does".to_owned())));
    let has_ended_early = talks.iter().any(|talk| talk.name == openai_check_name(openai::ENDS));
    for (check, output) in second.into_iter().chain(ended.filter(|_| has_ended_early)) {
        let what = openai_check_name(&check);
        match talks.iter_mut().find(|talk| talk.name == what) {
            Some(talk) if talk.has_passed() => {}
            Some(talk) => talk.record_try(output),
            None => {
                let mut talk = CheckTries::new(what, OPENAI);
                talk.record_try(Err("the script did not get to it".to_owned()));
                talk.record_try(output);
                talks.push(talk);
            }
        }
    }
    Ok(talks)
}
