//! The program of agents, for the tests of the node: the one of `cynode-sba` belongs to another package.

use std::process::ExitCode;

use clap::Parser as _;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = cynode_sba::Cli::parse();
    let shutdown = Shutdown::on_signals(&BackgroundTasks::new())?;
    cynode_sba::run(cli, shutdown).await
}
