//! Output of commands in a workspace.

use cynode_domain::ids::{JobId, TaskId};
use cynode_wire::jobs::Stream;
use serde::Serialize;

use super::{MAX_EXECS, SandboxError, Sandboxes, find_sandbox};
use cynode_execution::tasks::find;
use cynode_resources::Caller;

/// Maximum bytes per response.
const MAX_BYTES: usize = 64 * 1024;

/// A request for output.
#[derive(Debug, Clone)]
pub struct SandboxLogRequest {
    pub task: TaskId,
    /// Id of the job that opened the sandbox.
    pub sandbox: JobId,
    /// Id of the command; the newest of the sandbox when absent.
    pub exec: Option<JobId>,
    pub stream: Stream,
    /// Start, in bytes.
    pub offset: u64,
}

/// A chunk of output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxLogChunk {
    /// Absent if the sandbox has run no command.
    pub exec_id: Option<JobId>,
    /// The output from the offset on; invalid UTF-8 is replaced.
    pub text: String,
    /// Offset of the next chunk.
    pub next_offset: u64,
    /// Whether this is the last chunk.
    pub ended: bool,
}

impl Sandboxes {
    /// Returns a chunk of output, also of a destroyed sandbox or a closed task.
    pub async fn logs(
        &self,
        caller: &Caller,
        request: SandboxLogRequest,
    ) -> Result<SandboxLogChunk, SandboxError> {
        let (caller, offset) = (caller.clone(), request.offset);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = find(tx, &caller, &request.task.into()).await?;
                    find_sandbox(tx, task.spec.id, request.sandbox).await?;
                    let made = tx.exec_list(request.sandbox, MAX_EXECS).await?;
                    let exec = match request.exec {
                        Some(exec) if made.contains(&exec) => Some(exec),
                        Some(exec) => return Err(SandboxError::NoExec(exec)),
                        None => made.first().copied(),
                    };
                    let Some(exec) = exec else { return Ok(None) };
                    let job = tx.job_get(exec).await?;
                    let has_ended = job.is_none_or(|job| job.status.is_terminal());
                    let bytes = tx.log_read(exec, request.stream.as_str()).await?;
                    Ok(Some((exec, bytes, has_ended)))
                })
            })
            .await?;
        Ok(match found {
            Some((exec, bytes, has_ended)) => log_chunk(exec, &bytes, offset, has_ended),
            None => {
                SandboxLogChunk { exec_id: None, text: String::new(), next_offset: 0, ended: false }
            }
        })
    }
}

fn log_chunk(exec: JobId, bytes: &[u8], offset: u64, has_ended: bool) -> SandboxLogChunk {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let mut end = bytes.len().min(start + MAX_BYTES);
    // Do not split a UTF-8 character: back up over continuation bytes.
    while end < bytes.len() && end > start + 1 && bytes[end] & 0b1100_0000 == 0b1000_0000 {
        end -= 1;
    }
    let text = String::from_utf8_lossy(&bytes[start..end]).into_owned();
    let ended = has_ended && end == bytes.len();
    SandboxLogChunk { exec_id: Some(exec), text, next_offset: end as u64, ended }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_comes_in_pieces_that_fit_together() {
        let all = "é".repeat(MAX_BYTES);
        let (mut text, mut offset) = (String::new(), 0);
        loop {
            let chunk = log_chunk(JobId::generate(), all.as_bytes(), offset, true);
            text.push_str(&chunk.text);
            offset = chunk.next_offset;
            if chunk.ended {
                break;
            }
        }

        assert_eq!(text, all);
    }

    #[test]
    fn the_output_of_a_command_that_runs_has_no_end_yet() {
        let chunk = log_chunk(JobId::generate(), b"so far", 100, false);

        assert_eq!((chunk.text.as_str(), chunk.next_offset, chunk.ended), ("", 6, false));
    }
}
