//! The official OpenAI client for Python, against an orchestrator of its own.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::packages::Packages;
use crate::orchestrator::Orchestrator;
use crate::tool;

const SCRIPT: &str = include_str!("openai/client.py");

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

/// Starts an orchestrator and lets the client talk to it.
pub(super) fn run(packages: &Packages) -> Result<Vec<Check>> {
    let directory = tool::target_dir().join("conformance/openai");
    let orchestrator = Orchestrator::start(directory, "")?;
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
        checks.push(Check { name: "the script ends".to_owned(), passed: false, said });
    }
    Ok(checks)
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
