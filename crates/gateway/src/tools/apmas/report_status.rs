//! `apmas_report_status`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::ReportStatus;
use cynode_wire::tool_calls::ToolCall as _;
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: ReportStatus::NAME,
    title: "Report status",
    description: "Reports the agent's status to the project manager. blocked requires blockedReason and waits for help; context_limit pauses until a successor takes over; done ends the agent. With workUnitId, working starts that unit and blocked blocks it.",
    scope: ToolScope::Sandbox,
    side_effect: ToolSideEffect::Mutating,
    input: ReportStatus::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["message_id", "repeated", "agent_status", "instructions"])
}

async fn run(context: ToolContext, request: ReportStatus) -> Result<Value, ToolFault> {
    to_json(context.services.messages.status(&context.identity, request).await?)
}
