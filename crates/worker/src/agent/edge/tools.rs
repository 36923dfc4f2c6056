//! The tools of the node: commands, files and output in the workspace of a lease's task. Their results have the form of the
//! gateway's.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::job::{Action, JobEnding, Limits};
use cynode_domain::policy::ErrorKind;
use cynode_domain::text::last_bytes;
use cynode_domain::workspace_script::{
    TOO_LARGE_EXIT_CODE, check_relative_path, command_line, read_script, write_script,
};
use cynode_edge::pipeline::EdgeCall;
use cynode_edge::{EdgeTools, ToolFailure};
use cynode_lease::LeaseClaims;
use cynode_sandbox::job_dir::JobDir;
use cynode_sandbox::sandbox::resolve_outcome;
use cynode_wire::artifacts::MAX_PATH_BYTES;
use cynode_wire::jobs::Stream;
use cynode_wire::tool_calls::{
    MAX_COMMAND_BYTES, MAX_FILE_BYTES, SandboxExec, SandboxGetFile, SandboxPutFile,
    SandboxStreamLogs,
};
use cynode_wire::workflow::MAX_WAIT_MS;
use serde_json::{Value, json};

use super::commands::{EdgeCommand, EdgeCommands, NewEdgeCommand};
use crate::agent::run_blocking;

/// Output per stream in a response; the end is kept.
const TAIL_BYTES: usize = 16 * 1024;
/// Output in one response of `sandbox.stream_logs`.
const CHUNK_BYTES: u64 = 64 * 1024;
/// Fits the largest file as base64 with line breaks.
const FILE_OUTPUT_BYTES: u32 = 512 * 1024;
const FILE_TIMEOUT_S: u32 = 60;

pub(super) struct WorkspaceTools {
    commands: EdgeCommands,
}

#[async_trait]
impl EdgeTools for WorkspaceTools {
    async fn execute(&self, claims: &LeaseClaims, call: EdgeCall) -> Result<Value, ToolFailure> {
        self.commands.renew(claims).await;
        match call {
            EdgeCall::Exec(call) => self.exec(claims, call).await,
            EdgeCall::GetFile(call) => self.get_file(claims, call).await,
            EdgeCall::PutFile(call) => self.put_file(claims, call).await,
            EdgeCall::StreamLogs(call) => self.stream_logs(claims, call).await,
        }
    }
}

impl WorkspaceTools {
    pub(super) fn new(commands: EdgeCommands) -> Self {
        Self { commands }
    }

    async fn exec(&self, claims: &LeaseClaims, call: SandboxExec) -> Result<Value, ToolFailure> {
        let line = command_line(&call.command, call.argv.as_deref(), MAX_COMMAND_BYTES)
            .map_err(|fault| ToolFailure::new(ErrorKind::InvalidArguments, fault))?;
        let most = claims.limits.timeout_s;
        let limits = Limits {
            timeout_s: call.timeout_s.map_or(most, |seconds| seconds.clamp(1, most)),
            ..claims.limits
        };
        let (key, image) = (call.idempotency_key, claims.image.clone());
        let command = NewEdgeCommand { action: Action::Command { line }, limits, image, key };
        let command = self.commands.start(claims, command).await?;
        let wait =
            Duration::from_millis(u64::from(call.wait_ms.unwrap_or(MAX_WAIT_MS).min(MAX_WAIT_MS)));
        // Whether it has ended is asked below.
        let _ = tokio::time::timeout(wait, command.wait_ended()).await;
        describe_command(command).await
    }

