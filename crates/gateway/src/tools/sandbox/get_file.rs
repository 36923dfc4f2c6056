//! `sandbox.get_file`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{SandboxGetFile, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SandboxGetFile::NAME,
    title: "Read a file in a workspace",
    description: "Reads a file of up to 256 KiB at a path of the workspace, in standard base64.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: SandboxGetFile::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["path", "size_bytes", "content_bytes_base64"])
}

async fn run(context: ToolContext, arguments: SandboxGetFile) -> Result<Value, ToolFault> {
    let SandboxGetFile { sandbox, path } = arguments;
    let sandboxes = &context.services.sandboxes;
    to_json(sandboxes.get_file(context.calling_user(), sandbox, &path).await?)
}
