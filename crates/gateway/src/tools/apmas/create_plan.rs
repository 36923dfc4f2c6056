//! `apmas_create_plan`

use cynode_domain::policy::ToolScope;
use cynode_domain::work::UnitKind;
use cynode_wire::work::CreatePlan;
use serde_json::{Value, json};

use crate::tools::schema::{id, lines, object, result, text, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A plan of work.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_create_plan",
    title: "Plan the work",
    description: "Cuts a task into components with units of work: spec, design, implementation, review, test; units names others. What can begin is given to its role at once. A task has one plan; the same plan again changes nothing.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "components"],
        json!({
            "task_id": id("task"),
            "issueNumber": { "type": "integer", "minimum": 1, "description": "The issue it comes from." },
            "components": { "type": "array", "minItems": 1, "maxItems": 50, "items": component() },
        }),
    )
}

fn component() -> Value {
    object(
        &["name", "description"],
        json!({
            "name": text("Lowercase letters, digits and dashes.", 64),
            "description": text("What it is.", 16384),
            "priority": { "type": "integer", "description": "The lowest goes first; 0 when absent." },
            "dependencies": lines("Components that must be finished first."),
            "skipDesign": { "type": "boolean" },
            "skipReview": { "type": "boolean" },
            "units": { "type": "array", "uniqueItems": true, "items": words(UnitKind::ALL.iter().map(|word| word.as_str())) },
        }),
    )
}

fn output() -> Value {
    result(&["task_id", "total_work_units", "progress_percent", "items"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: CreatePlan = read(arguments)?;
    show(context.services.work.plan(&context.who.caller, request).await?)
}
