//! Files of a workspace, written and read by the sandbox's own shell, so that its walls hold.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::job::Action;
use cynode_wire::jobs::JobView;
use serde::Serialize;

use super::exec::{Command, quoted};
use super::{SandboxError, Sandboxes};
use crate::Caller;
use crate::artifacts::check_path;
use crate::runs::Voice;
use crate::workflow::{MAX_WAIT_MS, job_view};

/// How long a file may be, either way.
const MAX_BYTES: usize = 256 * 1024;
/// Enough for a file of that length as base64, with its line breaks.
const OUTPUT_BYTES: u32 = 512 * 1024;
/// A file is written or read in less.
const TIMEOUT_S: u32 = 60;
/// What the shell ends with when a file is too long.
const TOO_LONG: i32 = 90;

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileBytes {
    /// The job that read or wrote it.
    pub exec_id: JobId,
    /// Its path in the workspace.
    pub path: String,
    /// How long it is.
    pub size_bytes: usize,
    /// The content, in standard base64; absent after writing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_bytes_base64: Option<String>,
}

impl Sandboxes {
    /// Writes a file; what was there before is replaced as a whole.
    pub async fn put_file(
        &self,
        by: (&Caller, Voice),
        at: (TaskId, JobId),
        path: &str,
        content: &[u8],
    ) -> Result<FileBytes, SandboxError> {
        check_path(path).map_err(SandboxError::Invalid)?;
        if content.len() > MAX_BYTES {
            return Err(SandboxError::Invalid(too_long()));
        }
        let job = self.shell(by, at, writing(path, content)).await?;
        succeeded(&job)?;
        let (exec_id, path, size_bytes) = (job.id, path.to_owned(), content.len());
        Ok(FileBytes { exec_id, path, size_bytes, content_bytes_base64: None })
    }

    /// Reads a file.
    pub async fn get_file(
        &self,
        by: (&Caller, Voice),
        at: (TaskId, JobId),
        path: &str,
    ) -> Result<FileBytes, SandboxError> {
        check_path(path).map_err(SandboxError::Invalid)?;
        let job = self.shell(by, at, reading(path)).await?;
        succeeded(&job)?;
        let text = job.result.map(|result| result.stdout).unwrap_or_default();
        let text: String = text.split_ascii_whitespace().collect();
        let broken = |_| SandboxError::File("the file arrived broken: read it again".to_owned());
        let content = STANDARD.decode(&text).map_err(broken)?;
        let (exec_id, path, size_bytes) = (job.id, path.to_owned(), content.len());
        Ok(FileBytes { exec_id, path, size_bytes, content_bytes_base64: Some(text) })
    }

    async fn shell(
        &self,
        by: (&Caller, Voice),
        at: (TaskId, JobId),
        text: String,
    ) -> Result<JobView, SandboxError> {
        let command = Command {
            action: Action::Script { text },
            timeout_s: Some(TIMEOUT_S),
            output_bytes: Some(OUTPUT_BYTES),
            node: None,
            by: by.1.of(by.0),
        };
        let id = self.begin(by, at, command, None).await?;
        Ok(job_view(self.ended(id, MAX_WAIT_MS).await?)?)
    }
}

/// A script and not a line, because a line is an argument, which may not be so long.
fn writing(path: &str, content: &[u8]) -> String {
    let content = STANDARD.encode(content);
    let (path, new) = (quoted(&format!("./{path}")), quoted(&format!("./{path}.cynode-new")));
    format!(
        "#!/bin/sh\nset -e\nmkdir -p -- \"$(dirname -- {path})\"\n\
         base64 -d > {new} <<'EOF'\n{content}\nEOF\nmv -f -- {new} {path}\n"
    )
}

fn reading(path: &str) -> String {
    let path = quoted(&format!("./{path}"));
    format!(
        "#!/bin/sh\nset -e\n[ -f {path} ] || {{ echo 'there is no such file' >&2; exit 1; }}\n\
         [ \"$(wc -c < {path})\" -le {MAX_BYTES} ] || exit {TOO_LONG}\nbase64 < {path}\n"
    )
}

fn too_long() -> String {
    format!(
        "files of up to {MAX_BYTES} bytes go this way: use artifacts or a command for longer ones"
    )
}

/// Whether the shell did it, or why not.
fn succeeded(job: &JobView) -> Result<(), SandboxError> {
    use cynode_domain::job::Ending;
    let fault = match job.result.as_ref().map(|result| (&result.ending, &result.stderr)) {
        Some((Ending::Exited { code: 0 }, _)) => return Ok(()),
        Some((Ending::Exited { code: TOO_LONG }, _)) => too_long(),
        Some((Ending::Exited { .. }, said)) if !said.trim().is_empty() => {
            said.trim().chars().take(500).collect()
        }
        Some((ending, _)) => format!("the command {}", ending.describe()),
        None if job.status.is_terminal() => "it was canceled".to_owned(),
        None => format!("no node has done it yet: see exec {} with sandbox.stream_logs", job.id),
    };
    Err(SandboxError::File(fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_quotes_stays_one_word_of_the_shell() {
        assert!(reading("it's $(here)").contains(r"base64 < './it'\''s $(here)'"));
        assert!(writing("-n", b"x").contains("> './-n.cynode-new'"));
    }

    #[test]
    fn the_longest_file_fits_its_output() {
        let encoded = MAX_BYTES.div_ceil(3) * 4;
        let with_breaks = encoded + encoded.div_ceil(76);

        assert!(with_breaks <= OUTPUT_BYTES as usize);
    }
}
