//! `node.*`

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sandboxes::SandboxIds;
use super::tool_calls;
use crate::nodes::MAX_NODE_NAME_CHARS;

/// The longest lifetime of a lease, in seconds.
pub const MAX_LEASE_S: u32 = 900;
const MAX_LEASE_TOOLS: usize = 16;

tool_calls! {
    NodeGet => "node.get",
    NodeLeaseCreate => "node.lease.create",
    NodeList => "node.list",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeGet {
    /// The name of the worker node.
    #[schemars(length(min = 1, max = MAX_NODE_NAME_CHARS))]
    pub node_slug: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct NodeLeaseCreate {
    #[serde(flatten)]
    pub sandbox: SandboxIds,
    /// Names of the tools; all that you may use there when absent.
    #[schemars(length(max = MAX_LEASE_TOOLS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
    /// Lifetime in seconds; 300 when absent.
    #[schemars(range(min = 1, max = MAX_LEASE_S))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u32>,
    /// An Ed25519 public key of yours, in hexadecimal digits: its holder passes on narrower leases, and must narrow it before use.
    #[schemars(length(equal = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder_key: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeList {}
