//! `apmas_report_to_pm`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::ReportToPm;
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
    name: ReportToPm::NAME,
    title: "Report to the project manager",
    description: "Reports the result of work, a review or tests to the project manager. The payload depends on messageType. work_completed: summary, filesModified[], artifactPath, workUnitId. review_approved and review_changes_requested: verdict (approved or changes_requested), summary, criticalIssues[], majorIssues[], minorIssues[], each with description, fileLocation, howToFix. tests_passed and tests_failed: total, passed, failed, failures[] with name, message, location. work_blocked: reason, blockedOn, attempted[]. needs_clarification and request_human_input: question, options[], context.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::Mutating,
    input: ReportToPm::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["message_id", "repeated", "agent_status", "instructions"])
}

async fn run(context: ToolContext, request: ReportToPm) -> Result<Value, ToolFault> {
    to_json(context.services.messages.send_report(&context.identity, request).await?)
}
