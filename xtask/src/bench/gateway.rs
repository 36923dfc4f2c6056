//! `cargo xtask bench gateway`: builds the binaries, installs peers on request, then runs the
//! benchmark.

pub(super) mod peers;

use std::io::Write;

use anyhow::Result;

use super::program;
use crate::tool;

/// The packages that the benchmark starts.
const PACKAGES: &[&str] = &["cynode-orchestrator", "cynode-mcp-fixture"];

/// Runs the benchmark with `args`; `--peers` among them installs other gateways first.
pub fn run(out: &mut dyn Write, args: &[String]) -> Result<bool> {
    let mut bench = program::build_benchmark(PACKAGES, "gateway", args)?;
    if args.iter().any(|arg| arg == "--peers") {
        peers::install(out, &tool::target_dir().join("peers"), peers::ALL)?;
    }
    tool::run_and_check(&mut bench)
}
