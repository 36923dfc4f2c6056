//! `sandbox.put_file`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{SandboxPutFile, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SandboxPutFile::NAME,
    title: "Write a file in a workspace",
    description: "Writes a file of up to 256 KiB to a path of the workspace, in standard base64. Creates directories, and replaces an existing file.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: SandboxPutFile::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["path", "size_bytes"])
}

async fn run(context: ToolContext, arguments: SandboxPutFile) -> Result<Value, ToolFault> {
    let SandboxPutFile { sandbox, path, content_bytes_base64 } = arguments;
    let bytes = STANDARD
        .decode(content_bytes_base64)
        .map_err(|_| ToolFault::invalid("content_bytes_base64 is not standard base64"))?;
    let sandboxes = &context.services.sandboxes;
    to_json(sandboxes.put_file(context.calling_user(), sandbox, &path, &bytes).await?)
}
