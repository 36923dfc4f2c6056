//! The `cynork` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cynork::run_args(std::env::args_os())
}
