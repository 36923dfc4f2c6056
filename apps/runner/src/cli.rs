//! The command line of the runner. Every flag is also a key of `[runner]` in `cynode.toml`.

use std::path::PathBuf;

use clap::Parser;
use cynode_domain::ids::HolderId;
use serde::Serialize;

/// Workflow runner: claims runs from the orchestrator, drives them, and renews their leases.
///
/// Several runners may share one orchestrator. A runner that stops or is killed loses nothing: another one resumes
/// from the last checkpoint.
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
    /// File with the runner's token; must not be readable by others [default: runner.token in the data directory]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Maximum concurrent runs [default: 16]
    #[arg(long, value_name = "NUMBER")]
    pub slots: Option<u32>,
    /// Lease duration without renewal, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    pub lease_ms: Option<u32>,
    /// Lease holder id, a UUID unique to this process, so that its supervisor can report its end [default: generated]
    #[arg(long, value_name = "UUID")]
    pub holder_id: Option<HolderId>,
    /// Health endpoint.
    #[arg(
        long,
        value_name = "ADDRESS",
        help = "Address of /healthz, /readyz and /metrics: host:port or unix:/path [default: none]"
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