    async fn get_file(
        &self,
        claims: &LeaseClaims,
        call: SandboxGetFile,
    ) -> Result<Value, ToolFailure> {
        let script = read_script(checked_path(&call.path)?, MAX_FILE_BYTES);
        let command = self.run_script(claims, script).await?;
        let text = read_all(&command.dir, Stream::Stdout).await?;
        let text: String = text.split_ascii_whitespace().collect();
        let content = STANDARD.decode(&text).map_err(|_| {
            ToolFailure::new(ErrorKind::Conflict, "the file was damaged in transfer; read it again")
        })?;
        Ok(json!({
            "exec_id": command.id, "path": call.path, "size_bytes": content.len(),
            "content_bytes_base64": text,
        }))
    }

    async fn put_file(
        &self,
        claims: &LeaseClaims,
        call: SandboxPutFile,
    ) -> Result<Value, ToolFailure> {
        let invalid = |text: &str| ToolFailure::new(ErrorKind::InvalidArguments, text);
        let content = STANDARD
            .decode(&call.content_bytes_base64)
            .map_err(|_| invalid("content_bytes_base64 is not standard base64"))?;
        if content.len() > MAX_FILE_BYTES {
            return Err(invalid(&too_large_message()));
        }
        let script = write_script(checked_path(&call.path)?, &STANDARD.encode(&content));
        let command = self.run_script(claims, script).await?;
        Ok(json!({ "exec_id": command.id, "path": call.path, "size_bytes": content.len() }))
    }

    async fn stream_logs(
        &self,
        claims: &LeaseClaims,
        call: SandboxStreamLogs,
    ) -> Result<Value, ToolFailure> {
        let found = self.commands.find(claims.sandbox, call.exec_id).await;
        let Some(command) = found else {
            return match call.exec_id {
                None => {
                    Ok(json!({ "exec_id": null, "text": "", "next_offset": 0, "ended": false }))
                }
                Some(id) => Err(ToolFailure::new(
                    ErrorKind::NotFound,
                    format!("this node has no command {id} of the sandbox"),
                )),
            };
        };
        // Before the output is read: what an ended command wrote is there.
        let has_ended = command.has_ended();
        let (dir, offset) = (command.dir.clone(), call.offset);
        let stream = call.stream.unwrap_or(Stream::Stdout);
        let read = run_blocking(move || read_chunk(&dir, stream, offset)).await;
        let (text, next_offset, is_last) = read
            .map_err(io::Error::other)
            .and_then(|read| read)
            .map_err(|error| unreadable(&error))?;
        let ended = has_ended && is_last;
        Ok(
            json!({ "exec_id": command.id, "text": text, "next_offset": next_offset, "ended": ended }),
        )
    }

    /// Runs a script to its end.
    async fn run_script(
        &self,
        claims: &LeaseClaims,
        text: String,
    ) -> Result<Arc<EdgeCommand>, ToolFailure> {
        let limits = Limits {
            timeout_s: FILE_TIMEOUT_S.min(claims.limits.timeout_s),
            output_bytes: FILE_OUTPUT_BYTES,
            ..claims.limits
        };
        // The system of the node has the programs of the script, whatever image commands run in.
        let action = Action::Script { text };
        let command = NewEdgeCommand { action, limits, image: None, key: None };
        let command = self.commands.start(claims, command).await?;
        command.wait_ended().await;
        let ending = ending(&command.dir).await?;
        let conflict = |text: String| Err(ToolFailure::new(ErrorKind::Conflict, text));
        if ending == (JobEnding::Exited { code: 0 }) {
            return Ok(command);
        }
        if ending == (JobEnding::Exited { code: TOO_LARGE_EXIT_CODE }) {
            return conflict(too_large_message());
        }
        let said = match ending {
            JobEnding::Exited { .. } => read_all(&command.dir, Stream::Stderr).await?,
            JobEnding::TimedOut
            | JobEnding::LimitReached { .. }
            | JobEnding::Canceled
            | JobEnding::Interrupted { .. }
            | JobEnding::NotStarted { .. } => String::new(),
        };
        let said: String = said.trim().chars().take(500).collect();
        conflict(if said.is_empty() { describe(&ending) } else { said })
    }
}

