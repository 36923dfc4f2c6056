//! The command line of `cynode`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  cynode up                                   start everything, with data in ~/.local/share/cynode
  cynode up --data-dir ./data --listen 127.0.0.1:0
  cynode up --database-url postgres://cynode@db.example/cynode

When ready, it prints the next command to run.";

/// Self-hosted control plane for AI project managers, in one program.
#[derive(Debug, Parser)]
#[command(name = "cynode", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: CynodeCommand,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum CynodeCommand {
    /// Start all components on this machine and supervise them until Ctrl-C.
    Up(CynodeUpArgs),
    /// Run one component of `up` in this process.
    #[command(subcommand)]
    Role(ComponentRole),
    /// Print the version of this program.
    Version,
}

/// Arguments of `up`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = EXAMPLES)]
pub struct CynodeUpArgs {
    /// Data directory [default: `$XDG_DATA_HOME/cynode`].
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Listen address; port 0 selects a free port [default: 127.0.0.1:12080].
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// PostgreSQL URL; without it, an embedded database is used.
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
    /// Directory whose git repositories tasks may use; may be repeated [default: none].
    #[arg(long = "repository-path", value_name = "DIR", value_parser = resolve_directory)]
    pub repository_paths: Vec<PathBuf>,
    /// When ready, print one line of JSON and nothing else on standard output.
    #[arg(long)]
    pub json: bool,
    /// Configuration file [default: `cynode.toml` in the data directory].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// The path of an existing directory, without links.
fn resolve_directory(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text).canonicalize().map_err(|error| error.to_string())?;
    if path.is_dir() { Ok(path) } else { Err("it is not a directory".to_owned()) }
}

/// Components that `up` and its nodes start.
#[derive(Debug, Subcommand)]
pub enum ComponentRole {
    /// The orchestrator: state, APIs, scheduling.
    Orchestrator(Box<cynode_orchestrator::Cli>),
    /// The workflow runner.
    Runner(Box<cynode_runner::Cli>),
    /// The worker node.
    Node(Box<cynode_node::Cli>),
    /// The project manager, or an analyst.
    Pma(Box<cynode_pma::Cli>),
    /// The agent inside a sandbox.
    Sba(Box<cynode_sba::Cli>),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_of_the_all_in_one_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_flags_that_up_gives_its_children_are_flags_they_take() {
        let lines = [
            "cynode role orchestrator --data-dir d --runner-token-file r --join-token-file j \
             --listen 127.0.0.1:0 --database-url postgres://x --pma unix:/s --pma-secret-file f \
             --config c",
            "cynode role pma --data-dir d --role=project_manager --orchestrator-url u --secret-file f \
             --listen unix:/s --config c",
            "cynode role runner --data-dir d --orchestrator-url u --token-file r \
             --health-listen unix:/s --config c",
            "cynode role node --data-dir d --orchestrator-url u --join-token-file j --state-dir s \
             --health-listen unix:/s --config c",
            "cynode role sba --job /job/job.json --result /job/artifacts/agent-result.json",
            "cynode role sba mcp-bridge",
        ];
        for line in lines {
            let parsed = Cli::try_parse_from(line.split_whitespace());
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}
