//! `sandbox.*`

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::job::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::artifacts::MAX_PATH_BYTES;
use crate::jobs::Stream;
use crate::nodes::MAX_NODE_NAME_CHARS;
use crate::page::PageQuery;
use crate::workflow::MAX_WAIT_MS;

/// The longest command line.
pub const MAX_COMMAND_BYTES: usize = 64 * 1024;
/// The longest idempotency key of a command.
pub const MAX_EXEC_KEY_BYTES: usize = 200;
/// The largest file that is read or written.
pub const MAX_FILE_BYTES: usize = 256 * 1024;
const MAX_ARGUMENTS: usize = 1000;
const MAX_IMAGE_CHARS: usize = 200;

tool_calls! {
    SandboxAllowedImagesAdd => "sandbox.allowed_images.add",
    SandboxAllowedImagesList => "sandbox.allowed_images.list",
    SandboxCreate => "sandbox.create",
    SandboxDestroy => "sandbox.destroy",
    SandboxExec => "sandbox.exec",
    SandboxGetFile => "sandbox.get_file",
    SandboxPutFile => "sandbox.put_file",
    SandboxStreamLogs => "sandbox.stream_logs",
}

/// The ids of a sandbox.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxIds {
    /// The id of the task.
    pub task_id: TaskId,
    /// The sandbox, by the `job_id` that `sandbox.create` gave.
    pub job_id: JobId,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct SandboxAllowedImagesList(pub PageQuery);

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxAllowedImagesAdd {
    /// The image, by the name that worker nodes know.
    #[schemars(length(min = 1, max = MAX_IMAGE_CHARS))]
    pub image_ref: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxCreate {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the job of the task whose sandbox is meant; a new one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// The image of its commands, as `sandbox.allowed_images.list` names it; that of the task when absent.
    #[schemars(length(min = 1, max = MAX_IMAGE_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_ref: Option<String>,
    /// The worker node, for a task that has run nowhere yet.
    #[schemars(length(min = 1, max = MAX_NODE_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_slug: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct SandboxDestroy(pub SandboxIds);

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct SandboxExec {
    #[serde(flatten)]
    pub sandbox: SandboxIds,
    /// A line for `/bin/sh`; with `argv`, the program.
    #[schemars(length(min = 1, max = MAX_COMMAND_BYTES))]
    pub command: String,
    /// Arguments of the program, taken as they are.
    #[schemars(length(max = MAX_ARGUMENTS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Time limit in seconds; the limits of the task apply too.
    #[schemars(range(min = 1, max = Limits::MAX.timeout_s))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u32>,
    /// How long to wait for its end, in milliseconds; 30000 when absent.
    #[schemars(range(max = MAX_WAIT_MS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u32>,
    /// A repeated call with the same key returns the same command; another command is rejected.
    #[schemars(length(min = 1, max = MAX_EXEC_KEY_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct SandboxGetFile {
    #[serde(flatten)]
    pub sandbox: SandboxIds,
    /// A relative path in the workspace.
    #[schemars(length(min = 1, max = MAX_PATH_BYTES))]
    pub path: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct SandboxPutFile {
    #[serde(flatten)]
    pub sandbox: SandboxIds,
    /// A relative path in the workspace.
    #[schemars(length(min = 1, max = MAX_PATH_BYTES))]
    pub path: String,
    /// The content, in standard base64.
    #[schemars(length(max = MAX_FILE_BYTES.div_ceil(3) * 4))]
    pub content_bytes_base64: String,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
pub struct SandboxStreamLogs {
    #[serde(flatten)]
    pub sandbox: SandboxIds,
    /// The id of the command; the newest of the sandbox when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_id: Option<JobId>,
    /// Which stream; `stdout` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// The offset in bytes; 0 when absent.
    #[serde(default)]
    pub offset: u64,
}