fn checked_path(path: &str) -> Result<&str, ToolFailure> {
    let invalid = |fault| ToolFailure::new(ErrorKind::InvalidArguments, fault);
    check_relative_path(path, MAX_PATH_BYTES).map_err(invalid).map(|()| path)
}

fn too_large_message() -> String {
    format!("the file is larger than {MAX_FILE_BYTES} bytes; use an artifact or a command instead")
}

fn describe(ending: &JobEnding) -> String {
    format!("the command {}", ending.describe())
}

async fn describe_command(command: Arc<EdgeCommand>) -> Result<Value, ToolFailure> {
    if !command.has_ended() {
        return Ok(json!({
            "exec_id": command.id, "status": "running", "exit_code": null, "ending": null,
            "stdout": "", "stderr": "", "truncated": { "stdout": false, "stderr": false },
        }));
    }
    let dir = command.dir.clone();
    let outcome = run_blocking(move || resolve_outcome(&dir)).await;
    let outcome = outcome.map_err(|error| unreadable(&io::Error::other(error)))?;
    let (stdout, is_cut) = tail(&read_all(&command.dir, Stream::Stdout).await?);
    let (stderr, is_cut_too) = tail(&read_all(&command.dir, Stream::Stderr).await?);
    let code = match outcome.ending {
        JobEnding::Exited { code } => Some(code),
        JobEnding::TimedOut
        | JobEnding::LimitReached { .. }
        | JobEnding::Canceled
        | JobEnding::Interrupted { .. }
        | JobEnding::NotStarted { .. } => None,
    };
    let truncated = json!({
        "stdout": outcome.truncated.stdout || is_cut,
        "stderr": outcome.truncated.stderr || is_cut_too,
    });
    Ok(json!({
        "exec_id": command.id, "status": "ended", "exit_code": code,
        "ending": outcome.ending.describe(), "stdout": stdout, "stderr": stderr,
        "truncated": truncated,
    }))
}

async fn ending(dir: &JobDir) -> Result<JobEnding, ToolFailure> {
    let dir = dir.clone();
    let outcome = run_blocking(move || resolve_outcome(&dir)).await;
    outcome.map(|outcome| outcome.ending).map_err(|error| unreadable(&io::Error::other(error)))
}

/// The captured output, which the limits of the command bound.
async fn read_all(dir: &JobDir, stream: Stream) -> Result<String, ToolFailure> {
    let path = dir.stream(stream);
    let read = run_blocking(move || match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        read => read,
    });
    let bytes = read.await.map_err(io::Error::other).and_then(|read| read);
    let bytes = bytes.map_err(|error| unreadable(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a text, and whether its beginning is missing.
fn tail(text: &str) -> (String, bool) {
    let end = last_bytes(text, TAIL_BYTES);
    (end.to_owned(), end.len() < text.len())
}

/// Output from an offset, the offset of the next chunk, and whether this is all there is.
fn read_chunk(dir: &JobDir, stream: Stream, offset: u64) -> io::Result<(String, u64, bool)> {
    let mut file = match File::open(dir.stream(stream)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((String::new(), 0, true));
        }
        Err(error) => return Err(error),
    };
    let size = file.metadata()?.len();
    let start = offset.min(size);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![];
    file.take(CHUNK_BYTES).read_to_end(&mut bytes)?;
    // A character that the end of the chunk splits belongs to the next one.
    let is_last = start + bytes.len() as u64 >= size;
    if !is_last
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
        && error.valid_up_to() > 0
    {
        bytes.truncate(error.valid_up_to());
    }
    let next = start + bytes.len() as u64;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), next, is_last))
}

fn unreadable(error: &io::Error) -> ToolFailure {
    tracing::error!(error = error as &dyn std::error::Error, "output of a command cannot be read");
    ToolFailure::new(
        ErrorKind::InternalError,
        "the output cannot be read; the node's log has the cause",
    )
}
