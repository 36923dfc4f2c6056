//! Conformance and interoperability as a part of `cargo xtask test`: everything, as test cases.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use serde_json::json;

use super::clients::Client;
use super::gateway::Gateway;
use super::packages::{self, Packages, Wanted};
use super::process::Program;
use super::shim::Shim;
use super::tried::{Check, Said, Tried};
use super::{exposed, openai, report, servers as foreign, suites, upstream as client_suites};
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
    let url = gateway.of_fixture().url();
    let place = (&*url, Some(gateway.token()));
    let (serving, asking, mut checks, talks) = thread::scope(|scope| {
        // The suites mostly wait: the others get their turn beside them.
        let suites = scope.spawn(|| suites::run(&packages, "through", &shim.url()));
        let rest = scope.spawn(|| -> Result<_> {
            let asking = client_suites::run(&packages)?;
            let mut checks = client_checks(&packages, "through", place);
            checks.extend(server_checks(&packages, &gateway)?);
            checks.iter_mut().for_each(Check::run);
            Ok((asking, checks, talks(&packages)?))
        });
        let gone = |_| anyhow!("a suite could not be run");
        let serving = suites.join().map_err(gone)??;
        let (asking, checks, talks) = rest.join().map_err(gone)??;
        anyhow::Ok((serving, asking, checks, talks))
    })?;
    // Nothing else runs any more: what failed has the machine for itself.
    let serving = suites::again(&packages, "through", &shim.url(), &serving)?;
    let asking = client_suites::again(&packages, asking)?;
    checks.iter_mut().for_each(Check::run);
    let talks = talks_again(&packages, talks)?;

    report::print_brief(out, "upstream", &asking)?;
    report::print_brief(out, "through", &serving)?;
    let mut cases = report::cases(&asking, CLIENT);
    cases.extend(report::cases(&serving, SERVER));
    for check in &checks {
        cases.push(check.tell(out)?);
    }
    cases.push(audit(out, &gateway)?);
    for talk in &talks {
        cases.push(talk.tell(out)?);
    }
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
    let scenarios = client_suites::again(packages, client_suites::run(packages)?)?;
    report::print_brief(out, "upstream", &scenarios)?;
    Ok(report::cases(&scenarios, CLIENT))
}

/// Every official client at a place with the fixture's tools.
pub(super) fn clients(
    out: &mut dyn Write,
    packages: &Packages,
    label: &str,
    place: (&str, Option<&str>),
) -> Result<Vec<Case>> {
    run_twice(out, &mut client_checks(packages, label, place))
}

/// Every server of others, called by two clients.
pub(super) fn servers(
    out: &mut dyn Write,
    packages: &Packages,
    gateway: &Gateway,
) -> Result<Vec<Case>> {
    let mut cases = run_twice(out, &mut server_checks(packages, gateway)?)?;
    cases.push(audit(out, gateway)?);
    Ok(cases)
}

/// The official OpenAI client, in all that it does.
pub(super) fn chat(out: &mut dyn Write, packages: &Packages) -> Result<Vec<Case>> {
    let talks = talks_again(packages, talks(packages)?)?;
    talks.iter().map(|talk| talk.tell(out)).collect()
}

/// Runs checks, and those once more that failed.
fn run_twice(out: &mut dyn Write, checks: &mut [Check<'_>]) -> Result<Vec<Case>> {
    for _ in 0..2 {
        checks.iter_mut().for_each(Check::run);
    }
    checks.iter().map(|check| check.tell(out)).collect()
}

fn client_checks<'a>(
    packages: &'a Packages,
    label: &str,
    (url, token): (&'a str, Option<&'a str>),
) -> Vec<Check<'a>> {
    let calls = json!([
        { "tool": "echo", "arguments": { "text": "hello" }, "text": "hello" },
        { "tool": "test_error_handling", "arguments": {}, "error": true },
    ]);
    let check = |client: Client| {
        let calls = calls.clone();
        Check::new((format!("{client}, {label}"), SDK), move || {
            let said = client.run(packages, url, token, &calls);
            said.unwrap_or_else(|error| Err(format!("{error:#}")))
        })
    };
    Client::ALL.into_iter().map(check).collect()
}

fn server_checks<'a>(packages: &'a Packages, gateway: &'a Gateway) -> Result<Vec<Check<'a>>> {
    let mut checks = vec![];
    // Somebody else may have taken a port meanwhile: another attempt chooses others.
    let servers = foreign::all(packages).or_else(|_| foreign::all(packages))?;
    for server in servers.into_iter().map(Arc::new) {
        for client in [Client::PYTHON, Client::TYPESCRIPT] {
            let (what, server) = (format!("{}, {client}", server.slug), Arc::clone(&server));
            checks.push(Check::new((what, FOREIGN), move || {
                server.judge(packages, gateway, client).map_err(|error| format!("{error:#}"))
            }));
        }
    }
    Ok(checks)
}

/// Whether the record of all calls is whole.
fn audit(out: &mut dyn Write, gateway: &Gateway) -> Result<Case> {
    let mut tried = Tried::new("the audit is intact".to_owned(), FOREIGN);
    tried.note(match gateway.cynork(&["audit", "verify"]) {
        Ok(verified) if verified["intact"] == true => {
            Ok(format!("{} records", verified["records"]))
        }
        Ok(verified) => Err(verified.to_string()),
        Err(error) => Err(format!("{error:#}")),
    });
    tried.tell(out)
}

/// What the OpenAI client sees in all that it does.
fn talks(packages: &Packages) -> Result<Vec<Tried>> {
    let talk = |(check, said): (String, Said)| {
        let mut talk = Tried::new(talk_of(&check), OPENAI);
        talk.note(said);
        talk
    };
    Ok(openai::run(packages)?.into_iter().map(openai::Check::told).map(talk).collect())
}

fn talk_of(check: &str) -> String {
    format!("OpenAI SDK, {check}")
}

/// Lets the OpenAI client do everything once more if something failed.
fn talks_again(packages: &Packages, mut talks: Vec<Tried>) -> Result<Vec<Tried>> {
    if talks.iter().all(Tried::has_passed) {
        return Ok(talks);
    }
    let second: Vec<_> = openai::run(packages)?.into_iter().map(openai::Check::told).collect();
    // That the script ends is told only if it does not.
    let ends = !second.iter().any(|(check, _)| check == openai::ENDS);
    let ended = ends.then(|| (openai::ENDS.to_owned(), Ok("it does".to_owned())));
    let has_ended_early = talks.iter().any(|talk| talk.what == talk_of(openai::ENDS));
    for (check, said) in second.into_iter().chain(ended.filter(|_| has_ended_early)) {
        let what = talk_of(&check);
        match talks.iter_mut().find(|talk| talk.what == what) {
            Some(talk) if talk.has_passed() => {}
            Some(talk) => talk.note(said),
            None => {
                let mut talk = Tried::new(what, OPENAI);
                talk.note(Err("the script did not get to it".to_owned()));
                talk.note(said);
                talks.push(talk);
            }
        }
    }
    Ok(talks)
}
