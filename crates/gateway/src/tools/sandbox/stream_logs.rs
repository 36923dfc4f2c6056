//! `sandbox.stream_logs`

use cynode_domain::ids::JobId;
use cynode_domain::policy::ToolScope;
use cynode_ops::sandboxes::LogRequest;
use cynode_wire::jobs::Stream;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Place, sandbox};
use crate::tools::schema::{id, object, result, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Reads on in the output of a command.
pub(crate) const TOOL: Builtin = Builtin {
    name: "sandbox.stream_logs",
    title: "Read the output of a command",
    description: "The output of a command of a sandbox from an offset on, also while it runs. Call again with next_offset until ended is true.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "job_id"],
        json!({
            "task_id": id("task"),
            "job_id": sandbox(),
            "exec_id": id("command; the newest of the sandbox when absent"),
            "stream": words(Stream::ALL.map(Stream::as_str)),
            "offset": { "type": "integer", "minimum": 0, "description": "Where to begin, in bytes; 0 when absent." },
        }),
    )
}

fn output() -> Value {
    result(&["exec_id", "text", "next_offset", "ended"])
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    place: Place,
    exec_id: Option<JobId>,
    stream: Option<Stream>,
    #[serde(default)]
    offset: u64,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { place, exec_id, stream, offset } = read(arguments)?;
    let (task, sandbox) = place.at();
    let stream = stream.unwrap_or(Stream::Stdout);
    let wanted = LogRequest { task, sandbox, exec: exec_id, stream, offset };
    show(context.services.sandboxes.logs(&context.who.caller, wanted).await?)
}
