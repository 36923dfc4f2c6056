//! Runs commands in a workspace and waits for their results.

use std::time::Duration;

use cynode_domain::ids::{JobId, NodeId, RunId, TaskId};
use cynode_domain::image_name::HOST_IMAGE;
use cynode_domain::job::{Action, JobEnding, Limits};
use cynode_domain::status::JobStatus;
use cynode_domain::text::last_chars;
use cynode_domain::workspace_script::command_line;
use cynode_store::{Job, Task, Tx};
use cynode_wire::jobs::{JobView, Truncated};
use cynode_wire::tool_calls::{MAX_COMMAND_BYTES, MAX_EXEC_KEY_BYTES, SandboxIds};
use serde::Serialize;
use tokio::time::Instant;

use super::open::job_image;
use super::{
    EXECS_RETAINED, MAX_EXECS, MAX_RUNNING, SandboxError, Sandboxes, find_sandbox, lock_open_task,
};
use cynode_execution::{nodes::AssignmentPass, nodes::JobPayload};
use cynode_execution::{workflow::MAX_WAIT_MS, workflow::job_view};
use cynode_execution::{
    workflow::job_creation, workflow::job_creation::CreatedJob, workflow::job_creation::EXEC_STEP,
    workflow::job_creation::NewJobSpec, workflow::job_creation::create_job,
    workflow::job_creation::find_repository_denial,
};
use cynode_resources::Actor;
use cynode_resources::signals::Topic;

/// Maximum output per stream in a response; the end is kept.
const TAIL_CHARS: usize = 16 * 1024;

/// A request to run a command.
#[derive(Debug, Clone)]
pub struct SandboxCommand {
    pub task: TaskId,
    /// Id of the job that opened the sandbox.
    pub sandbox: JobId,
    /// A line for `/bin/sh -c`; or the program if `argv` is set.
    pub command: String,
    /// Passed to the program unchanged.
    pub argv: Option<Vec<String>>,
    /// Capped by the limits of the task.
    pub timeout_s: Option<u32>,
    /// Time to wait for the end, in milliseconds.
    pub wait_ms: Option<u32>,
    /// Idempotency key; the same key with another command is rejected.
    pub key: Option<String>,
}

/// The state and output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SandboxCommandResult {
    pub exec_id: JobId,
    /// `running`, including queued, or `ended`.
    pub status: &'static str,
    /// Set if the command exited by itself.
    pub exit_code: Option<i32>,
    pub ending: Option<String>,
    pub stdout: String,
    pub stderr: String,
    pub truncated: Truncated,
}

pub(super) struct WorkspaceCommand {
    pub(super) action: Action,
    pub(super) timeout_s: Option<u32>,
    pub(super) output_bytes: Option<u32>,
    pub(super) node: Option<NodeId>,
    /// The image to run in; that of the task if absent.
    pub(super) image: Option<String>,
    /// Display name of the requester.
    pub(super) by: String,
}

impl Sandboxes {
    /// Runs a command and waits up to `wait_ms` for its end.
    pub async fn run_command(
        &self,
        by: Actor<'_>,
        request: SandboxCommand,
    ) -> Result<SandboxCommandResult, SandboxError> {
        let line = shell_line(&request)?;
        let command = WorkspaceCommand {
            action: Action::Command { line },
            timeout_s: request.timeout_s,
            output_bytes: None,
            node: None,
            image: None,
            by: by.display_name(),
        };
        let at = SandboxIds { task_id: request.task, job_id: request.sandbox };
        let id = self.create_command_job(by, at, command, request.key).await?;
        let job = self.wait_for_end(id, request.wait_ms.unwrap_or(MAX_WAIT_MS)).await?;
        Ok(command_result(&job_view(job)?))
    }

