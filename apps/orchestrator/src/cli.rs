//! The command line of the orchestrator. Every flag is also a key of `[orchestrator]` in
//! `cynode.toml`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use serde::Serialize;

/// The control plane: REST, events, and the APIs of runners and worker nodes.
///
/// All state is in one database. Several orchestrators may share one PostgreSQL database.
#[derive(Debug, Clone, Default, Parser, Serialize)]
#[command(name = "cynode-orchestrator", version)]
pub struct Cli {
    /// Address to listen on [default: 127.0.0.1:12080]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Database: postgres://… or sqlite:PATH [default: cynode.db in the data directory]
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
    /// Start with an empty database even if the data directory contains files of earlier tasks
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_new_database: bool,
    /// File with the token of runners [default: runner.token in the data directory]
    #[arg(long, value_name = "FILE")]
    pub runner_token_file: Option<PathBuf>,
    /// File with the join token of worker nodes [default: node-join.token in the data directory]
    #[arg(long, value_name = "FILE")]
    pub join_token_file: Option<PathBuf>,
    /// Address of a project manager process; may be repeated
    #[arg(
        long = "pma",
        value_name = "ADDRESS",
        help = "Address of a project manager process: unix:/path or host:port; may be repeated [default: none, decisions are made by rule]"
    )]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pma_addresses: Vec<String>,
    /// File with the secret shared with the project manager [default: pma.secret in the data directory]
    #[arg(long, value_name = "FILE")]
    pub pma_secret_file: Option<PathBuf>,
    /// Config file [default: cynode.toml in the data directory, if it exists]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Data directory [default: ~/.local/share/cynode]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    #[command(subcommand)]
    #[serde(skip)]
    pub command: Option<Command>,
}

/// Commands that print a document instead of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Print the REST API as an `OpenAPI` 3.1 document.
    Openapi,
    /// Print the schemas of the built-in tools as JSON.
    ToolSchemas,
}
