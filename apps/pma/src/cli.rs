//! The command line of the project manager and its analysts. Every setting is also a key of `[pma]` in
//! `cynode.toml`.

use std::path::PathBuf;

use clap::Parser;
use serde::Serialize;

/// Run the project manager or an analyst, which make decisions and execute nothing themselves.
///
/// It accepts work from the orchestrator only. The role comes from --role, else from `role` in `[pma]` of the
/// config file, else from the environment variable `PMA_ROLE`.
#[derive(Debug, Clone, Default, Parser, Serialize)]
#[command(name = "cynode-pma", version)]
pub struct Cli {
    /// Role of this process: `project_manager` or `project_analyst`
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// Address for handoffs of the orchestrator.
    #[arg(
        long,
        value_name = "ADDRESS",
        help = "Address for handoffs: unix:/path or a loopback host:port [default: run/pma/<role>.sock in the data directory]"
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
    /// Directory with the instructions of both roles [default: instructions in the data directory, else built-in ones]
    #[arg(long, value_name = "DIR")]
    pub instructions_root: Option<PathBuf>,
    /// Directory with the instructions of the project manager [default: `project_manager` in the root]
    #[arg(long, value_name = "DIR")]
    pub instructions_project_manager: Option<PathBuf>,
    /// Directory with the instructions of analysts [default: `project_analyst` in the root]
    #[arg(long, value_name = "DIR")]
    pub instructions_project_analyst: Option<PathBuf>,
    /// Maximum number of concurrent handoffs [default: 32]
    #[arg(long, value_name = "NUMBER")]
    pub max_open: Option<u32>,
    /// Longest silence of the orchestrator during a model request, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub think_timeout_s: Option<u32>,
    /// Longest duration of one model request, in seconds [default: 1800]
    #[arg(long, value_name = "SECONDS")]
    pub think_max_s: Option<u32>,
    /// Retries of a model request without an answer [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub think_retries: Option<u32>,
    /// Maximum length of a model's answer, in tokens [default: 4000]
    #[arg(long, value_name = "NUMBER")]
    pub think_max_tokens: Option<u32>,
    /// Fail to start if the kernel cannot confine this process
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub require_confinement: Option<bool>,
    /// Record exchanges with models, or replay recorded ones: off, record or replay [default: off]
    #[arg(long, value_name = "MODE")]
    pub cassette: Option<String>,
    /// Directory of recorded exchanges [default: cassettes in the data directory]
    #[arg(long, value_name = "DIR")]
    pub cassette_dir: Option<PathBuf>,
    /// Answer one handoff from standard input on standard output, and exit
    #[arg(long)]
    #[serde(skip)]
    pub once: bool,
    /// With --once: deadline of the answer, in milliseconds [default: 120000]
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
    /// Try what the confinement must deny, and print the results.
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
