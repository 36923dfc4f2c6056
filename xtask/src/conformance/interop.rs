//! Conformance and interoperability as a part of `cargo xtask test`: everything, as test cases.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use serde_json::json;

use super::clients::Client;
use super::gateway::Gateway;
use super::packages::{self, Packages, Wanted};
use super::process::Program;
use super::shim::Shim;
use super::{exposed, openai, report, servers as foreign, suites, upstream as client_suites};
use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::{self, Case};
use crate::tool;

const SERVER: &str = "the_gateway_passes_a_scored_server_scenario";
const CLIENT: &str = "the_upstream_leg_passes_a_scored_client_scenario";
const SDK: &str = "an_official_client_lists_and_calls_tools_through_the_gateway";
const FOREIGN: &str = "a_server_of_others_is_called_and_audited_through_the_gateway";
const OPENAI: &str = "an_official_openai_client_is_answered";

/// What the cases show. Requirements name them like tests; each stands for all of its cases.
pub const SENTENCES: [&str; 5] = [SERVER, CLIENT, SDK, FOREIGN, OPENAI];

/// Judges everything through one gateway, with binaries that are built already; keeps a record.
pub fn judge_all(out: &mut dyn Write) -> Result<Vec<Case>> {
    let packages = packages::install(Wanted::ClientsAndServers)?;
    let fixture = Program::fixture()?;
    let gateway = Gateway::start(fixture.url(), &exposed(&packages))?;
    let shim = Shim::start(&gateway.of_fixture(), gateway.token())?;
    let (mut cases, said) = thread::scope(|scope| {
        // The suites mostly wait: the others get their turn beside them.
        let suites = scope.spawn(|| suites::run(&packages, "through", &shim.url()));
        let rest = scope.spawn(|| -> Result<_> {
            let mut said = vec![];
            let mut cases = upstream(&mut said, &packages)?;
            let place = (&*gateway.of_fixture().url(), Some(gateway.token()));
            cases.extend(clients(&mut said, &packages, "through", place)?);
            cases.extend(servers(&mut said, &packages, &gateway)?);
            cases.extend(chat(&mut said, &packages)?);
            Ok((cases, said))
        });
        let gone = |_| anyhow!("a suite could not be run");
        let scenarios = suites.join().map_err(gone)??;
        let (mut cases, mut said) = rest.join().map_err(gone)??;
        report::print_brief(&mut said, "through", &scenarios)?;
        cases.extend(report::cases(&scenarios, SERVER));
        anyhow::Ok((cases, said))
    })?;
    out.write_all(&said)?;
    cases.sort_by_key(Case::full_name);
    fs::write(record(), junit::write(&cases)).context("cannot keep a record")?;
    Ok(cases)
}

/// What the last run of everything showed.
pub fn recorded() -> Vec<Case> {
    junit::parse(&fs::read_to_string(record()).unwrap_or_default()).cases
}

/// Forgets what the last run showed, so that it cannot speak for another.
pub(crate) fn forget() -> Result<()> {
    match fs::remove_file(record()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn record() -> PathBuf {
    tool::target_dir().join("conformance/junit.xml")
}

/// The scenarios of the suites that judge clients.
pub(super) fn upstream(out: &mut dyn Write, packages: &Packages) -> Result<Vec<Case>> {
    let scenarios = client_suites::run(packages)?;
    report::print_brief(out, "upstream", &scenarios)?;
    Ok(report::cases(&scenarios, CLIENT))
}

/// Every official client at a place with the fixture's tools.
pub(super) fn clients(
    out: &mut dyn Write,
    packages: &Packages,
    label: &str,
    (url, token): (&str, Option<&str>),
) -> Result<Vec<Case>> {
    let calls = json!([
        { "tool": "echo", "arguments": { "text": "hello" }, "text": "hello" },
        { "tool": "test_error_handling", "arguments": {}, "error": true },
    ]);
    let mut cases = vec![];
    for client in Client::ALL {
        let said = client.run(packages, url, token, &calls)?;
        cases.push(told(out, &format!("{client}, {label}"), SDK, &said)?);
    }
    Ok(cases)
}

/// The official OpenAI client, in all that it does.
pub(super) fn chat(out: &mut dyn Write, packages: &Packages) -> Result<Vec<Case>> {
    let checks = openai::run(packages)?;
    let tell =
        |(check, said): (String, _)| told(out, &format!("OpenAI SDK, {check}"), OPENAI, &said);
    checks.into_iter().map(openai::Check::told).map(tell).collect()
}

/// Every server of others, called by two clients.
pub(super) fn servers(
    out: &mut dyn Write,
    packages: &Packages,
    gateway: &Gateway,
) -> Result<Vec<Case>> {
    let mut cases = vec![];
    for server in foreign::all(packages)? {
        for client in [Client::PYTHON, Client::TYPESCRIPT] {
            let said =
                server.judge(packages, gateway, client).map_err(|error| format!("{error:#}"));
            cases.push(told(out, &format!("{}, {client}", server.slug), FOREIGN, &said)?);
        }
    }
    let verified = match gateway.cynork(&["audit", "verify"]) {
        Ok(verified) if verified["intact"] == true => {
            Ok(format!("{} records", verified["records"]))
        }
        Ok(verified) => Err(verified.to_string()),
        Err(error) => Err(format!("{error:#}")),
    };
    cases.push(told(out, "the audit is intact", FOREIGN, &verified)?);
    Ok(cases)
}

/// Prints how something went, and makes a case of it.
fn told(
    out: &mut dyn Write,
    what: &str,
    sentence: &str,
    said: &Result<String, String>,
) -> Result<Case> {
    let word = if said.is_ok() { "pass" } else { "FAIL" };
    let words = said.as_ref().unwrap_or_else(|error| error);
    writeln!(out, "{what:<44} {word}: {words}")?;
    let outcome = if said.is_ok() { Outcome::Passed } else { Outcome::Failed };
    Ok(Case { binary: format!("interop::{what}"), name: sentence.to_owned(), outcome })
}
