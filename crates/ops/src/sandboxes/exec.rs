//! Running a command in a workspace, and waiting for what comes of it.

use std::time::Duration;

use cynode_domain::ids::{JobId, NodeId, RunId, TaskId};
use cynode_domain::job::{Action, Ending, Limits};
use cynode_domain::status::JobStatus;
use cynode_store::{Job, JobStore, KeptExecStore, SandboxStore, Task, Tx};
use cynode_wire::jobs::{JobView, Truncated};
use serde::Serialize;
use tokio::time::Instant;

use super::{EXECS_KEPT, MAX_EXECS, MAX_RUNNING, SandboxError, Sandboxes, of_task, open_task};
use crate::Caller;
use crate::nodes::{Payload, Placing};
use crate::runs::Voice;
use crate::signals::Topic;
use crate::workflow::make::{self, EXEC_STEP, Made, Wanted, make_job};
use crate::workflow::{MAX_WAIT_MS, job_view};

const MAX_LINE_BYTES: usize = 64 * 1024;
const MAX_KEY_BYTES: usize = 200;
/// How much of each stream an answer shows: its end.
const TAIL_CHARS: usize = 16 * 1024;

/// A command that is to be run.
#[derive(Debug, Clone)]
pub struct Exec {
    /// The task.
    pub task: TaskId,
    /// The sandbox, by the job that opened it.
    pub sandbox: JobId,
    /// A line for `/bin/sh -c`; or the program, if there are arguments.
    pub command: String,
    /// Arguments of the program, taken as they are.
    pub argv: Option<Vec<String>>,
    /// How long it may run; the limits of the task hold too.
    pub timeout_s: Option<u32>,
    /// How long to wait for its end.
    pub wait_ms: Option<u32>,
    /// The same key again is the same command; another command is refused.
    pub key: Option<String>,
}

/// What came of a command so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ran {
    /// The job that runs it.
    pub exec_id: JobId,
    /// `running`, which includes waiting for its node, or `ended`.
    pub status: &'static str,
    /// Its exit code, if it ended by itself.
    pub exit_code: Option<i32>,
    /// How it ended, in words.
    pub ending: Option<String>,
    /// The end of standard output.
    pub stdout: String,
    /// The end of standard error.
    pub stderr: String,
    /// Which of them were longer than what is shown.
    pub truncated: Truncated,
}

/// A job in a workspace.
pub(super) struct Command {
    pub(super) action: Action,
    pub(super) timeout_s: Option<u32>,
    pub(super) output_bytes: Option<u32>,
    pub(super) node: Option<NodeId>,
    /// Who asked for it, in words.
    pub(super) by: String,
}

impl Sandboxes {
    /// Runs a command, and waits for its end as long as the request says.
    pub async fn exec(&self, by: (&Caller, Voice), wanted: Exec) -> Result<Ran, SandboxError> {
        let line = line(&wanted)?;
        let command = Command {
            action: Action::Command { line },
            timeout_s: wanted.timeout_s,
            output_bytes: None,
            node: None,
            by: by.1.of(by.0),
        };
        let at = (wanted.task, wanted.sandbox);
        let id = self.begin(by, at, command, wanted.key).await?;
        let job = self.ended(id, wanted.wait_ms.unwrap_or(MAX_WAIT_MS)).await?;
        Ok(ran(&job_view(job)?))
    }

