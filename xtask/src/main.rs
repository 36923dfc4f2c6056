//! `cargo xtask <command>`: see `cargo xtask help`.

use std::process::ExitCode;

use clap::Parser as _;
use xtask::{bench, cli};

fn main() -> ExitCode {
    if let Some(code) = bench::wrapper::run_if_wrapper() {
        return code;
    }
    match cli::run(cli::Cli::parse(), &mut std::io::stdout().lock()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
