//! `apmas_create_plan`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::ToolCall as _;
use cynode_wire::work::CreatePlan;
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: CreatePlan::NAME,
    title: "Plan the work",
    description: "Splits a task into components with work units: spec, design, implementation, review, test; units names others. Units that are ready are assigned to their role at once. A task has one plan; sending the same plan again has no effect.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: CreatePlan::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["task_id", "total_work_units", "progress_percent", "items"])
}

async fn run(context: ToolContext, request: CreatePlan) -> Result<Value, ToolFault> {
    to_json(context.services.work.plan(&context.identity.caller, request).await?)
}
