//! What a command in a workspace has written so far.

use cynode_domain::ids::{JobId, TaskId};
use cynode_store::{JobStore, SandboxStore};
use cynode_wire::jobs::Stream;
use serde::Serialize;

use super::{MAX_EXECS, SandboxError, Sandboxes, of_task};
use crate::Caller;
use crate::tasks::find;

/// How much one answer holds.
const MAX_BYTES: usize = 64 * 1024;

/// Which output is wanted.
#[derive(Debug, Clone)]
pub struct LogRequest {
    /// The task.
    pub task: TaskId,
    /// The sandbox, by the job that opened it.
    pub sandbox: JobId,
    /// The command; the newest of the sandbox when absent.
    pub exec: Option<JobId>,
    /// Which stream.
    pub stream: Stream,
    /// Where to begin, in bytes.
    pub offset: u64,
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogPiece {
    /// The command; absent while the sandbox has had none.
    pub exec_id: Option<JobId>,
    /// The output from the offset on; what is no UTF-8 is replaced.
    pub text: String,
    /// Where the next piece begins.
    pub next_offset: u64,
    /// Whether nothing more will come after this piece.
    pub ended: bool,
}

impl Sandboxes {
    /// A piece of output, also of a sandbox that was destroyed or whose task is over.
    pub async fn logs(
        &self,
        caller: &Caller,
        wanted: LogRequest,
    ) -> Result<LogPiece, SandboxError> {
        let (caller, offset) = (caller.clone(), wanted.offset);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = find(tx, &caller, &wanted.task.to_string()).await?;
                    of_task(tx, task.asked.id, wanted.sandbox).await?;
                    let made = tx.exec_list(wanted.sandbox, MAX_EXECS).await?;
                    let exec = match wanted.exec {
                        Some(exec) if made.contains(&exec) => Some(exec),
                        Some(exec) => return Err(SandboxError::NoExec(exec)),
                        None => made.first().copied(),
                    };
                    let Some(exec) = exec else { return Ok(None) };
                    let job = tx.job_get(exec).await?;
                    let has_ended = job.is_none_or(|job| job.status.is_terminal());
                    let bytes = tx.log_read(exec, wanted.stream.as_str()).await?;
                    Ok(Some((exec, bytes, has_ended)))
                })
            })
            .await?;
        Ok(match found {
            Some((exec, bytes, has_ended)) => piece(exec, &bytes, offset, has_ended),
            None => LogPiece { exec_id: None, text: String::new(), next_offset: 0, ended: false },
        })
    }
}

fn piece(exec: JobId, bytes: &[u8], offset: u64, has_ended: bool) -> LogPiece {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let mut end = bytes.len().min(start + MAX_BYTES);
    // A character is not cut in two: its first byte says so.
    while end < bytes.len() && end > start + 1 && bytes[end] & 0b1100_0000 == 0b1000_0000 {
        end -= 1;
    }
    let text = String::from_utf8_lossy(&bytes[start..end]).into_owned();
    let ended = has_ended && end == bytes.len();
    LogPiece { exec_id: Some(exec), text, next_offset: end as u64, ended }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_comes_in_pieces_that_fit_together() {
        let all = "é".repeat(MAX_BYTES);
        let (mut text, mut offset) = (String::new(), 0);
        loop {
            let piece = piece(JobId::generate(), all.as_bytes(), offset, true);
            text.push_str(&piece.text);
            offset = piece.next_offset;
            if piece.ended {
                break;
            }
        }

        assert_eq!(text, all);
    }

    #[test]
    fn the_output_of_a_command_that_runs_has_no_end_yet() {
        let piece = piece(JobId::generate(), b"so far", 100, false);

        assert_eq!((piece.text.as_str(), piece.next_offset, piece.ended), ("", 6, false));
    }
}
