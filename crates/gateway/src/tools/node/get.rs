//! `node.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{NodeGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: NodeGet::NAME,
    title: "Get a worker node",
    description: "A worker node, by its slug.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: NodeGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "node_slug", "status"])
}

async fn run(context: ToolContext, arguments: NodeGet) -> Result<Value, ToolFault> {
    let NodeGet { node_slug } = arguments;
    to_json(context.services.nodes.get(&node_slug.into()).await?)
}
