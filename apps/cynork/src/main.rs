//! The `cynork` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    cynork::start(std::env::args_os())
}
