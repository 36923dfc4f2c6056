//! An agent for tests that speaks the Agent Client Protocol, in Python.

/// The program; its documentation lists its arguments.
const ACP_AGENT: &str = include_str!("acp_agent.py");
/// The interpreter of the system: that of a person's environment is not in a sandbox.
const PYTHON: &str = "/usr/bin/python3";

/// The command of the agent with these arguments. It needs no file.
pub fn acp_agent_command(arguments: &[&str]) -> Vec<String> {
    let words = [PYTHON, "-c", ACP_AGENT].into_iter().chain(arguments.iter().copied());
    words.map(str::to_owned).collect()
}
