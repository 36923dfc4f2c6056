//! Other engines on the same PostgreSQL with the same durability. `cargo xtask bench workflow
//! --peers` installs them below `target/peers`; the output names each that could not be installed,
//! with the reason.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cynode_testkit::DurableServer;

use super::WorkflowBenchArgs;

/// Installation directory of the peers.
const PLACE: &str = "target/peers";

/// A peer: its name, its program and its first argument.
struct PeerEngine {
    name: &'static str,
    program: PathBuf,
    script: Option<&'static str>,
}

fn list_peers() -> [PeerEngine; 3] {
    let python = Path::new(PLACE).join("venv/bin/python");
    [
        PeerEngine {
            name: "LangGraph, Postgres saver, sync",
            program: python.clone(),
            script: Some("bench/peers/langgraph_steps.py"),
        },
        PeerEngine {
            name: "DBOS (Python)",
            program: python,
            script: Some("bench/peers/dbos_steps.py"),
        },
        PeerEngine {
            name: "DBOS (Rust crate)",
            program: Path::new(PLACE).join("dbos-rust/release/dbos-steps"),
            script: None,
        },
    ]
}

/// Runs the benchmark of each peer and prints its output, or the reason why it cannot run.
pub(super) fn measure_peer_engines(
    args: &WorkflowBenchArgs,
    server: &DurableServer,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    writeln!(out, "\npeers on the same PostgreSQL (7 no-op steps, 1.4 kB of state)")?;
    for peer in list_peers() {
        let output = run_peer(&peer, args, server);
        writeln!(out, "{:<34} {}", peer.name, output.unwrap_or_else(|reason| reason))?;
        out.flush()?;
    }
    Ok(())
}

fn run_peer(
    peer: &PeerEngine,
    args: &WorkflowBenchArgs,
    server: &DurableServer,
) -> Result<String, String> {
    if !peer.program.is_file() {
        let reason = fs::read_to_string(Path::new(PLACE).join("failed.txt")).unwrap_or_default();
        return Err(format!("not installed: {} {reason}", peer.program.display()));
    }
    let mut command = Command::new(&peer.program);
    command.args(peer.script);
    command.arg(server.socket_dir()).args([
        (args.sequential / 5).max(20).to_string(),
        args.at_once.to_string(),
        (args.runs / 10).max(64).to_string(),
    ]);
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let last = complaint.trim().lines().last().unwrap_or_default().to_owned();
    Err(format!("failed with {}: {last}", output.status))
}
