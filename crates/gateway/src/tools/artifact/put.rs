//! `artifact.put`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{ArtifactPut, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: ArtifactPut::NAME,
    title: "Store a file of a task",
    description: "Stores a file of a task at a path, in standard base64. Replaces an existing file.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::Mutating,
    input: ArtifactPut::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_id", "path", "size_bytes", "sha256"])
}

async fn run(context: ToolContext, arguments: ArtifactPut) -> Result<Value, ToolFault> {
    let ArtifactPut { task_id, path, content_bytes_base64 } = arguments;
    let bytes = STANDARD
        .decode(content_bytes_base64)
        .map_err(|_| ToolFault::invalid("content_bytes_base64 is not standard base64"))?;
    let task = task_id.into();
    let files = &context.services.artifacts;
    to_json(files.store(&context.identity.caller, &task, &path, bytes.into()).await?)
}
