//! The official OpenAI client for Python, against a private orchestrator and project manager.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use super::packages::InstalledPackages;
use super::process::ChildProgram;
use crate::orchestrator::TestOrchestrator;
use crate::tool;

const SCRIPT: &str = include_str!("openai/client.py");
const START_UP: Duration = Duration::from_mins(3);
/// The check that fails when the script does.
pub(super) const ENDS: &str = "the script ends";
/// Socket of the project manager, in the data directory.
const SOCKET: &str = "pma.sock";

/// Result of one check of the script.
#[derive(Debug, Deserialize)]
pub(super) struct ScriptCheck {
    #[serde(rename = "check")]
    name: String,
    passed: bool,
    #[serde(rename = "said")]
    output: String,
}

impl ScriptCheck {
    /// The check's name, and its output or error.
    pub(super) fn into_result(self) -> (String, Result<String, String>) {
        (self.name, if self.passed { Ok(self.output) } else { Err(self.output) })
    }
}

/// Starts an orchestrator with a project manager and runs the client against both.
pub(super) fn run(packages: &InstalledPackages) -> Result<Vec<ScriptCheck>> {
    let directory = tool::target_dir().join("conformance/openai");
    let config = format!(
        "[orchestrator]\npma_addresses = [\"unix:{}\"]\n",
        directory.join(SOCKET).display()
    );
    let orchestrator = TestOrchestrator::start(directory.clone(), &config)?;
    let _manager = start_project_manager(&directory, &orchestrator)?;
    let home = packages.openai_home();
    let script = home.join("client.py");
    fs::write(&script, SCRIPT).context("cannot write the client's script")?;
    let token = fs::read_to_string(orchestrator.token_file())?;
    let mut command = Command::new(home.join("bin/python"));
    command.arg(script).arg(orchestrator.address().to_string()).stdin(Stdio::null());
    let output = command.env("OPENAI_API_KEY", token.trim()).output();
    let output = output.context("the client does not start")?;
    let mut checks = parse_checks(&String::from_utf8_lossy(&output.stdout))?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        checks.push(ScriptCheck { name: ENDS.to_owned(), passed: false, output });
    }
    Ok(checks)
}

/// Starts a project manager for the orchestrator.
fn start_project_manager(
    directory: &Path,
    orchestrator: &TestOrchestrator,
) -> Result<ChildProgram> {
    let socket = directory.join(SOCKET);
    let mut command = Command::new(tool::target_dir().join("debug/cynode-pma"));
    command.args(["--role", "project_manager", "--data-dir"]).arg(directory);
    command.arg("--orchestrator-url").arg(format!("http://{}", orchestrator.address()));
    command.arg("--listen").arg(format!("unix:{}", socket.display()));
    let log = fs::File::create(directory.join("pma.log"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut program = ChildProgram::start(&mut command)?;
    let start = Instant::now();
    while !socket.exists() {
        if program.has_ended() || start.elapsed() > START_UP {
            bail!("the project manager does not start; see {}/pma.log", directory.display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(program)
}

fn parse_checks(lines: &str) -> Result<Vec<ScriptCheck>> {
    let check = |line| serde_json::from_str(line).context("the client printed no JSON");
    lines.lines().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_script_is_a_check() {
        let checks = parse_checks(
            "{\"check\": \"whole\", \"passed\": true, \"said\": \"Hello\"}\n\
             {\"check\": \"errors\", \"passed\": false, \"said\": \"AssertionError: x\"}\n",
        )
        .unwrap();

        let told: Vec<_> = checks.into_iter().map(ScriptCheck::into_result).collect();
        assert_eq!(told[0], ("whole".to_owned(), Ok("Hello".to_owned())));
        assert_eq!(told[1], ("errors".to_owned(), Err("AssertionError: x".to_owned())));
        assert!(parse_checks("not json").is_err());
    }
}
