//! `db.task.create`

use cynode_domain::policy::{ErrorKind, Principal, ToolScope};
use cynode_domain::start::Trigger;
use cynode_wire::tasks::CreateTask;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A new task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.task.create",
    title: "Create a task",
    description: "Creates a task and starts its workflow: at once, or when everything it depends on has completed. A task of input_mode commands or script runs in a sandbox; one of input_mode prompt is planned first.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &[],
        json!({
            "project_id": id("project"),
            "task_name": text("A name for the task; made from the request when absent.", 200),
            "input_mode": { "enum": ["prompt", "script", "commands"], "description": "prompt when absent." },
            "prompt": text("The request in prose, or the text of the script.", 1_000_000),
            "commands": { "type": "array", "items": { "type": "string" }, "maxItems": 200 },
            "acceptance_criteria": { "type": "array", "maxItems": 100 },
            "expected_outputs": { "type": "array", "items": { "type": "string" }, "maxItems": 100 },
            "depends_on": { "type": "array", "items": { "type": "string" }, "maxItems": 100 },
            "max_attempts": { "type": "integer", "minimum": 1, "maximum": 10, "description": "How often a failing step runs in all; as the preference workflow.max_step_retries says when absent." },
            "node": text("The worker node that all of it runs on, by name; chosen when absent.", 200),
            "idempotency_key": text("Two calls with the same key create one task.", 200),
        }),
    )
}

fn output() -> Value {
    result(&["id", "task_name", "status"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let mut request = arguments;
    if let Some(object) = request.as_object_mut() {
        object.remove("project_id");
        // The context stage has judged project_id; a bound caller creates in its own project.
        if let Some(project) = context.setting.project {
            object.insert("project".to_owned(), project.to_string().into());
        }
    }
    let request: CreateTask = read(request)?;
    if context.who.origin.schedule_run.is_some() {
        // One by one they could be made in part, and then again otherwise.
        let why = "the tasks of a schedule are made at once: call db.schedule.make_tasks";
        return Err(ToolFault::new(ErrorKind::Conflict, why));
    }
    // A person's own client asks as the API does; an agent asks for whoever it talks with.
    let trigger = match context.who.agent {
        Principal::User => Trigger::Api,
        Principal::Agent(_) => Trigger::Chat,
    };
    show(context.services.tasks.create_by(&context.who.caller, trigger, request).await?)
}
