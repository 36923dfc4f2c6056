//! `sandbox.exec`

use cynode_domain::policy::ToolScope;
use cynode_ops::sandboxes::Exec;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Place, sandbox};
use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Runs a command.
pub(crate) const TOOL: Builtin = Builtin {
    name: "sandbox.exec",
    title: "Run a command in a sandbox",
    description: "Runs a command in the workspace of a task, as a job of its own that is none of its steps. Answers with exit code and the ends of both streams, or status running after wait_ms: then sandbox.stream_logs shows more.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "job_id", "command"],
        json!({
            "task_id": id("task"),
            "job_id": sandbox(),
            "command": text("A line for /bin/sh; with argv, the program.", 65536),
            "argv": { "type": "array", "maxItems": 1000, "items": { "type": "string" }, "description": "Arguments of the program, taken as they are." },
            "timeout_s": { "type": "integer", "minimum": 1, "maximum": 10800, "description": "How long it may run; the limits of the task hold too." },
            "wait_ms": { "type": "integer", "minimum": 0, "maximum": 30000, "description": "How long to wait for its end; 30000 when absent." },
            "idempotency_key": text("The same key again is the same command; with another command it is refused.", 200),
        }),
    )
}

fn output() -> Value {
    result(&["exec_id", "status", "exit_code", "stdout", "stderr", "truncated"])
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    place: Place,
    command: String,
    argv: Option<Vec<String>>,
    timeout_s: Option<u32>,
    wait_ms: Option<u32>,
    idempotency_key: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let given: Arguments = read(arguments)?;
    let (task, sandbox) = given.place.at();
    let wanted = Exec {
        task,
        sandbox,
        command: given.command,
        argv: given.argv,
        timeout_s: given.timeout_s,
        wait_ms: given.wait_ms,
        key: given.idempotency_key,
    };
    show(context.services.sandboxes.exec(context.speaker(), wanted).await?)
}
