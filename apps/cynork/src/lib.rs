//! `cynork`, the command-line client of the orchestrator.
//!
//! Start at [`run_args`]; [`cli`] defines the commands, and each command group is one module that owns its arguments and
//! its output. Commands that administer an installation are in `cynode-cli-admin`, what all share is in
//! `cynode-cli`. Data goes to standard output, messages to standard error.
//!
//! Invariant: no token is ever printed, except by `token create` and `agent-token issue`.

mod agent;
mod app;
mod brain;
mod chat;
pub mod cli;
mod completion;
mod follow;
mod forge;
mod inbox;
mod knowledge;
mod memory;
mod pm;
mod prefs;
mod profile_args;
mod profiles;
mod project;
mod runs;
mod schedule;
mod skills;
mod status;
mod task;
mod trace;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

pub use app::run;
pub use cli::Cli;

/// Parses `args`, the program name first, and runs the command.
pub fn run_args(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(code) = completion::answer(&args) {
        return code;
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Printing fails only on a closed pipe, and then there is no reader.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(Box::pin(run(cli))),
        Err(_) => ExitCode::from(cynode_cli::failure::INTERNAL),
    }
}
