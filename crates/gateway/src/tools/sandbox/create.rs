//! `sandbox.create`

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::ToolScope;
use cynode_ops::sandboxes::OpenSandbox;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Opens a sandbox.
pub(crate) const TOOL: Builtin = Builtin {
    name: "sandbox.create",
    title: "Open a sandbox",
    description: "Opens a sandbox on the workspace of a task that is not over, on the task's node; where it has none yet, one is chosen and its steps will run there too. The job_id of the answer names the sandbox.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id"],
        json!({
            "task_id": id("task"),
            "job_id": id("job of the task whose sandbox is meant; a new one when absent"),
            "image_ref": text("The image; host is the only one.", 200),
            "node_slug": text("The node, for a task that has run nowhere yet.", 200),
        }),
    )
}

fn output() -> Value {
    result(&["job_id", "task_id", "image_ref", "node_slug", "status"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    job_id: Option<JobId>,
    image_ref: Option<String>,
    node_slug: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, job_id, image_ref, node_slug } = read(arguments)?;
    let wanted = OpenSandbox { task: task_id, job: job_id, image: image_ref, node: node_slug };
    show(context.services.sandboxes.create(context.speaker(), wanted).await?)
}
