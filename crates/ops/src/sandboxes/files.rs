//! Reads and writes workspace files with the sandbox's own shell, so that its confinement applies.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::JobId;
use cynode_domain::image_name::HOST_IMAGE;
use cynode_domain::job::Action;
use cynode_domain::workspace_script::{TOO_LARGE_EXIT_CODE, read_script, write_script};
use cynode_wire::jobs::JobView;
use cynode_wire::tool_calls::{MAX_FILE_BYTES, SandboxIds};
use serde::Serialize;

use super::exec::WorkspaceCommand;
use super::{SandboxError, Sandboxes};
use cynode_execution::artifacts::validate_artifact_path;
use cynode_execution::{workflow::MAX_WAIT_MS, workflow::job_view};
use cynode_resources::Actor;

/// Fits the largest file as base64 with line breaks.
const OUTPUT_BYTES: u32 = 512 * 1024;
const TIMEOUT_S: u32 = 60;

/// A file in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxFile {
    pub exec_id: JobId,
    /// Relative to the workspace.
    pub path: String,
    pub size_bytes: usize,
    /// Standard base64; absent after a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_bytes_base64: Option<String>,
}

impl Sandboxes {
    /// Writes a file; an existing one is replaced atomically.
    pub async fn put_file(
        &self,
        by: Actor<'_>,
        at: SandboxIds,
        path: &str,
        content: &[u8],
    ) -> Result<SandboxFile, SandboxError> {
        validate_artifact_path(path).map_err(SandboxError::Invalid)?;
        if content.len() > MAX_FILE_BYTES {
            return Err(SandboxError::Invalid(too_large_message()));
        }
        let job = self.run_script(by, at, write_script(path, &STANDARD.encode(content))).await?;
        check_succeeded(&job)?;
        let (exec_id, path, size_bytes) = (job.id, path.to_owned(), content.len());
        Ok(SandboxFile { exec_id, path, size_bytes, content_bytes_base64: None })
    }

    pub async fn get_file(
        &self,
        by: Actor<'_>,
        at: SandboxIds,
        path: &str,
    ) -> Result<SandboxFile, SandboxError> {
        validate_artifact_path(path).map_err(SandboxError::Invalid)?;
        let job = self.run_script(by, at, read_script(path, MAX_FILE_BYTES)).await?;
        check_succeeded(&job)?;
        let text = job.result.map(|result| result.stdout).unwrap_or_default();
        let text: String = text.split_ascii_whitespace().collect();
        let broken =
            |_| SandboxError::File("the file was damaged in transfer; read it again".to_owned());
        let content = STANDARD.decode(&text).map_err(broken)?;
        let (exec_id, path, size_bytes) = (job.id, path.to_owned(), content.len());
        Ok(SandboxFile { exec_id, path, size_bytes, content_bytes_base64: Some(text) })
    }

    async fn run_script(
        &self,
        by: Actor<'_>,
        at: SandboxIds,
        text: String,
    ) -> Result<JobView, SandboxError> {
        let command = WorkspaceCommand {
            action: Action::Script { text },
            timeout_s: Some(TIMEOUT_S),
            output_bytes: Some(OUTPUT_BYTES),
            node: None,
            // The script and its programs are the node's.
            image: Some(HOST_IMAGE.to_owned()),
            by: by.display_name(),
        };
        let id = self.create_command_job(by, at, command, None).await?;
        Ok(job_view(self.wait_for_end(id, MAX_WAIT_MS).await?)?)
    }
}

fn too_large_message() -> String {
    format!("the file is larger than {MAX_FILE_BYTES} bytes; use an artifact or a command instead")
}

/// Returns the error of the script, if it failed.
fn check_succeeded(job: &JobView) -> Result<(), SandboxError> {
    use cynode_domain::job::JobEnding;
    let fault = match job.result.as_ref().map(|result| (&result.ending, &result.stderr)) {
        Some((JobEnding::Exited { code: 0 }, _)) => return Ok(()),
        Some((JobEnding::Exited { code: TOO_LARGE_EXIT_CODE }, _)) => too_large_message(),
        Some((JobEnding::Exited { .. }, said)) if !said.trim().is_empty() => {
            said.trim().chars().take(500).collect()
        }
        Some((ending, _)) => format!("the command {}", ending.describe()),
        None if job.status.is_terminal() => "the command was canceled".to_owned(),
        None => format!("no node has run it yet; follow exec {} with sandbox.stream_logs", job.id),
    };
    Err(SandboxError::File(fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_file_fits_its_output() {
        let encoded = MAX_FILE_BYTES.div_ceil(3) * 4;
        let with_breaks = encoded + encoded.div_ceil(76);

        assert!(with_breaks <= OUTPUT_BYTES as usize);
    }
}
