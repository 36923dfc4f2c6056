//! The flags of every command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// Global flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct GlobalArgs {
    /// Configuration file [default: `$XDG_CONFIG_HOME/cynork/config.toml`].
    #[arg(short, long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Output format: `table` for people, `json` for programs [default: table].
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub output: Option<Format>,
    /// Print data only: no progress, no hints.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print the trace id of the requests of this command to standard error; the logs of the gateway have it too.
    #[arg(long, global = true)]
    pub verbose: bool,
    /// Disable colour, as `NO_COLOR` does.
    #[arg(long, global = true)]
    pub no_color: bool,
    /// Print escape sequences of jobs and models unchanged. Without it they are removed at a terminal.
    #[arg(long, global = true)]
    pub raw: bool,
    /// Data directory of a local `cynode up` [default: `$XDG_DATA_HOME/cynode`].
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Gateway address [default: a local `cynode up`, else `http://localhost:12080`].
    #[arg(long, global = true, value_name = "URL")]
    pub gateway_url: Option<String>,
    /// Read the API token from this file.
    #[arg(long, global = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// Output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A table for people.
    #[default]
    Table,
    /// One JSON value for programs.
    Json,
}
