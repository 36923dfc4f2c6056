//! `cargo xtask bench chat`: builds the binaries, installs the peer on request, then runs the
//! benchmark.

use std::io::Write;

use anyhow::Result;

use super::gateway::peers;
use super::program;
use crate::tool;

/// The packages that the benchmark starts.
const PACKAGES: &[&str] = &["cynode-orchestrator"];

/// Runs the benchmark with `args`; `--peers` among them installs the third-party proxy first.
pub fn run(out: &mut dyn Write, args: &[String]) -> Result<bool> {
    let mut bench = program::build_benchmark(PACKAGES, "chat", args)?;
    if args.iter().any(|arg| arg == "--peers") {
        peers::install(out, &tool::target_dir().join("peers"), &[peers::LITELLM])?;
    }
    tool::run_and_check(&mut bench)
}
