//! `node.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{NodeList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: NodeList::NAME,
    title: "List worker nodes",
    description: "Every worker node with its capabilities, load and last heartbeat.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: NodeList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, _arguments: NodeList) -> Result<Value, ToolFault> {
    Ok(json!({ "items": to_json(context.services.nodes.list().await?)? }))
}
