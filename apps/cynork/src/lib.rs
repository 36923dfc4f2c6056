//! `cynork`, the command line: everything a person does with the orchestrator, from a terminal.
//!
//! Start at [`start`]; [`cli`] has the commands and global flags, each command group is one module
//! that owns its arguments and its output. Data goes to standard output, talk to standard error.
//!
//! Invariant: no token is ever printed, except by `token create` and
//! `agent-token issue`, whose purpose it is.

mod age;
mod agent_token;
mod app;
mod audit;
mod auth;
mod brain;
mod chat;
pub mod cli;
mod complete;
mod creds;
mod failure;
mod follow;
mod groups;
mod history;
mod inbox;
mod known;
mod nodes;
mod out;
mod patience;
mod prefs;
mod progress;
mod project;
mod providers;
mod rules;
mod runs;
mod schedule;
mod servers;
mod session;
mod setting;
mod settings;
mod skills;
mod status;
mod stored;
mod table;
mod task;
mod token;
mod tools;
mod users;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

pub use app::run;
pub use cli::Cli;

/// Parses a command line, the program's name first, and does what it says.
pub fn start(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(code) = complete::answer(&args) {
        return code;
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is all that can go wrong here, and nobody is left to be told.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(Box::pin(run(cli))),
        Err(_) => ExitCode::from(failure::INTERNAL),
    }
}