    /// Makes the job of a command, or gives the one that was made with the same key.
    pub(super) async fn begin(
        &self,
        (caller, voice): (&Caller, Voice),
        (task, sandbox): (TaskId, JobId),
        command: Command,
        key: Option<String>,
    ) -> Result<JobId, SandboxError> {
        let (caller, placing) = (caller.clone(), self.placer.placing());
        let made = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let (task, run) = open_task(tx, (&caller, voice), task).await?;
                    let handle = of_task(tx, task.asked.id, sandbox).await?;
                    if let Some(key) = &key
                        && let Some(id) = tx.exec_by_key(sandbox, key).await?
                    {
                        refuse_other(tx, id, &command.action).await?;
                        return Ok(Made { id, asked: vec![] });
                    }
                    if handle.destroyed_at.is_some() {
                        return Err(SandboxError::Destroyed);
                    }
                    let made = make(tx, (&task, run), command, placing).await?;
                    tx.exec_insert(made.id, sandbox, key.as_deref()).await?;
                    Ok(made)
                })
            })
            .await?;
        self.placer.ask(made.asked);
        self.signals.send(Topic::Jobs);
        Ok(made.id)
    }

    /// A job, once it has ended or `wait_ms` have passed.
    pub(super) async fn ended(&self, id: JobId, wait_ms: u32) -> Result<Job, SandboxError> {
        let wait = Duration::from_millis(u64::from(wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.listen(Topic::Results);
        loop {
            let job = self
                .store
                .read(move |tx| Box::pin(async move { tx.job_get(id).await }))
                .await?
                .ok_or(SandboxError::NoExec(id))?;
            if job.status.is_terminal() || !listener.wait(deadline).await {
                return Ok(job);
            }
        }
    }
}

/// Refuses a key that was used for another command.
async fn refuse_other(tx: &mut Tx, known: JobId, action: &Action) -> Result<(), SandboxError> {
    let kept = tx.job_get(known).await?.map(|job| job.asked.payload);
    // Of a command from long ago it is not known what it was.
    let kept = kept.and_then(|payload| serde_json::from_value::<Payload>(payload).ok());
    if kept.is_some_and(|kept| kept.action != *action) {
        let fault = "idempotency_key was used for another command: take a new one";
        return Err(SandboxError::Invalid(fault.to_owned()));
    }
    Ok(())
}

/// Makes the next job in the workspace of a run.
pub(super) async fn make(
    tx: &mut Tx,
    (task, run): (&Task, RunId),
    command: Command,
    placing: Placing,
) -> Result<Made, SandboxError> {
    let counts = tx.exec_counts(run, EXEC_STEP).await?;
    if counts.open >= MAX_RUNNING {
        let fault = format!("{MAX_RUNNING} commands of the task are running: wait for one to end");
        return Err(SandboxError::TooMany(fault));
    }
    if counts.highest >= MAX_EXECS {
        let fault = format!("the run has had its {MAX_EXECS} commands: create a task for the rest");
        return Err(SandboxError::TooMany(fault));
    }
    tx.exec_forget(run, EXEC_STEP, counts.highest.saturating_sub(EXECS_KEPT)).await?;
    tx.exec_trim(run, EXEC_STEP, make::EXECS_KEPT).await?;
    let bounds = task.asked.options.limits;
    let limits = Limits {
        timeout_s: command.timeout_s.map_or(bounds.timeout_s, |s| s.clamp(1, bounds.timeout_s)),
        output_bytes: command.output_bytes.unwrap_or(bounds.output_bytes),
        ..bounds
    };
    let wanted = Wanted {
        run,
        step_index: EXEC_STEP,
        attempt: counts.highest + 1,
        action: command.action,
        limits,
        node: command.node,
        by: Some(command.by),
    };
    Ok(make_job(tx, task, wanted, placing).await?)
}

/// The line that a shell is given, after what is wrong with it.
fn line(wanted: &Exec) -> Result<String, SandboxError> {
    let line = match &wanted.argv {
        None => wanted.command.clone(),
        Some(argv) => {
            let words = std::iter::once(&wanted.command).chain(argv).map(|word| quoted(word));
            words.collect::<Vec<_>>().join(" ")
        }
    };
    let is_bad_key =
        |key: &String| key.is_empty() || key.len() > MAX_KEY_BYTES || key.contains('\0');
    let fault = if wanted.command.trim().is_empty() {
        "command is empty"
    } else if line.len() > MAX_LINE_BYTES {
        "command and argv are longer than 64 KiB"
    } else if line.contains('\0') {
        "command and argv must not hold NUL characters"
    } else if wanted.key.as_ref().is_some_and(is_bad_key) {
        "idempotency_key needs 1 to 200 bytes, none of them NUL"
    } else {
        return Ok(line);
    };
    Err(SandboxError::Invalid(fault.to_owned()))
}

/// A word that a shell takes as it is.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What came of a job, for whoever asked for it.
pub(super) fn ran(job: &JobView) -> Ran {
    let exec_id = job.id;
    let Some(result) = &job.result else {
        return Ran {
            exec_id,
            status: if job.status.is_terminal() { "ended" } else { "running" },
            exit_code: None,
            ending: ending_without_result(job.status),
            stdout: String::new(),
            stderr: String::new(),
            truncated: Truncated::default(),
        };
    };
    let (stdout, is_cut) = tail(&result.stdout);
    let (stderr, is_cut_too) = tail(&result.stderr);
    Ran {
        exec_id,
        status: "ended",
        exit_code: if let Ending::Exited { code } = result.ending { Some(code) } else { None },
        ending: Some(result.ending.describe()),
        stdout,
        stderr,
        truncated: Truncated {
            stdout: result.truncated.stdout || is_cut,
            stderr: result.truncated.stderr || is_cut_too,
        },
    }
}

/// How a job ended that has no result: it never began, or that is no longer kept.
fn ending_without_result(status: JobStatus) -> Option<String> {
    match status {
        JobStatus::Queued | JobStatus::Running => None,
        JobStatus::Canceled => Some(Ending::Canceled.describe()),
        JobStatus::Completed | JobStatus::Failed | JobStatus::LeaseExpired => {
            Some(format!("is {status}; what came of it is no longer kept"))
        }
    }
}

/// The end of a text, and whether there was more.
fn tail(text: &str) -> (String, bool) {
    let excess = text.chars().count().saturating_sub(TAIL_CHARS);
    (text.chars().skip(excess).collect(), excess > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(command: &str, argv: Option<&[&str]>) -> Exec {
        Exec {
            task: TaskId::generate(),
            sandbox: JobId::generate(),
            command: command.to_owned(),
            argv: argv.map(|argv| argv.iter().map(|&word| word.to_owned()).collect()),
            timeout_s: None,
            wait_ms: None,
            key: None,
        }
    }

    #[test]
    fn arguments_reach_a_program_as_they_are() {
        let wanted = exec("printf", Some(&["%s", "$HOME; it's `here`"]));

        assert_eq!(line(&wanted).unwrap(), r"'printf' '%s' '$HOME; it'\''s `here`'");
        assert_eq!(line(&exec("echo $HOME", None)).unwrap(), "echo $HOME");
    }

    #[test]
    fn a_command_or_key_without_words_or_with_nul_is_refused() {
        for command in ["", "  ", "a\0b"] {
            assert!(line(&exec(command, None)).is_err(), "{command:?}");
        }
        assert!(line(&exec("x", Some(&[&"y".repeat(MAX_LINE_BYTES)]))).is_err());
        for key in ["", "a\0b", &"k".repeat(MAX_KEY_BYTES + 1)] {
            let keyed = Exec { key: Some(key.to_owned()), ..exec("x", None) };
            assert!(line(&keyed).is_err(), "{key:?}");
        }
    }

    #[test]
    fn the_end_of_a_long_output_is_shown() {
        let long = format!("{}end", "x".repeat(TAIL_CHARS));

        let (shown, is_cut) = tail(&long);

        assert!(is_cut && shown.ends_with("end") && shown.len() == TAIL_CHARS);
        assert_eq!(tail("short"), ("short".to_owned(), false));
    }
}
