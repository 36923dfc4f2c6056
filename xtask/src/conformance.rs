//! `cargo xtask conformance`: the official MCP conformance suites and clients, and servers of others.
//!
//! Start at [`run`], or at [`judge_all`], which is the part of `cargo xtask test`. `suites` judges
//! our fixture server bare, and the gateway with that fixture behind it: what passes bare must pass
//! through. `upstream` judges the gateway as a client; `clients` and `servers` let programs of others
//! speak through it. `report` reads what the suites found, `shim` adds the token that they cannot send.
//!
//! Programs of others have their own patience, which a busy machine may exhaust. What fails is run once
//! more, alone, before it counts, and the report says so: a real fault fails twice.

mod clients;
mod gateway;
pub(crate) mod http;
mod interop;
mod openai;
pub(crate) mod packages;
pub(crate) mod process;
mod report;
mod servers;
mod shim;
mod suites;
mod tried;
mod upstream;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use self::gateway::Gateway;
use self::packages::{Generation, Packages, Wanted};
use self::process::Program;
use self::shim::Shim;
use crate::guardrails::evidence::Outcome;
use crate::tool;

pub(crate) use self::interop::forget;
pub use self::interop::{SENTENCES, judge_all, recorded};

/// What to judge.
#[derive(Debug, Clone, Copy, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ConformanceArgs {
    /// Judge all that `cargo xtask test` does, as it does: at once, with what is built already
    #[arg(long, exclusive = true)]
    pub all: bool,
    /// Judge the gateway too, with the fixture behind it
    #[arg(long)]
    pub through_gateway: bool,
    /// Judge the gateway's way to installed servers, with the suite's client scenarios
    #[arg(long)]
    pub upstream: bool,
    /// Let the official Python and TypeScript clients list and call tools too
    #[arg(long)]
    pub sdks: bool,
    /// Install servers of others behind the gateway, and call them
    #[arg(long)]
    pub servers: bool,
    /// Let the official OpenAI client talk to the project manager and to a model
    #[arg(long)]
    pub openai: bool,
    /// Leave out the suites that judge servers
    #[arg(long)]
    pub no_suites: bool,
}

/// Runs what was asked; whether everything that counts passed.
pub fn run(out: &mut dyn Write, args: ConformanceArgs) -> Result<bool> {
    if args.all {
        let cases = judge_all(out)?;
        return Ok(cases.iter().all(|case| case.outcome == Outcome::Passed));
    }
    let needs_clients = args.sdks || args.servers || args.openai;
    let wanted = if needs_clients { Wanted::ClientsAndServers } else { Wanted::Suites };
    let packages = packages::install(wanted)?;
    build(args)?;
    let fixture = Program::fixture()?;
    let gateway = needs_gateway(args)
        .then(|| Gateway::start(fixture.url(), &exposed(&packages)))
        .transpose()?;
    let mut cases = vec![];
    let mut fine = true;
    if !args.no_suites {
        let bare = suites::run_twice(&packages, "bare", fixture.url())?;
        let through = gateway.as_ref().map(|gateway| {
            let shim = Shim::start(&gateway.of_fixture(), gateway.token())?;
            suites::run_twice(&packages, "through", &shim.url())
        });
        fine &= report::print(out, &bare, through.transpose()?.as_deref())?;
    }
    if args.upstream {
        cases.extend(interop::upstream(out, &packages)?);
    }
    if args.sdks {
        cases.extend(interop::clients(out, &packages, "bare", (fixture.url(), None))?);
        if let Some(gateway) = &gateway {
            let place = (&*gateway.of_fixture().url(), Some(gateway.token()));
            cases.extend(interop::clients(out, &packages, "through", place)?);
        }
    }
    if let (true, Some(gateway)) = (args.servers, &gateway) {
        cases.extend(interop::servers(out, &packages, gateway)?);
    }
    if args.openai {
        cases.extend(interop::chat(out, &packages)?);
    }
    Ok(fine && cases.iter().all(|case| case.outcome == Outcome::Passed))
}

fn needs_gateway(args: ConformanceArgs) -> bool {
    args.through_gateway || args.servers
}

/// Builds what is judged, all at once: cargo would build again what two commands share.
fn build(args: ConformanceArgs) -> Result<()> {
    let mut build = tool::cargo(&["build", "--bins", "-p", "cynode-mcp-fixture"]);
    if needs_gateway(args) || args.openai {
        build.args(["-p", "cynode-orchestrator", "-p", "cynork"]);
    }
    if args.openai {
        build.args(["-p", "cynode-pma"]);
    }
    if args.upstream {
        build.args(["-p", "cynode-gateway", "--example", "conformance_client"]);
    }
    tool::must_succeed(&mut build)
}

/// What servers of others need to read when they run in the sandbox, which shows the system's own
/// programs by itself.
fn exposed(packages: &Packages) -> Vec<PathBuf> {
    let python = packages.python_home(Generation::V2);
    // A Python of its own borrows its library from the one it was made with, wherever that is.
    let lender = fs::canonicalize(packages.python(Generation::V2)).ok();
    let lender = lender.and_then(|program| Some(program.parent()?.parent()?.to_path_buf()));
    let node = packages.node_path().parent().map(PathBuf::from);
    [node, Some(packages.typescript()), Some(python), lender]
        .into_iter()
        .flatten()
        .filter(|place| place.exists() && !place.starts_with("/usr"))
        .collect()
}
