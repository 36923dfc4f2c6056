//! Profiles as people see them: with the canary runs of every worker node.

use std::collections::HashMap;

use cynode_domain::agent_profile::AgentProfileName;
use cynode_domain::agent_program::AgentProfileSpec;
use cynode_domain::ids::NodeId;
use cynode_execution::nodes::has_feature;
use cynode_store::{AgentCanary, AgentProfile, Node, Tx};
use cynode_wire::agent_profiles::{
    AGENT_PROFILES_FEATURE, AgentProfileView, CanaryOutcome, CanaryReport, CanaryStatus,
    NodeCanaryView,
};
use cynode_wire::nodes::AGENTS_FEATURE;

use super::AgentProfileError;

/// The checks that a view has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownChecks {
    All,
    Failed,
}

/// Renders profiles. The number of statements does not depend on their number.
pub(super) async fn profile_views(
    tx: &mut Tx,
    profiles: Vec<AgentProfile>,
    shown: ShownChecks,
) -> Result<Vec<AgentProfileView>, AgentProfileError> {
    let nodes = tx.node_list().await?;
    let canaries = tx.agent_canary_list().await?.into_iter();
    let canaries: HashMap<(AgentProfileName, NodeId), AgentCanary> =
        canaries.map(|canary| ((canary.profile.clone(), canary.node), canary)).collect();
    let render = |profile: AgentProfile| {
        let of_node = |node: &Node| {
            let canary = canaries.get(&(profile.name.clone(), node.id));
            node_canary_view(node, canary, shown)
        };
        let nodes = nodes.iter().map(of_node).collect();
        let AgentProfileSpec { description, program, hosts } = profile.spec;
        AgentProfileView {
            name: profile.name,
            revision: profile.revision,
            description,
            program,
            hosts,
            created_by: profile.created_by,
            created_at: profile.created_at,
            updated_at: profile.updated_at,
            nodes,
        }
    };
    Ok(profiles.into_iter().map(render).collect())
}

/// Whether the node can run the programs of profiles.
pub(super) fn runs_profiles(node: &Node) -> bool {
    has_feature(node, AGENTS_FEATURE) && has_feature(node, AGENT_PROFILES_FEATURE)
}

fn node_canary_view(
    node: &Node,
    canary: Option<&AgentCanary>,
    shown: ShownChecks,
) -> NodeCanaryView {
    let status = match canary {
        _ if !runs_profiles(node) => CanaryStatus::NotSupported,
        None => CanaryStatus::NotRun,
        Some(canary) if canary.is_passed => CanaryStatus::Passed,
        Some(_) => CanaryStatus::Failed,
    };
    // A report that a later version wrote is shown by its outcome alone.
    let report = canary.map(|canary| serde_json::from_value::<CanaryReport>(canary.report.clone()));
    let (agent, mut checks) =
        report.and_then(Result::ok).map(|report| (report.agent, report.checks)).unwrap_or_default();
    checks.retain(|check| shown == ShownChecks::All || check.outcome == CanaryOutcome::Failed);
    NodeCanaryView {
        node_id: node.id,
        node: node.slug.clone(),
        status,
        task_id: canary.map(|canary| canary.task),
        reported_at: canary.map(|canary| canary.reported_at),
        agent,
        checks,
    }
}
