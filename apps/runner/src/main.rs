//! The `cynode-runner` binary.

use std::process::ExitCode;

use clap::Parser;
use cynode_runner::Cli;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let shutdown = Shutdown::on_signals(&BackgroundTasks::new())?;
    cynode_runner::run(cli, shutdown).await
}
