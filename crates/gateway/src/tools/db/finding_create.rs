//! `db.finding.create`

use cynode_domain::finding::{FindingStatus, Severity};
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::ToolScope;
use cynode_ops::findings::Source;
use cynode_wire::findings::CreateFinding;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A finding.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.finding.create",
    title: "Write down a finding",
    description: "Keeps what a verification of a task found: whether it passes, how much it matters, what, where, and what to do about it. Findings are never changed. An analyst writes only about the job that it was started to verify.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "status", "severity", "message"],
        json!({
            "task_id": id("task"),
            "status": { "enum": ["pass", "fail", "needs_clarification"] },
            "severity": { "enum": ["info", "warning", "error"] },
            "message": text("What was found.", 4000),
            "location": text("Where: a file, a line, a criterion.", 500),
            "suggestion": text("What to do about it.", 4000),
            "step_index": { "type": "integer", "minimum": 0, "maximum": 10_000, "description": "The step that was verified, from 0." },
            "job_id": id("job whose result was verified"),
        }),
    )
}

fn output() -> Value {
    result(&["id", "task_id", "status", "severity", "message"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    status: FindingStatus,
    severity: Severity,
    message: String,
    location: Option<String>,
    suggestion: Option<String>,
    step_index: Option<u32>,
    job_id: Option<JobId>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let given: Arguments = read(arguments)?;
    let request = CreateFinding {
        status: given.status,
        severity: given.severity,
        message: given.message,
        location: given.location,
        suggestion: given.suggestion,
        step_index: given.step_index,
        job_id: given.job_id,
    };
    let who = &context.who;
    let source = Source {
        author: who.agent.into(),
        token: Some(who.token_id),
        verification: who.origin.verification,
    };
    let task = given.task_id.to_string();
    show(context.services.findings.create(&who.caller, source, &task, request).await?)
}
