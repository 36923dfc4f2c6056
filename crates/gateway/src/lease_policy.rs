//! The policy of the gateway, for capability leases.

use std::sync::Arc;

use cynode_ops::capability_leases::LeasePolicy;

use crate::McpGateway;
use crate::identity::Identity;
use crate::pipeline;
use crate::snapshot::PolicySnapshot;

/// Decides with one snapshot.
pub(crate) struct SnapshotPolicy(pub(crate) Arc<PolicySnapshot>);

impl LeasePolicy for SnapshotPolicy {
    fn permits(&self, identity: &Identity, tool: &str) -> bool {
        let reached = pipeline::check_reach(&self.0, identity, tool);
        reached.is_ok_and(|tool| pipeline::precheck_rules(&self.0, tool, identity).is_ok())
    }
}

impl LeasePolicy for McpGateway {
    fn permits(&self, identity: &Identity, tool: &str) -> bool {
        SnapshotPolicy(self.inner.snapshot()).permits(identity, tool)
    }
}