    /// Creates the job of a command, or returns the job with the same key.
    pub(super) async fn create_command_job(
        &self,
        by: Actor<'_>,
        SandboxIds { task_id: task, job_id: sandbox }: SandboxIds,
        command: WorkspaceCommand,
        key: Option<String>,
    ) -> Result<JobId, SandboxError> {
        let (caller, kind) = (by.caller.clone(), by.kind);
        let placing = self.placer.assignment_pass();
        let made = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let (task, run) =
                        lock_open_task(tx, Actor { caller: &caller, kind }, task).await?;
                    let handle = find_sandbox(tx, task.spec.id, sandbox).await?;
                    if let Some(key) = &key
                        && let Some(id) = tx.exec_by_key(sandbox, key).await?
                    {
                        reject_other_command(tx, id, &command.action).await?;
                        return Ok(CreatedJob { id, awaiting_placement: vec![] });
                    }
                    if handle.destroyed_at.is_some() {
                        return Err(SandboxError::Destroyed);
                    }
                    let mut command = command;
                    if command.image.is_none() {
                        let opened = tx.job_get(sandbox).await?;
                        // `host` by name: the task may have another image.
                        let image = job_image(opened.as_ref()).unwrap_or(HOST_IMAGE);
                        command.image = Some(image.to_owned());
                    }
                    let made = create_workspace_job(tx, &task, run, command, placing).await?;
                    tx.exec_insert(made.id, sandbox, key.as_deref()).await?;
                    Ok(made)
                })
            })
            .await;
        let made = self.record_denial(made).await?;
        self.placer.ask(made.awaiting_placement);
        self.signals.send(Topic::Jobs);
        Ok(made.id)
    }

    /// Returns a job once it has ended or `wait_ms` has passed.
    pub(super) async fn wait_for_end(&self, id: JobId, wait_ms: u32) -> Result<Job, SandboxError> {
        let wait = Duration::from_millis(u64::from(wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.subscribe(Topic::Results);
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

/// Rejects a key that was used for another command.
async fn reject_other_command(
    tx: &mut Tx,
    known: JobId,
    action: &Action,
) -> Result<(), SandboxError> {
    let kept = tx.job_get(known).await?.map(|job| job.spec.payload);
    // The details of old commands are not retained.
    let kept = kept.and_then(|payload| serde_json::from_value::<JobPayload>(payload).ok());
    if kept.is_some_and(|kept| kept.action != *action) {
        let fault = "idempotency_key was used for another command; use a new one";
        return Err(SandboxError::Invalid(fault.to_owned()));
    }
    Ok(())
}

/// Creates the next job in the workspace of a run. Its node clones the repository of the task first, if the workspace has no
/// checkout yet, so the rules must allow a clone now.
pub(super) async fn create_workspace_job(
    tx: &mut Tx,
    task: &Task,
    run: RunId,
    command: WorkspaceCommand,
    placing: AssignmentPass,
) -> Result<CreatedJob, SandboxError> {
    let counts = tx.exec_counts(run, EXEC_STEP).await?;
    let attempt = counts.highest + 1;
    if let Some(denial) = find_repository_denial(tx, task, (EXEC_STEP, attempt)).await? {
        return Err(denial.into());
    }
    if counts.open >= MAX_RUNNING {
        let fault = format!("{MAX_RUNNING} commands of the task are running: wait for one to end");
        return Err(SandboxError::TooMany(fault));
    }
    if counts.highest >= MAX_EXECS {
        let fault =
            format!("the run has reached its limit of {MAX_EXECS} commands; create a new task");
        return Err(SandboxError::TooMany(fault));
    }
    tx.exec_delete_payloads(run, EXEC_STEP, counts.highest.saturating_sub(EXECS_RETAINED)).await?;
    tx.exec_trim(run, EXEC_STEP, job_creation::EXEC_RETENTION).await?;
    let bounds = task.spec.options.limits;
    let limits = Limits {
        timeout_s: command.timeout_s.map_or(bounds.timeout_s, |s| s.clamp(1, bounds.timeout_s)),
        output_bytes: command.output_bytes.unwrap_or(bounds.output_bytes),
        ..bounds
    };
    let request = NewJobSpec {
        agent: None,
        image: command.image,
        run,
        step_index: EXEC_STEP,
        attempt,
        action: command.action,
        limits,
        node: command.node,
        requested_by: Some(command.by),
    };
    Ok(create_job(tx, task, request, placing).await?)
}

/// Returns the shell line after validation.
fn shell_line(request: &SandboxCommand) -> Result<String, SandboxError> {
    let is_bad_key =
        |key: &String| key.is_empty() || key.len() > MAX_EXEC_KEY_BYTES || key.contains('\0');
    if request.key.as_ref().is_some_and(is_bad_key) {
        let fault = "idempotency_key must have 1 to 200 bytes without NUL";
        return Err(SandboxError::Invalid(fault.to_owned()));
    }
    command_line(&request.command, request.argv.as_deref(), MAX_COMMAND_BYTES)
        .map_err(|fault| SandboxError::Invalid(fault.to_owned()))
}

/// Converts a job into a command result.
pub(super) fn command_result(job: &JobView) -> SandboxCommandResult {
    let exec_id = job.id;
    let Some(result) = &job.result else {
        return SandboxCommandResult {
            exec_id,
            status: if job.status.is_terminal() { "ended" } else { "running" },
            exit_code: None,
            ending: describe_missing_result(job.status),
            stdout: String::new(),
            stderr: String::new(),
            truncated: Truncated::default(),
        };
    };
    let (stdout, is_cut) = output_tail(&result.stdout);
    let (stderr, is_cut_too) = output_tail(&result.stderr);
    SandboxCommandResult {
        exec_id,
        status: "ended",
        exit_code: if let JobEnding::Exited { code } = result.ending { Some(code) } else { None },
        ending: Some(result.ending.describe()),
        stdout,
        stderr,
        truncated: Truncated {
            stdout: result.truncated.stdout || is_cut,
            stderr: result.truncated.stderr || is_cut_too,
        },
    }
}

/// Describes the end of a job without a result: never started, or no longer retained.
fn describe_missing_result(status: JobStatus) -> Option<String> {
    match status {
        JobStatus::Queued | JobStatus::Running => None,
        JobStatus::Canceled => Some(JobEnding::Canceled.describe()),
        JobStatus::Completed | JobStatus::Failed | JobStatus::LeaseExpired => {
            Some(format!("is {status}; its result is no longer retained"))
        }
    }
}

/// Returns the end of a text and whether it was truncated.
fn output_tail(text: &str) -> (String, bool) {
    let end = last_chars(text, TAIL_CHARS);
    (end.to_owned(), end.len() < text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(command: &str, argv: Option<&[&str]>) -> SandboxCommand {
        SandboxCommand {
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
        let request = exec("printf", Some(&["%s", "$HOME; it's `here`"]));

        assert_eq!(shell_line(&request).unwrap(), r"'printf' '%s' '$HOME; it'\''s `here`'");
        assert_eq!(shell_line(&exec("echo $HOME", None)).unwrap(), "echo $HOME");
    }

    #[test]
    fn a_command_or_key_without_words_or_with_nul_is_refused() {
        for command in ["", "  ", "a\0b"] {
            assert!(shell_line(&exec(command, None)).is_err(), "{command:?}");
        }
        assert!(shell_line(&exec("x", Some(&[&"y".repeat(MAX_COMMAND_BYTES)]))).is_err());
        for key in ["", "a\0b", &"k".repeat(MAX_EXEC_KEY_BYTES + 1)] {
            let keyed = SandboxCommand { key: Some(key.to_owned()), ..exec("x", None) };
            assert!(shell_line(&keyed).is_err(), "{key:?}");
        }
    }

    #[test]
    fn the_end_of_a_long_output_is_shown() {
        let long = format!("{}end", "x".repeat(TAIL_CHARS));

        let (shown, is_cut) = output_tail(&long);

        assert!(is_cut && shown.ends_with("end") && shown.len() == TAIL_CHARS);
        assert_eq!(output_tail("short"), ("short".to_owned(), false));
    }
}
