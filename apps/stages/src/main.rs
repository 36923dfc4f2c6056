//! The `cynode-stages` binary: the stages of a sandbox and nothing else, so that it loads in a fraction of a millisecond.
//!
//! A worker node starts it if it is beside the node's own program and was built from the same sources.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    cynode_sandbox::run_stage_if_requested(&args).unwrap_or(ExitCode::FAILURE)
}
