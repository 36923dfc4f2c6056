//! Agent profiles: programs of other vendors that work as agents in sandboxes, and the canary runs that admit them.

use cynode_domain::agent_profile::AgentProfileName;
use serde::{Deserialize, Serialize};

use crate::agent_jobs::AgentProgramSpec;

/// The feature of worker nodes that run the programs of agent profiles.
pub const AGENT_PROFILES_FEATURE: &str = "agent_profiles";

/// The agent of an assigned job, if it is not the built-in one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AgentAssignment {
    /// The profile.
    #[schema(value_type = String)]
    pub profile: AgentProfileName,
    /// The revision of the profile.
    pub revision: u32,
    /// The program that works in the sandbox.
    pub program: AgentProgramSpec,
    /// Hosts that the proxy of the sandbox connects to: `host`, `host:port` or `*.example.com`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Whether the job is a canary run: the node then answers model and tool calls itself, from a script, and reports what
    /// it saw.
    #[serde(default)]
    pub is_canary: bool,
}

/// `PUT /v1/node/jobs/{job}/canary`: what a canary run showed. The node sends it before the result of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CanaryReport {
    /// Name and version as the agent states them; absent if it states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// One check of each kind.
    pub checks: Vec<CanaryCheck>,
}

impl CanaryReport {
    /// Whether every kind was checked and none failed.
    pub fn is_passed(&self) -> bool {
        let is_met = |kind: &CanaryCheckKind| {
            let mut found = self.checks.iter().filter(|check| check.kind == *kind).peekable();
            found.peek().is_some() && found.all(|check| check.outcome != CanaryOutcome::Failed)
        };
        CanaryCheckKind::ALL.iter().all(is_met)
    }
}

/// One check of a canary run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CanaryCheck {
    /// What was checked.
    pub kind: CanaryCheckKind,
    /// The outcome.
    pub outcome: CanaryOutcome,
    /// What was seen, at most 1,000 bytes.
    pub detail: String,
}

/// What a canary run checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CanaryCheckKind {
    /// The program starts and takes a prompt.
    Starts,
    /// It calls its model through the sandbox's listener.
    Model,
    /// It calls a tool through the MCP bridge.
    Tools,
    /// Nothing but the listener is reachable from its sandbox.
    NoNetwork,
    /// It ends when it is asked to, while it waits for its model.
    Stops,
}

impl CanaryCheckKind {
    pub const ALL: [Self; 5] =
        [Self::Starts, Self::Model, Self::Tools, Self::NoNetwork, Self::Stops];
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CanaryOutcome {
    Passed,
    Failed,
    /// The program has no such ability, such as tools in a program that is started by a command.
    NotApplicable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_without_every_kind_or_with_a_failure_is_not_passed() {
        let check = |kind, outcome| CanaryCheck { kind, outcome, detail: String::new() };
        let passed = CanaryCheckKind::ALL.map(|kind| check(kind, CanaryOutcome::Passed)).to_vec();
        let report = |checks: Vec<CanaryCheck>| CanaryReport { agent: None, checks };

        assert!(report(passed.clone()).is_passed());
        assert!(!report(passed[1..].to_vec()).is_passed());
        let failed = check(CanaryCheckKind::Tools, CanaryOutcome::Failed);
        assert!(!report([passed, vec![failed]].concat()).is_passed());
    }
}
