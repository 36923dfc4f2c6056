//! `cargo xtask bench gateway`: builds what is measured, then measures it.

use anyhow::Result;

use crate::tool;

/// What the benchmark starts, and the benchmark.
const PACKAGES: &[&str] = &["cynode-orchestrator", "cynode-mcp-fixture", "cynode-bench"];

/// A Rust gateway from crates.io to compare with.
const PEER: &str = "mcp-proxy";

/// Runs the benchmark with `args`; `--peers` among them installs the peer first.
pub fn run(args: &[String]) -> Result<bool> {
    let mut build = tool::cargo(&["build", "--release"]);
    tool::must_succeed(build.args(PACKAGES.iter().flat_map(|package| ["-p", package])))?;
    if args.iter().any(|arg| arg == "--peers") {
        let place = tool::target_dir().join("tools").join(PEER);
        if !place.join("bin").join(PEER).is_file() {
            let mut install = tool::cargo(&["install", PEER, "--locked", "--root"]);
            tool::must_succeed(install.arg(place))?;
        }
    }
    let mut bench = std::process::Command::new(tool::target_dir().join("release/cynode-bench"));
    tool::succeeds(bench.current_dir(tool::root()).arg("gateway").args(args))
}
