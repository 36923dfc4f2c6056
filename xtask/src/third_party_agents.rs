//! `cargo xtask agents`: agents of other vendors, from npm and `PyPI`, change a file of a repository through the whole product,
//! with a scripted model.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::conformance::packages;
use crate::guardrails::evidence::Outcome;
use crate::guardrails::junit::{self, Case};
use crate::{prepare, tool};

/// An agent that speaks the Agent Client Protocol.
const OPENCODE: &str = r#"{
  "private": true,
  "dependencies": {
    "opencode-ai": "1.18.33"
  }
}
"#;

/// An agent that is started by a command. Its model library needs `mcp`, and does not say so.
const MINI_SWE_AGENT: &[&str] = &["mini-swe-agent==2.4.6", "litellm==1.106.2", "mcp==2.3.0"];

/// The profile of the test runner that selects the tests; the default one leaves them out.
const PROFILE: &str = "agents";

/// Builds the product, installs the agents and runs the tests; returns whether all passed.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    let mut build = tool::cargo_command(&["build", "--bins"]);
    tool::run_or_fail(build.args(tool::binary_package_args()))?;
    let cases = run_agent_cases(out)?;
    Ok(!cases.is_empty() && cases.iter().all(|case| case.outcome == Outcome::Passed))
}

/// Installs the agent that is started by a command, once; returns its directory.
pub(crate) fn install_mini_swe_agent() -> Result<PathBuf> {
    let home = tool::target_dir().join("tools/agents/mini-swe-agent");
    packages::install_python(&home, MINI_SWE_AGENT, &[])?;
    Ok(home)
}

/// The same as test cases, with the existing build.
pub fn run_agent_cases(out: &mut dyn Write) -> Result<Vec<Case>> {
    writeln!(out, "test: agents of other vendors")?;
    out.flush()?;
    let home = tool::target_dir().join("tools/agents");
    packages::install_npm(&home.join("opencode"), OPENCODE)?;
    install_mini_swe_agent()?;
    let report = tool::target_dir().join("nextest").join(PROFILE).join("junit.xml");
    if report.exists() {
        fs::remove_file(&report).context("cannot remove the last report")?;
    }
    let mut nextest = prepare::ensure_nextest()?;
    tool::run_and_check(nextest.args(["run", "-p", "cynode-e2e", "--profile", PROFILE]))?;
    let xml = fs::read_to_string(&report).context("the tests with agents left no report")?;
    Ok(junit::parse(&xml)?.cases)
}
