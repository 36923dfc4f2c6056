//! The command line of the sandbox agent.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Sandbox agent: executes the job in a job specification, and writes its result.
///
/// Exits with 0 if the job succeeded. Reads from the environment: `OPENAI_BASE_URL` (the model), `CYNODE_MCP_URL` (granted
/// tools), `CYNODE_ACTION_FORMAT` (`native_calls`, `json_schema` or `fenced_text`).
#[derive(Debug, Clone, Parser)]
#[command(name = "cynode-sba", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<SbaCommand>,
    /// The job specification; `-` is standard input
    #[arg(long, value_name = "FILE", default_value = "/job/job.json")]
    pub job: PathBuf,
    /// The result; `-` is standard output, and progress is then written to standard error
    #[arg(long, value_name = "FILE", default_value = "/job/result.json")]
    pub result: PathBuf,
    /// The directory to work in
    #[arg(long, value_name = "DIR", default_value = "/workspace")]
    pub workspace: PathBuf,
}

/// What the agent does instead of a job.
#[derive(Debug, Clone, Subcommand)]
pub enum SbaCommand {
    /// Serve MCP on standard input and output, and forward it to the MCP server at `CYNODE_MCP_URL`.
    McpBridge,
}
