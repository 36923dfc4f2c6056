//! The `cynode-orchestrator` binary.

use std::process::ExitCode;

use clap::Parser;
use cynode_orchestrator::Cli;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let shutdown = Shutdown::on_signals(&Tasks::new())?;
    cynode_orchestrator::run(cli, shutdown).await
}
