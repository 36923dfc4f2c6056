//! The command line of a worker node. Every flag is also a key of `[node]` in `cynode.toml`.

use std::path::PathBuf;

use clap::Parser;
use serde::Serialize;

/// Runs jobs in sandboxes: joins an orchestrator, takes the jobs it is given, and delivers results.
///
/// A node that is killed loses nothing: its jobs go on without it, and it delivers their results
/// when it is started again with the same state directory.
#[derive(Debug, Clone, Default, Parser, Serialize)]
#[command(name = "cynode-node", version)]
pub struct Cli {
    /// Address of the orchestrator.
    #[arg(
        long,
        value_name = "URL",
        help = "Address of the orchestrator [default: http://127.0.0.1:12080]"
    )]
    pub orchestrator_url: Option<String>,
    /// File with the token that lets a node join; others must not be able to read it [default: node-join.token in the data directory]
    #[arg(long, value_name = "FILE")]
    pub join_token_file: Option<PathBuf>,
    /// Where jobs and workspaces are kept [default: node in the data directory]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// The node's name, unique in the installation [default: the name of the machine]
    #[arg(long, value_name = "NAME")]
    pub slug: Option<String>,
    /// How many jobs run at once [default: 4]
    #[arg(long, value_name = "NUMBER")]
    pub max_concurrency: Option<u32>,
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
