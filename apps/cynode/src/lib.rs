//! The all-in-one binary: `cynode up` starts the whole system on an empty machine.
//!
//! Start at [`run_args`]. The same executable is `cynork` when called by that name, one component with `role …`, a
//! sandbox stage when the worker starts it as one, and with `up` the supervisor that runs the components as child
//! processes.
//!
//! Invariant: `up` itself opens no database and serves nothing; it only supervises.

pub mod cli;
mod role;
mod up;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;

pub use cli::Cli;
use cli::CynodeCommand;

/// Runs the command line `args`, the program name first.
pub fn run_args(args: Vec<OsString>) -> ExitCode {
    // Sandbox stages need a single-threaded process, so they are checked first.
    if let Some(code) = cynode_sandbox::run_stage_if_requested(&args) {
        return code;
    }
    if is_cynork(args.first()) {
        return cynork::run_args(args);
    }
    match Cli::try_parse_from(args) {
        Ok(Cli { command: CynodeCommand::Up(args) }) => up::start(args),
        Ok(Cli { command: CynodeCommand::Role(role) }) => role::start(role),
        Ok(Cli { command: CynodeCommand::Version }) => version(),
        Err(error) => {
            // Printing fails only on a closed pipe, and then there is no reader.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

fn is_cynork(program: Option<&OsString>) -> bool {
    program.and_then(|name| Path::new(name).file_name()) == Some(OsStr::new("cynork"))
}

fn version() -> ExitCode {
    let line = format!("cynode {}\n", env!("CARGO_PKG_VERSION"));
    match std::io::stdout().write_all(line.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_it_is_called_by_makes_it_the_command_line() {
        assert!(is_cynork(Some(&OsString::from("./target/release/cynork"))));
        assert!(!is_cynork(Some(&OsString::from("/opt/cynork/bin/cynode"))));
        assert!(!is_cynork(None));
    }
}
