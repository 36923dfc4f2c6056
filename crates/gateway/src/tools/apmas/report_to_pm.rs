//! `apmas_report_to_pm`

use cynode_domain::policy::ToolScope;
use cynode_domain::report::ReportKind;
use cynode_wire::apmas::ReportToPm;
use serde_json::{Value, json};

use crate::tools::schema::{id, key, object, result, role, text, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A typed report.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_report_to_pm",
    title: "Report to the project manager",
    description: "Tells the project manager what came of the work. The payload depends on messageType. work_completed: summary, filesModified[], artifactPath, workUnitId. review_approved and review_changes_requested: verdict (approved or changes_requested), summary, criticalIssues[], majorIssues[], minorIssues[], each with description, fileLocation, howToFix. tests_passed and tests_failed: total, passed, failed, failures[] with name, message, location. work_blocked: reason, blockedOn, attempted[]. needs_clarification and request_human_input: question, options[], context.",
    scope: ToolScope::Both,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "agentRole", "messageType", "component", "payload"],
        json!({
            "task_id": id("task"),
            "agentRole": role(),
            "messageType": words(ReportKind::ALL.iter().map(|word| word.as_str())),
            "component": text("The component it is about.", 1024),
            "payload": { "type": "object", "description": "Details, by messageType." },
            "idempotencyKey": key(),
        }),
    )
}

fn output() -> Value {
    result(&["message_id", "repeated", "agent_status", "instructions"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: ReportToPm = read(arguments)?;
    show(context.services.messages.report(&context.who, request).await?)
}
