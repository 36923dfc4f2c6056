//! The `cynode-orchestrator` binary.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use cynode_orchestrator::Cli;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;

/// Optimised for concurrent allocation.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<ExitCode> {
    let args: Vec<OsString> = std::env::args_os().collect();
    // Before any thread starts: this program also runs the stages of sandboxes.
    if let Some(code) = cynode_sandbox::run_stage_if_requested(&args) {
        return Ok(code);
    }
    let cli = Cli::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let shutdown = Shutdown::on_signals(&BackgroundTasks::new())?;
        Box::pin(cynode_orchestrator::run(cli, shutdown)).await
    })
}
