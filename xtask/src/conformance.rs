//! `cargo xtask conformance`: the official MCP conformance suites and clients, and third-party
//! servers. Start at [`run`], or at [`run_all_checks`], which is part of `cargo xtask test`. `suites`
//! tests our fixture server bare, and the gateway with that fixture behind it: a scenario that
//! passes bare must pass through the gateway. `upstream` tests the gateway as a client; `clients`
//! and `servers` run third-party programs through it. `report` parses the results of the suites,
//! `shim` adds the token that they cannot send. Third-party programs have their own timeouts, which
//! a busy machine may exceed. A failed check runs once more, alone, before it counts, and the
//! report says so: a real fault fails twice.

mod clients;
mod gateway;
pub(crate) mod http;
mod interop;
mod interop_check;
mod openai;
pub(crate) mod packages;
pub(crate) mod process;
mod report;
mod servers;
mod shim;
mod suites;
mod upstream;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use self::gateway::ConformanceGateway;
use self::packages::{InstalledPackages, PackageSet, SdkGeneration};
use self::process::ChildProgram;
use self::shim::TokenProxy;
use crate::guardrails::evidence::Outcome;
use crate::tool;

pub(crate) use self::interop::remove_recorded_results;
pub use self::interop::{SENTENCES, recorded, run_all_checks};

/// What to test.
#[derive(Debug, Clone, Copy, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ConformanceArgs {
    /// Run all checks of `cargo xtask test` at once, with the existing build
    #[arg(long, exclusive = true)]
    pub all: bool,
    /// Also test the gateway, with the fixture behind it
    #[arg(long)]
    pub through_gateway: bool,
    /// Test the gateway's upstream client with the suite's client scenarios
    #[arg(long)]
    pub upstream: bool,
    /// Also run the official Python and TypeScript clients
    #[arg(long)]
    pub sdks: bool,
    /// Install third-party servers behind the gateway, and call them
    #[arg(long)]
    pub servers: bool,
    /// Run the official OpenAI client against the project manager and a model
    #[arg(long)]
    pub openai: bool,
    /// Skip the suites that test servers
    #[arg(long)]
    pub no_suites: bool,
}

/// Runs the selected checks; returns whether every scored check passed.
pub fn run(out: &mut dyn Write, args: ConformanceArgs) -> Result<bool> {
    if args.all {
        let cases = run_all_checks(out)?;
        return Ok(cases.iter().all(|case| case.outcome == Outcome::Passed));
    }
    let needs_clients = args.sdks || args.servers || args.openai;
    let wanted = if needs_clients { PackageSet::ClientsAndServers } else { PackageSet::Suites };
    let packages = packages::install(wanted)?;
    tool::build_for_tests()?;
    let fixture = ChildProgram::start_fixture()?;
    let gateway = needs_gateway(args)
        .then(|| ConformanceGateway::start(fixture.url(), &exposed_directories(&packages)))
        .transpose()?;
    let mut cases = vec![];
    let mut fine = true;
    if !args.no_suites {
        let bare = suites::run_twice(&packages, "bare", fixture.url())?;
        let through = gateway.as_ref().map(|gateway| {
            let shim = TokenProxy::start(&gateway.fixture_endpoint(), gateway.token())?;
            suites::run_twice(&packages, "through", &shim.url())
        });
        fine &= report::print_table(out, &bare, through.transpose()?.as_deref())?;
    }
    if args.upstream {
        cases.extend(interop::run_upstream_scenarios(out, &packages)?);
    }
    if args.sdks {
        cases.extend(interop::run_sdk_clients(out, &packages, "bare", (fixture.url(), None))?);
        if let Some(gateway) = &gateway {
            let place = (&*gateway.fixture_endpoint().url(), Some(gateway.token()));
            cases.extend(interop::run_sdk_clients(out, &packages, "through", place)?);
        }
    }
    if let (true, Some(gateway)) = (args.servers, &gateway) {
        cases.extend(interop::run_third_party_servers(out, &packages, gateway)?);
    }
    if args.openai {
        cases.extend(interop::run_openai_client(out, &packages)?);
    }
    Ok(fine && cases.iter().all(|case| case.outcome == Outcome::Passed))
}

fn needs_gateway(args: ConformanceArgs) -> bool {
    args.through_gateway || args.servers
}

/// Directories that third-party servers need to read in the sandbox, which exposes the system's own
/// programs only.
fn exposed_directories(packages: &InstalledPackages) -> Vec<PathBuf> {
    let python = packages.python_home(SdkGeneration::V2);
    // A virtual environment uses the library of the Python that created it.
    let lender = fs::canonicalize(packages.python(SdkGeneration::V2)).ok();
    let lender = lender.and_then(|program| Some(program.parent()?.parent()?.to_path_buf()));
    let node = packages.node_path().parent().map(PathBuf::from);
    [node, Some(packages.typescript()), Some(python), lender]
        .into_iter()
        .flatten()
        .filter(|place| place.exists() && !place.starts_with("/usr"))
        .collect()
}
