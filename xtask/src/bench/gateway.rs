//! `cargo xtask bench gateway`: builds what is measured, installs peers if asked, then measures.

pub(super) mod peers;

use std::io::Write;

use anyhow::Result;

use super::program;
use crate::tool;

/// What the benchmark starts.
const PACKAGES: &[&str] = &["cynode-orchestrator", "cynode-mcp-fixture"];

/// Runs the benchmark with `args`; `--peers` among them installs gateways of others first.
pub fn run(out: &mut dyn Write, args: &[String]) -> Result<bool> {
    let mut bench = program::build(PACKAGES, "gateway", args)?;
    if args.iter().any(|arg| arg == "--peers") {
        peers::install(out, &tool::target_dir().join("peers"), peers::ALL)?;
    }
    tool::succeeds(&mut bench)
}
