//! Other engines on the same PostgreSQL with the same durability.
//!
//! They are installed by `cargo xtask bench workflow --peers` below `target/peers`; one that could not
//! be is named with the reason.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cynode_testkit::DurableServer;

use super::WorkflowArgs;

/// Where they are installed.
const PLACE: &str = "target/peers";

/// A peer: its name, its program and the program's first arguments.
struct Peer {
    name: &'static str,
    program: PathBuf,
    script: Option<&'static str>,
}

fn all() -> [Peer; 3] {
    let python = Path::new(PLACE).join("venv/bin/python");
    [
        Peer {
            name: "LangGraph, Postgres saver, sync",
            program: python.clone(),
            script: Some("bench/peers/langgraph_steps.py"),
        },
        Peer { name: "DBOS (Python)", program: python, script: Some("bench/peers/dbos_steps.py") },
        Peer {
            name: "DBOS (Rust crate)",
            program: Path::new(PLACE).join("dbos-rust/release/dbos-steps"),
            script: None,
        },
    ]
}

/// Lets each peer measure itself and prints what it says, or why it cannot.
pub(super) fn measure(
    args: &WorkflowArgs,
    server: &DurableServer,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    writeln!(out, "\npeers on the same PostgreSQL (7 no-op steps, 1.4 kB of state)")?;
    for peer in all() {
        let said = ask(&peer, args, server);
        writeln!(out, "{:<34} {}", peer.name, said.unwrap_or_else(|reason| reason))?;
        out.flush()?;
    }
    Ok(())
}

fn ask(peer: &Peer, args: &WorkflowArgs, server: &DurableServer) -> Result<String, String> {
    if !peer.program.is_file() {
        let reason = fs::read_to_string(Path::new(PLACE).join("failed.txt")).unwrap_or_default();
        return Err(format!("not installed: {} {reason}", peer.program.display()));
    }
    let mut command = Command::new(&peer.program);
    command.args(peer.script);
    command.arg(server.sockets()).args([
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
