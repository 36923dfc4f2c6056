//! `artifact.get`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_blobs::BlobContent;
use cynode_domain::policy::ToolScope;
use cynode_wire::artifacts::ArtifactView;
use cynode_wire::tool_calls::{
    ArtifactFormat, ArtifactGet, DEFAULT_TEXT_BYTES, MAX_TEXT_BYTES, ToolCall as _,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

/// Encoded and repeated as text, this still fits a response.
const MAX_BYTES: i64 = 1024 * 1024;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: ArtifactGet::NAME,
    title: "Get a file of a task",
    description: "A file of a task with its content, in standard base64. With job_id the file as evidence about the result of that job; format text returns the beginning of its text, format diff its changes.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::ReadOnly,
    input: ArtifactGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["artifact"])
}

async fn run(context: ToolContext, arguments: ArtifactGet) -> Result<Value, ToolFault> {
    let ArtifactGet { task_id, path, job_id, format, max_bytes } = arguments;
    let (task, caller) = (task_id.into(), &context.identity.caller);
    let files = &context.services.artifacts;
    let max_bytes = max_bytes.unwrap_or(DEFAULT_TEXT_BYTES).min(MAX_TEXT_BYTES);
    let missing = || ToolFault::invalid("formats text and diff require a job_id");
    match (format, job_id) {
        (ArtifactFormat::Text, job) => {
            let job = job.ok_or_else(missing)?;
            to_json(files.evidence_text(caller, &task, job, &path, max_bytes).await?)
        }
        (ArtifactFormat::Diff, job) => {
            let job = job.ok_or_else(missing)?;
            to_json(files.evidence_diff(caller, &task, job, &path, max_bytes).await?)
        }
        (ArtifactFormat::Base64, Some(_)) => {
            Err(ToolFault::invalid("job_id requires format text or diff"))
        }
        (ArtifactFormat::Base64, None) => {
            let (artifact, file) = files.open(caller, &task, None, &path).await?;
            read_whole_file(artifact, file).await
        }
    }
}

/// The whole file in base64.
async fn read_whole_file(
    artifact: ArtifactView,
    mut content: BlobContent,
) -> Result<Value, ToolFault> {
    if artifact.size_bytes > MAX_BYTES {
        let text = format!(
            "the file has {} bytes; this tool returns at most {MAX_BYTES}",
            artifact.size_bytes
        );
        return Err(ToolFault::invalid(text));
    }
    let mut bytes = vec![];
    while let Some(chunk) = content.next().await {
        bytes.extend(chunk.map_err(|fault| ToolFault::internal(&fault))?);
    }
    Ok(json!({ "artifact": to_json(artifact)?, "content_bytes_base64": STANDARD.encode(bytes) }))
}
