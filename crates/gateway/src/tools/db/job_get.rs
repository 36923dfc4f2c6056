//! `db.job.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbJobGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbJobGet::NAME,
    title: "Get a job",
    description: "A job: its step, its worker node and its result.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbJobGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_id", "status"])
}

async fn run(context: ToolContext, arguments: DbJobGet) -> Result<Value, ToolFault> {
    let DbJobGet { job_id, .. } = arguments;
    to_json(context.services.tasks.job(&context.identity.caller, job_id).await?)
}
