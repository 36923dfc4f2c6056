//! `knowledge.ingest`

use cynode_domain::policy::ToolScope;
use cynode_retrieval::DocumentContent;
use cynode_wire::tool_calls::{KnowledgeIngest, ToolCall as _};
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
    name: KnowledgeIngest::NAME,
    title: "Add documents to the knowledge of the project",
    description: "Adds texts and documents to what the project knows, in place of those with the same source and path. Sources of agents begin with agent/.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: KnowledgeIngest::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["profile_id", "items"])
}

async fn run(context: ToolContext, arguments: KnowledgeIngest) -> Result<Value, ToolFault> {
    let KnowledgeIngest { project_id, profile, documents } = arguments;
    let access = profile_access(&context, project_id, profile);
    let contents = documents.documents.into_iter().map(DocumentContent::from).collect();
    to_json(context.services.knowledge.ingest(access, &documents.source, contents).await?)
}
