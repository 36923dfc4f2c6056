//! `cargo xtask bench chat`: builds what is measured, installs the peer if asked, then measures.

use std::io::Write;

use anyhow::Result;

use super::gateway::peers;
use super::program;
use crate::tool;

/// What the benchmark starts.
const PACKAGES: &[&str] = &["cynode-orchestrator"];

/// Runs the benchmark with `args`; `--peers` among them installs the proxy of others first.
pub fn run(out: &mut dyn Write, args: &[String]) -> Result<bool> {
    let mut bench = program::build(PACKAGES, "chat", args)?;
    if args.iter().any(|arg| arg == "--peers") {
        peers::install(out, &tool::target_dir().join("peers"), &[peers::LITELLM])?;
    }
    tool::succeeds(&mut bench)
}
