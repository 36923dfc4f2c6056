//! `db.job.update_status`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbJobUpdateStatus, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbJobUpdateStatus::NAME,
    title: "Cancel a job",
    description: "Cancels a job that is queued or running. Only its node reports every other status.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbJobUpdateStatus::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_id", "status"])
}

async fn run(context: ToolContext, arguments: DbJobUpdateStatus) -> Result<Value, ToolFault> {
    let DbJobUpdateStatus { job_id, status, .. } = arguments;
    to_json(context.services.tasks.set_job_status(&context.identity.caller, job_id, status).await?)
}
