//! The orchestrator process: the one process that touches the database.
//!
//! Start at [`run`]; [`Orchestrator`] is the same thing for tests, which want to know the address
//! and to stop it themselves.
//!
//! Invariant: a started orchestrator has migrated its database, has an administrator, and has
//! written the address it listens on to `orchestrator.addr` in the data directory.

mod agents;
mod analysts;
mod cli;
mod egress;
mod gateway;
mod instances;
mod options;
mod processes;
mod secrets;
mod server;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use cynode_runtime::clock::SystemClock;
use cynode_runtime::config::{self, Sources};
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::telemetry::{self, LogOptions};

pub use cli::{Cli, Command};
pub use cynode_gateway::GatewayOptions;
pub use options::OrchestratorOptions;
pub use server::Orchestrator;

/// Serves until `shutdown`, or prints a document of the reference.
pub async fn run(cli: Cli, shutdown: Shutdown) -> anyhow::Result<ExitCode> {
    if let Some(command) = cli.command {
        let document = match command {
            Command::Openapi => server::document().await?,
            Command::ToolSchemas => {
                serde_json::to_string_pretty(&cynode_gateway::tools::schemas())?
            }
        };
        std::io::stdout().write_all(document.as_bytes()).context("standard output is closed")?;
        return Ok(ExitCode::SUCCESS);
    }
    let sources = Sources::of_process(cli.config.clone(), &cli)?;
    let (options, gateway, log): (OrchestratorOptions, GatewayOptions, LogOptions) =
        config::load_all(&sources)?;
    let _telemetry = telemetry::init("cynode-orchestrator", &log)?;
    let options = OrchestratorOptions { config_file: cli.config, ..options };
    let data_dir = config::data_dir(cli.data_dir);
    let clock = Arc::new(SystemClock);
    let orchestrator = Orchestrator::start_with(&options, &gateway, &data_dir, clock).await?;
    tracing::info!("listening on {}", orchestrator.address());
    Box::pin(orchestrator.serve(shutdown)).await?;
    Ok(ExitCode::SUCCESS)
}
