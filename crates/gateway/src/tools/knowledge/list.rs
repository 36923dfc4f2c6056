//! `knowledge.list`

use cynode_domain::policy::ToolScope;
use cynode_retrieval::DocumentSelection;
use cynode_wire::tool_calls::{KnowledgeList, ToolCall as _};
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
    name: KnowledgeList::NAME,
    title: "List the documents of the project",
    description: "Lists the documents that the project knows, by source and path.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::ReadOnly,
    input: KnowledgeList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: KnowledgeList) -> Result<Value, ToolFault> {
    let KnowledgeList { project_id, profile, source, path, page } = arguments;
    let access = profile_access(&context, project_id, profile);
    let selection = DocumentSelection { source, path, is_exact: false };
    to_json(context.services.knowledge.list(access, selection, &page).await?)
}
