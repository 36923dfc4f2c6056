//! Everything in one: `cynode up` starts the whole system on an empty machine.
//!
//! Start at [`start`]. One executable has many faces: called as `cynork` it is the command line,
//! `role …` makes it one of the processes, a sandbox stage makes it a part of a job, and `up`
//! starts the roles as real child processes and keeps them running.
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
use cli::Command;

/// Does what a command line says, the program's name first.
pub fn start(args: Vec<OsString>) -> ExitCode {
    // Stages of a sandbox need a process that never had a second thread, so they come first.
    if let Some(code) = cynode_worker::enter_if_asked(&args) {
        return code;
    }
    if is_cynork(args.first()) {
        return cynork::start(args);
    }
    match Cli::try_parse_from(args) {
        Ok(Cli { command: Command::Up(args) }) => up::start(args),
        Ok(Cli { command: Command::Role(role) }) => role::start(role),
        Ok(Cli { command: Command::Version }) => version(),
        Err(error) => {
            // A closed pipe is all that can go wrong here, and nobody is left to be told.
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
