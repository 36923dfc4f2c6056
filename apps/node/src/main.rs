//! The `cynode-node` binary.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use cynode_node::Cli;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;

fn main() -> anyhow::Result<ExitCode> {
    let args: Vec<OsString> = std::env::args_os().collect();
    // Before any thread starts: sandbox stages run this executable too.
    if let Some(code) = cynode_sandbox::run_stage_if_requested(&args) {
        return Ok(code);
    }
    let cli = Cli::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let shutdown = Shutdown::on_signals(&BackgroundTasks::new())?;
        cynode_node::run(cli, shutdown).await
    })
}
