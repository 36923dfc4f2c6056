//! `cargo xtask bench gateway`: builds what is measured, installs peers if asked, then measures.

mod peers;

use std::io::Write;

use anyhow::Result;

use crate::tool;

/// What the benchmark starts, and the benchmark.
const PACKAGES: &[&str] = &["cynode-orchestrator", "cynode-mcp-fixture", "cynode-bench"];

/// Runs the benchmark with `args`; `--peers` among them installs gateways of others first.
pub fn run(out: &mut dyn Write, args: &[String]) -> Result<bool> {
    let mut build = tool::cargo(&["build", "--release"]);
    tool::must_succeed(build.args(PACKAGES.iter().flat_map(|package| ["-p", package])))?;
    if args.iter().any(|arg| arg == "--peers") {
        peers::install(out, &tool::target_dir().join("peers"))?;
    }
    let mut bench = std::process::Command::new(tool::target_dir().join("release/cynode-bench"));
    tool::succeeds(bench.current_dir(tool::root()).arg("gateway").args(args))
}
