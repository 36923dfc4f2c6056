//! Agent profiles: programs of other vendors that work as agents in sandboxes, and the canary runs that admit them.

use chrono::{DateTime, Utc};
use cynode_domain::agent_profile::AgentProfileName;
use cynode_domain::ids::{NodeId, TaskId, UserId};
use serde::{Deserialize, Serialize};

pub use cynode_domain::agent_program::AgentProfileSpec;

use crate::agent_jobs::AgentProgramSpec;
use crate::tasks::TaskView;

/// The feature of worker nodes that run the programs of agent profiles.
pub const AGENT_PROFILES_FEATURE: &str = "agent_profiles";
/// The most bytes of [`CanaryCheck::detail`].
pub const MAX_DETAIL_BYTES: usize = 1_000;
/// The most bytes of [`CanaryReport::agent`].
pub const MAX_AGENT_BYTES: usize = 200;

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

/// `POST /v1/agent-profiles`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAgentProfile {
    /// Its name: lowercase letters, digits and dashes, beginning with a letter.
    pub name: String,
    /// What the agent is, for people.
    #[serde(default)]
    pub description: String,
    /// The program that works in the sandbox.
    pub program: AgentProgramSpec,
    /// Hosts that the proxy of the sandbox connects to: `host`, `host:port` or `*.example.com`.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// `PUT /v1/agent-profiles/{profile}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateAgentProfile {
    /// What the agent is, for people.
    #[serde(default)]
    pub description: String,
    /// The program that works in the sandbox.
    pub program: AgentProgramSpec,
    /// Hosts that the proxy of the sandbox connects to: `host`, `host:port` or `*.example.com`.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// The revision that the change was made to; 409 if there is a newer one. Without it, the change replaces whatever is
    /// there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

impl UpdateAgentProfile {
    /// A change of a known revision.
    pub fn to_revision(revision: u32, spec: AgentProfileSpec) -> Self {
        let AgentProfileSpec { description, program, hosts } = spec;
        Self { description, program, hosts, revision: Some(revision) }
    }
}

/// A program of another vendor that works as an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AgentProfileView {
    /// Its name.
    #[schema(value_type = String)]
    pub name: AgentProfileName,
    /// Incremented by every change. A node runs the profile after it has passed the canary run of exactly this revision.
    pub revision: u32,
    /// What the agent is, for people.
    #[serde(default)]
    pub description: String,
    /// The program that works in the sandbox.
    pub program: AgentProgramSpec,
    /// Hosts that the proxy of the sandbox connects to: `host`, `host:port` or `*.example.com`.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// The administrator who defined it.
    pub created_by: UserId,
    /// When it was defined.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// Every worker node, with the canary run of this revision.
    pub nodes: Vec<NodeCanaryView>,
}

/// The newest canary run of the current revision of a profile on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct NodeCanaryView {
    /// The node's id.
    pub node_id: NodeId,
    /// The node's name.
    pub node: String,
    /// Whether it passed.
    pub status: CanaryStatus,
    /// The task of the canary run; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// When the node reported it; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<DateTime<Utc>>,
    /// Name and version as the agent states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The checks; only the failed ones in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CanaryCheck>,
}

/// Whether a node may run a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CanaryStatus {
    /// It passed the canary run of this revision.
    Passed,
    /// It failed it.
    Failed,
    /// It has reported none of this revision.
    NotRun,
    /// Its version or its sandbox cannot run profiles.
    NotSupported,
}

/// `POST /v1/agent-profiles/{profile}/canary`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartCanary {
    /// The worker node, by name or id; every active node that can run profiles when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// The canary runs that were started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StartedCanariesView {
    /// The revision that they are about.
    pub revision: u32,
    /// One task for each node, which `node` names.
    pub tasks: Vec<TaskView>,
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
