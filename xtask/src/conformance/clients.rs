//! The official SDK clients: each lists the tools and calls one.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::packages::Packages;

const PYTHON: &str = include_str!("clients/client.py");
const TYPESCRIPT: &str = include_str!("clients/client.mjs");

/// How a script learns the token: not by an argument, which every user of the machine could read.
const TOKEN: &str = "MCP_TOKEN";

/// Runs both clients against `url`; whether both listed and called tools.
pub(super) fn run(
    out: &mut dyn Write,
    packages: &Packages,
    label: &str,
    url: &str,
    token: Option<&str>,
) -> Result<bool> {
    let mut python = packages.python();
    python.args(["-c", PYTHON, url]);
    // Node finds the SDK beside the script, wherever that is run from.
    let script = packages.typescript().join("client.mjs");
    fs::write(&script, TYPESCRIPT).context("cannot write the client's script")?;
    let mut typescript = packages.node();
    typescript.arg(script).arg(url);
    let mut fine = true;
    for (name, client) in [("Python SDK", &mut python), ("TypeScript SDK", &mut typescript)] {
        let said = talk(client, token)?;
        let word = if said.is_ok() { "pass" } else { "FAIL" };
        let words = said.as_ref().unwrap_or_else(|error| error);
        writeln!(out, "{name:<15} {label:<9} {word}: {}", words.trim())?;
        fine &= said.is_ok();
    }
    Ok(fine)
}

/// What the client printed, or what it complained of.
fn talk(client: &mut Command, token: Option<&str>) -> Result<Result<String, String>> {
    if let Some(token) = token {
        client.env(TOKEN, token);
    }
    let output = client.stdin(Stdio::null()).output().context("the client does not start")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}
