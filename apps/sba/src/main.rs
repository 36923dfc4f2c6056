//! The `cynode-sba` binary.

use std::process::ExitCode;

use clap::Parser;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_sba::Cli;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let shutdown = Shutdown::on_signals(&BackgroundTasks::new())?;
    cynode_sba::run(cli, shutdown).await
}
