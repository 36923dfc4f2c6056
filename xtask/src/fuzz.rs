//! `cargo xtask fuzz`: mutated requests against the gateway's listener, for a given time.

use anyhow::Result;

use crate::tool;

/// Runs the fuzzer; returns whether every invariant held. It needs no nightly compiler.
pub fn run(seconds: u64, seed: u64) -> Result<bool> {
    let mut test = tool::cargo_command(&["test", "-p", "cynode-gateway", "--test", "fuzz", "--"]);
    test.args(["--nocapture", "no_mutated_request"]);
    test.env("CYNODE_FUZZ__SECONDS", seconds.to_string());
    test.env("CYNODE_FUZZ__SEED", seed.to_string());
    tool::run_and_check(&mut test)
}
