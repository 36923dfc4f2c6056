//! `artifact.get`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::ToolScope;
use cynode_ops::BlobContent;
use cynode_wire::artifacts::ArtifactView;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Encoded and repeated as text, this still fits an answer.
const MAX_BYTES: i64 = 1024 * 1024;
/// How much of a text or a diff is given, and how much when the caller does not say.
const MAX_TEXT_BYTES: usize = 256 * 1024;
const DEFAULT_TEXT_BYTES: usize = 64 * 1024;

/// A file of a task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "artifact.get",
    title: "Get a file of a task",
    description: "A file of a task with its content, in standard base64. With job_id the file as it counts as evidence about the result of that job; format text gives the beginning of its text, format diff what was changed in it.",
    scope: ToolScope::Both,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "path"],
        json!({
            "task_id": id("task"),
            "path": text("The path.", 1024),
            "job_id": id("job whose result is judged; text and diff need it"),
            "format": words(["base64", "text", "diff"]),
            "max_bytes": { "type": "integer", "minimum": 1, "maximum": MAX_TEXT_BYTES, "description": "How much of a text or diff is given; 65536 when absent." },
        }),
    )
}

fn output() -> Value {
    result(&["artifact"])
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Base64,
    Text,
    Diff,
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    path: String,
    job_id: Option<JobId>,
    #[serde(default)]
    format: Format,
    max_bytes: Option<usize>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, path, job_id, format, max_bytes } = read(arguments)?;
    let (task, caller) = (task_id.to_string(), &context.who.caller);
    let files = &context.services.artifacts;
    let max_bytes = max_bytes.unwrap_or(DEFAULT_TEXT_BYTES).min(MAX_TEXT_BYTES);
    let missing = || ToolFault::invalid("format text and diff need a job_id");
    match (format, job_id) {
        (Format::Text, job) => {
            let of = (task.as_str(), job.ok_or_else(missing)?);
            show(files.evidence_text(caller, of, &path, max_bytes).await?)
        }
        (Format::Diff, job) => {
            let of = (task.as_str(), job.ok_or_else(missing)?);
            show(files.evidence_diff(caller, of, &path, max_bytes).await?)
        }
        (Format::Base64, Some(_)) => Err(ToolFault::invalid("job_id needs format text or diff")),
        (Format::Base64, None) => {
            let (artifact, file) = files.open(caller, &task, &path).await?;
            whole(artifact, file).await
        }
    }
}

/// The whole file in base64.
async fn whole(artifact: ArtifactView, mut content: BlobContent) -> Result<Value, ToolFault> {
    if artifact.size_bytes > MAX_BYTES {
        let text = format!(
            "the file has {} bytes; this tool gives at most {MAX_BYTES}",
            artifact.size_bytes
        );
        return Err(ToolFault::invalid(text));
    }
    let mut bytes = vec![];
    while let Some(piece) = content.next().await {
        bytes.extend(piece.map_err(|fault| ToolFault::internal(&fault))?);
    }
    Ok(json!({ "artifact": show(artifact)?, "content_bytes_base64": STANDARD.encode(bytes) }))
}
