//! `cargo xtask conformance`: the official MCP conformance suites and SDK clients.
//!
//! Start at `run`. The suites judge our fixture server bare, and then the gateway with that fixture
//! behind it: what passes bare must pass through. `suites` says what is run, `report` reads what
//! came of it, `shim` adds the token that the suites cannot send.

mod clients;
mod gateway;
mod http;
mod packages;
mod process;
mod report;
mod shim;
mod suites;

use std::io::Write;

use anyhow::Result;
use clap::Args;

use self::gateway::Gateway;
use self::process::Program;
use self::shim::Shim;
use crate::tool;

/// What to judge.
#[derive(Debug, Clone, Copy, Args)]
pub struct ConformanceArgs {
    /// Judge the gateway too, with the fixture behind it
    #[arg(long)]
    pub through_gateway: bool,
    /// Let the official Python and TypeScript clients list and call tools too
    #[arg(long)]
    pub sdks: bool,
    /// Leave the suites out: only the clients
    #[arg(long, requires = "sdks")]
    pub no_suites: bool,
}

/// Runs what was asked; whether everything that counts passed.
pub fn run(out: &mut dyn Write, args: ConformanceArgs) -> Result<bool> {
    let packages = packages::install(args.sdks)?;
    let mut build = tool::cargo(&["build", "-p", "cynode-mcp-fixture"]);
    if args.through_gateway {
        build.args(["-p", "cynode-orchestrator"]);
    }
    tool::must_succeed(&mut build)?;

    let fixture = Program::fixture()?;
    let gateway = args.through_gateway.then(|| Gateway::start(fixture.url())).transpose()?;
    let mut fine = true;
    if !args.no_suites {
        let bare = suites::run(out, &packages, "bare", fixture.url())?;
        let through = match &gateway {
            None => None,
            Some(gateway) => {
                let shim = Shim::start(gateway.endpoint(), gateway.token())?;
                Some(suites::run(out, &packages, "through", &shim.url())?)
            }
        };
        fine &= report::print(out, &bare, through.as_deref())?;
    }
    if args.sdks {
        fine &= clients::run(out, &packages, "bare", fixture.url(), None)?;
        if let Some(gateway) = &gateway {
            let url = gateway.endpoint().url();
            fine &= clients::run(out, &packages, "through", &url, Some(gateway.token()))?;
        }
    }
    Ok(fine)
}
