//! `apmas_route_work`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::ToolCall as _;
use cynode_wire::work::RouteWork;
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: RouteWork::NAME,
    title: "Route work",
    description: "Decides about a work unit. approve accepts it and starts its successors; revision returns it with feedback (text, or a review with verdict, summary and issues), at most twice; resume unblocks a blocked unit; fail ends it as failed.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: RouteWork::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["work_unit", "repeated", "assigned", "completed", "plan_completed"])
}

async fn run(context: ToolContext, request: RouteWork) -> Result<Value, ToolFault> {
    to_json(context.services.work.route(&context.identity.caller, request).await?)
}
