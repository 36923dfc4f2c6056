//! `knowledge.delete`

use cynode_domain::policy::ToolScope;
use cynode_retrieval::DocumentSelection;
use cynode_wire::tool_calls::{KnowledgeDelete, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::profile_access::profile_access;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: KnowledgeDelete::NAME,
    title: "Delete documents of the project",
    description: "Removes documents from what the project knows: a source, or a path in it. Agents remove what agents gave.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: KnowledgeDelete::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["deleted"])
}

async fn run(context: ToolContext, arguments: KnowledgeDelete) -> Result<Value, ToolFault> {
    let KnowledgeDelete { project_id, profile, source, path } = arguments;
    let access = profile_access(&context, project_id, profile);
    let selection = DocumentSelection { source: Some(source), path, is_exact: false };
    to_json(context.services.knowledge.delete(access, selection, false).await?)
}
