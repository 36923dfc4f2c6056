//! `artifact.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{ArtifactList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: ArtifactList::NAME,
    title: "List the files of a task",
    description: "Every file of a task: outputs, attachments and collected changes, without content. With job_id only those that are evidence about the result of that job: its own, and those of accepted attempts at earlier steps of its run.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::ReadOnly,
    input: ArtifactList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: ArtifactList) -> Result<Value, ToolFault> {
    let ArtifactList { task_id, job_id } = arguments;
    let (task, caller) = (task_id.into(), &context.identity.caller);
    let files = &context.services.artifacts;
    let items = match job_id {
        Some(job) => to_json(files.list_evidence(caller, &task, job).await?)?,
        None => to_json(files.list(caller, &task).await?)?,
    };
    Ok(json!({ "items": items }))
}
