//! The command line of the runner. Every flag is also a key of `[runner]` in `cynode.toml`.

use std::path::PathBuf;

use clap::Parser;
use cynode_domain::ids::HolderId;
use serde::Serialize;

/// Drives tasks: claims them from the orchestrator, runs their workflow, and keeps their leases.
///
/// Several runners may work for one orchestrator. A runner that stops, or is killed, loses
/// nothing: another goes on from the last checkpoint.
#[derive(Debug, Clone, Default, Parser, Serialize)]
#[command(name = "cynode-runner", version)]
pub struct Cli {
    /// Address of the orchestrator.
    #[arg(
        long,
        value_name = "URL",
        help = "Address of the orchestrator [default: http://127.0.0.1:12080]"
    )]
    pub orchestrator_url: Option<String>,
    /// File with the runner's token; others must not be able to read it [default: runner.token in the data directory]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// How many tasks are driven at once [default: 16]
    #[arg(long, value_name = "NUMBER")]
    pub slots: Option<u32>,
    /// How long a lease lasts without renewal, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    pub lease_ms: Option<u32>,
    /// Who holds the leases, as a UUID that no other runner has: who starts this process can then say that it has ended [default: a new one]
    #[arg(long, value_name = "UUID")]
    pub holder_id: Option<HolderId>,
    /// Where health is served.
    #[arg(
        long,
        value_name = "ADDRESS",
        help = "Where to serve /healthz, /readyz and /metrics: host:port or unix:/path [default: nowhere]"
    )]
    pub health_listen: Option<String>,
    /// Config file [default: cynode.toml in the data directory, if it exists]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Data directory [default: ~/.local/share/cynode]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}
