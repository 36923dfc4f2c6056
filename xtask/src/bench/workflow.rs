//! `cargo xtask bench workflow`: builds the binaries, installs peers on request, then runs the
//! benchmark.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::program;
use crate::tool;

/// The packages that the benchmark starts.
const PACKAGES: &[&str] = &["cynode-orchestrator", "cynode-runner"];

/// The peers from `PyPI`.
const PYTHON_PEERS: &[&str] =
    &["langgraph", "langgraph-checkpoint-postgres", "psycopg[binary,pool]", "dbos"];

/// Runs the benchmark with `args`; `--peers` among them installs other engines first.
pub fn run(out: &mut dyn Write, args: &[String]) -> Result<bool> {
    let mut bench = program::build_benchmark(PACKAGES, "workflow", args)?;
    if args.iter().any(|arg| arg == "--peers") {
        install_peers(out)?;
    }
    tool::run_and_check(&mut bench)
}

/// Installs the peers that can be installed; records the reason for the others.
fn install_peers(out: &mut dyn Write) -> Result<()> {
    let dir = tool::target_dir().join("peers");
    fs::create_dir_all(&dir)?;
    let mut failures = String::new();
    let venv = dir.join("venv");
    if !venv.join("bin/dbos").is_file() {
        writeln!(out, "installing {}", PYTHON_PEERS.join(", "))?;
        let made = run_silenced(Command::new("python3").args(["-m", "venv"]).arg(&venv))
            && run_silenced(
                Command::new(venv.join("bin/pip")).args(["install", "-q"]).args(PYTHON_PEERS),
            );
        if !made {
            failures.push_str("(python3 -m venv or pip install failed) ");
        }
    }
    if !dir.join("dbos-rust/release/dbos-steps").is_file() && !build_rust_peer(&dir) {
        failures.push_str("(cargo build of bench/peers/dbos-rust failed) ");
    }
    fs::write(dir.join("failed.txt"), failures)?;
    Ok(())
}

fn build_rust_peer(dir: &Path) -> bool {
    let mut build = tool::cargo_command(&["build", "--release", "--manifest-path"]);
    build.arg(tool::root().join("bench/peers/dbos-rust/Cargo.toml"));
    run_silenced(build.arg("--target-dir").arg(dir.join("dbos-rust")))
}

fn run_silenced(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
}
