//! The orchestrator process: the only process that accesses the database.
//!
//! Start at [`run`]; tests use [`OrchestratorServer`] directly, to learn its address and to stop it.
//!
//! Invariant: a started orchestrator has migrated its database, has an administrator, and has written its
//! listen address to `orchestrator.addr` in the data directory.

mod agent_services;
mod analyst_launcher;
mod audit_stream;
mod cli;
mod connections;
mod gateway_assembly;
mod model_egress;
mod options;
mod pma_instances;
mod process_events;
mod server;
mod server_processes;
mod service_secrets;
mod trusted_proxies;

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use cynode_runtime::clock::SystemClock;
use cynode_runtime::config::{self, ConfigSources};
use cynode_runtime::descriptors;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::telemetry::{self, LogOptions};

pub use cli::{Cli, Command};
pub use cynode_gateway::GatewayOptions;
pub use options::OrchestratorOptions;
pub use server::OrchestratorServer;

/// Serves until `shutdown`, or prints a reference document.
pub async fn run(cli: Cli, shutdown: Shutdown) -> anyhow::Result<ExitCode> {
    if let Some(command) = cli.command {
        let document = match command {
            Command::Openapi => Box::pin(server::render_api_document()).await?,
            Command::ToolSchemas => {
                serde_json::to_string_pretty(&cynode_gateway::tools::schemas())?
            }
        };
        std::io::stdout().write_all(document.as_bytes()).context("standard output is closed")?;
        return Ok(ExitCode::SUCCESS);
    }
    let sources = ConfigSources::from_process(cli.config.clone(), &cli)?;
    let (options, gateway, log): (OrchestratorOptions, GatewayOptions, LogOptions) =
        config::load_all(&sources)?;
    let _telemetry = telemetry::init("cynode-orchestrator", &log)?;
    let options = OrchestratorOptions { config_file: cli.config, ..options };
    let data_dir = config::data_dir(cli.data_dir);
    descriptors::raise_open_file_limit();
    let clock = Arc::new(SystemClock);
    let orchestrator = OrchestratorServer::start_with(&options, &gateway, &data_dir, clock).await?;
    let address = orchestrator.address();
    tracing::info!("listening on {address}");
    if let Some(warning) = exposure_warning(address) {
        tracing::warn!("{warning}");
    }
    Box::pin(orchestrator.serve(shutdown)).await;
    Ok(ExitCode::SUCCESS)
}

/// A warning if other machines can reach the address: the orchestrator itself does not encrypt.
pub fn exposure_warning(address: SocketAddr) -> Option<String> {
    (!address.ip().is_loopback()).then(|| {
        format!(
            "{address} is reachable from other machines, and its connections are not encrypted: tokens and \
             passwords can be read on the way. Put a reverse proxy with TLS in front, or listen on 127.0.0.1."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_other_machines_reach_is_warned_about() {
        for address in ["0.0.0.0:12080", "[::]:12080", "192.168.1.7:80"] {
            let warning = exposure_warning(address.parse().unwrap()).unwrap();
            assert!(warning.contains(address) && warning.contains("TLS"), "{warning}");
        }
        for address in ["127.0.0.1:12080", "127.3.2.1:1", "[::1]:12080"] {
            assert_eq!(exposure_warning(address.parse().unwrap()), None);
        }
    }
}
