//! The `cynode-pma` binary.

use std::process::ExitCode;

use clap::Parser;
use cynode_pma::Cli;

fn main() -> anyhow::Result<ExitCode> {
    // No thread may start before the process is confined, so `main` starts no runtime.
    cynode_pma::start(Cli::parse())
}
