//! The command line of the project manager and its analysts. Every flag is also a key of `[pma]`
//! in `cynode.toml`.

use std::path::PathBuf;

use clap::Parser;
use serde::Serialize;

/// The project manager, or an analyst: thinks and decides, and executes nothing itself.
///
/// It takes work from the orchestrator only. The role is chosen by --role, else by `role` in
/// `[pma]` of the config file, else by the environment variable `PMA_ROLE`.
#[derive(Debug, Clone, Default, Parser, Serialize)]
#[command(name = "cynode-pma", version)]
pub struct Cli {
    /// The role for the life of this process: `project_manager` or `project_analyst`
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// Where the orchestrator hands over work.
    #[arg(
        long,
        value_name = "ADDRESS",
        help = "Where work is handed over: unix:/path or a loopback host:port [default: run/pma/<role>.sock in the data directory]"
    )]
    pub listen: Option<String>,
    /// Address of the orchestrator.
    #[arg(
        long,
        value_name = "URL",
        help = "Address of the orchestrator [default: http://127.0.0.1:12080]"
    )]
    pub orchestrator_url: Option<String>,
    /// File with the secret that the orchestrator presents [default: pma.secret in the data directory]
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// Directory with the instructions of both roles [default: instructions in the data directory, or else those inside this program]
    #[arg(long, value_name = "DIR")]
    pub instructions_root: Option<PathBuf>,
    /// Directory with the instructions of the project manager [default: `project_manager` in the root]
    #[arg(long, value_name = "DIR")]
    pub instructions_project_manager: Option<PathBuf>,
    /// Directory with the instructions of analysts [default: `project_analyst` in the root]
    #[arg(long, value_name = "DIR")]
    pub instructions_project_analyst: Option<PathBuf>,
    /// How many handoffs are worked on at once [default: 32]
    #[arg(long, value_name = "NUMBER")]
    pub max_open: Option<u32>,
    /// How many seconds the orchestrator may be silent while a model is asked [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub think_timeout_s: Option<u32>,
    /// How many seconds one question to a model may take in all [default: 1800]
    #[arg(long, value_name = "SECONDS")]
    pub think_max_s: Option<u32>,
    /// How often a question to a model is asked again that got no answer [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub think_retries: Option<u32>,
    /// The most tokens of a model's answer [default: 4000]
    #[arg(long, value_name = "NUMBER")]
    pub think_max_tokens: Option<u32>,
    /// Do not start where the kernel cannot confine this process
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub require_confinement: Option<bool>,
    /// Record exchanges with models, or answer from records: off, record or replay [default: off]
    #[arg(long, value_name = "MODE")]
    pub cassette: Option<String>,
    /// Directory of the records [default: cassettes in the data directory]
    #[arg(long, value_name = "DIR")]
    pub cassette_dir: Option<PathBuf>,
    /// Answer one handoff from standard input on standard output, and end
    #[arg(long)]
    #[serde(skip)]
    pub once: bool,
    /// With --once: after how many milliseconds nobody waits for the answer any more [default: 120000]
    #[arg(long, value_name = "MS", requires = "once")]
    #[serde(skip)]
    pub within_ms: Option<u32>,
    /// Config file [default: cynode.toml in the data directory, if it exists]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Data directory [default: ~/.local/share/cynode]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Try what this process must not be able to do, and print what happened.
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub probe: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_of_the_project_manager_is_consistent() {
        Cli::command().debug_assert();
    }
}
