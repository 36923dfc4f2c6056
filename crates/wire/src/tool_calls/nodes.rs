//! `node.*`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::nodes::MAX_NODE_NAME_CHARS;

tool_calls! {
    NodeGet => "node.get",
    NodeList => "node.list",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeGet {
    /// The name of the worker node.
    #[schemars(length(min = 1, max = MAX_NODE_NAME_CHARS))]
    pub node_slug: String,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeList {}
