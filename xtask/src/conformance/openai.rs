//! The official OpenAI client for Python, against an orchestrator and a project manager of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use super::packages::Packages;
use super::process::Program;
use crate::orchestrator::Orchestrator;
use crate::tool;

const SCRIPT: &str = include_str!("openai/client.py");
const START_UP: Duration = Duration::from_mins(3);
/// The check that fails when the script does.
pub(super) const ENDS: &str = "the script ends";
/// Where the project manager takes work, in the data directory.
const SOCKET: &str = "pma.sock";

/// What one check of the script came to.
#[derive(Debug, Deserialize)]
pub(super) struct Check {
    #[serde(rename = "check")]
    name: String,
    passed: bool,
    said: String,
}

impl Check {
    /// The check's name, and what was seen or complained of.
    pub(super) fn told(self) -> (String, Result<String, String>) {
        (self.name, if self.passed { Ok(self.said) } else { Err(self.said) })
    }
}

/// Starts an orchestrator with a project manager and lets the client talk to both.
pub(super) fn run(packages: &Packages) -> Result<Vec<Check>> {
    let directory = tool::target_dir().join("conformance/openai");
    let config = format!(
        "[orchestrator]\npma_addresses = [\"unix:{}\"]\n",
        directory.join(SOCKET).display()
    );
    let orchestrator = Orchestrator::start(directory.clone(), &config)?;
    let _manager = manager(&directory, &orchestrator)?;
    let home = packages.openai_home();
    let script = home.join("client.py");
    fs::write(&script, SCRIPT).context("cannot write the client's script")?;
    let token = fs::read_to_string(orchestrator.token_file())?;
    let mut command = Command::new(home.join("bin/python"));
    command.arg(script).arg(orchestrator.address().to_string()).stdin(Stdio::null());
    let output = command.env("OPENAI_API_KEY", token.trim()).output();
    let output = output.context("the client does not start")?;
    let mut checks = read(&String::from_utf8_lossy(&output.stdout))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        checks.push(Check { name: ENDS.to_owned(), passed: false, said });
    }
    Ok(checks)
}

/// A project manager that takes work from the orchestrator.
fn manager(directory: &Path, orchestrator: &Orchestrator) -> Result<Program> {
    let socket = directory.join(SOCKET);
    let mut command = Command::new(tool::target_dir().join("debug/cynode-pma"));
    command.args(["--role", "project_manager", "--data-dir"]).arg(directory);
    command.arg("--orchestrator-url").arg(format!("http://{}", orchestrator.address()));
    command.arg("--listen").arg(format!("unix:{}", socket.display()));
    let log = fs::File::create(directory.join("pma.log"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut program = Program::start(&mut command)?;
    let start = Instant::now();
    while !socket.exists() {
        if program.has_ended() || start.elapsed() > START_UP {
            bail!("the project manager does not start; see {}/pma.log", directory.display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(program)
}

fn read(lines: &str) -> Result<Vec<Check>> {
    let check = |line| serde_json::from_str(line).context("the client printed no JSON");
    lines.lines().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_script_is_a_check() {
        let checks = read(
            "{\"check\": \"whole\", \"passed\": true, \"said\": \"Hello\"}\n\
             {\"check\": \"errors\", \"passed\": false, \"said\": \"AssertionError: x\"}\n",
        )
        .unwrap();

        let told: Vec<_> = checks.into_iter().map(Check::told).collect();
        assert_eq!(told[0], ("whole".to_owned(), Ok("Hello".to_owned())));
        assert_eq!(told[1], ("errors".to_owned(), Err("AssertionError: x".to_owned())));
        assert!(read("not json").is_err());
    }
}
