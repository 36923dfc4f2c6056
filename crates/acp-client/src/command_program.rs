//! A program without a protocol: it gets the prompt, its output is the transcript, and its exit code decides.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write as _, pipe};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use cynode_agent_job::OpenJob;
use cynode_agent_job::bounded_text::one_line;
use cynode_agent_job::journal::{Journal, StepOutcome};
use cynode_agent_job::process_group::{
    ProcessGroup, describe_exit, exit_code, inherited_variables,
};
use cynode_agent_job::program::{PROMPT, PROMPT_FILE, WORKSPACE, fill_placeholders};
use cynode_agent_job::stop::JobEnd;
use cynode_runtime::child_env::ChildEnv as _;
use cynode_runtime::terminal_text::strip_escapes;
use cynode_wire::agent_jobs::StopCondition;
use cynode_wire::transcript::OUTPUT;
use tempfile::NamedTempFile;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::pipe_io::{read_some, write_some};
use crate::program::ProgramRun;

/// The action in the journal.
const ACTION: &str = "command";
/// The most bytes of a line of output; the rest of the line is dropped.
const LINE_BYTES: usize = 2_000;
/// Bytes at the end of the output that are the summary.
const SUMMARY_BYTES: usize = 2_000;
/// The most bytes of the command in the journal.
const SUBJECT_BYTES: usize = 200;
/// How long output is read after the program has ended: a process that left the group may keep the pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Runs the command of a job until it exits or the job is interrupted.
pub(crate) async fn run_command_program(
    job: &mut OpenJob,
    command: &[String],
    env: &BTreeMap<String, String>,
    run: &mut ProgramRun<'_>,
) -> JobEnd {
    let ProgramRun { options, interruption, prompt, observed, .. } = run;
    let (_, workspace, journal) = job.parts();
    journal.begin(ACTION, &one_line(&command.join(" "), SUBJECT_BYTES));
    let started = write_prompt_file(command, prompt).and_then(|file| {
        let words = fill_command(command, prompt, file.as_ref(), workspace.root());
        Ok((RunningCommand::start(&words, env, workspace.root())?, file))
    });
    // The file is removed when it is dropped.
    let (mut running, _file) = match started {
        Ok(started) => started,
        Err(error) => {
            let message = format!("the program cannot be started: {error}");
            journal.end(&StepOutcome::failed(message.clone()));
            return JobEnd::unmet(StopCondition::ToolFailure, message);
        }
    };
    observed.has_prompt = true;
    let has_prompt = has_placeholder(command, &[PROMPT, PROMPT_FILE]);
    let input = if has_prompt { "" } else { prompt.as_str() };
    let ended = tokio::select! {
        biased;
        end = interruption.wait() => Err(end),
        status = running.run(input, journal) => Ok(status),
    };
    let patience = interruption.limit_timeouts(options.timeouts).exit;
    observed.is_killed = !running.end(patience, journal).await;
    let tail = running.output.finish(journal);
    match ended {
        Ok(Ok(status)) => conclude(status, &tail, journal),
        Ok(Err(error)) => {
            let message = format!("the program was lost: {error}");
            JobEnd::unmet(StopCondition::ToolFailure, message)
        }
        Err(end) => end,
    }
}

fn conclude(status: ExitStatus, tail: &str, journal: &mut Journal) -> JobEnd {
    let text = describe_exit(status);
    let is_success = status.success();
    journal.end(&StepOutcome {
        is_success,
        exit_code: Some(exit_code(status)),
        text: text.clone(),
        detail: None,
    });
    match (is_success, tail.trim()) {
        (true, "") => {
            JobEnd::Met { summary: "The program succeeded.".to_owned(), evidence: Vec::new() }
        }
        (true, tail) => JobEnd::Met { summary: tail.to_owned(), evidence: Vec::new() },
        (false, "") => {
            JobEnd::unmet(StopCondition::StepFailed, format!("the program failed: {text}"))
        }
        (false, tail) => JobEnd::unmet(
            StopCondition::StepFailed,
            format!("the program failed: {text}; it wrote: {tail}"),
        ),
    }
}

fn has_placeholder(command: &[String], names: &[&str]) -> bool {
    command.iter().any(|word| names.iter().any(|name| word.contains(name)))
}

/// Writes the prompt to a file if the command names one.
fn write_prompt_file(command: &[String], prompt: &str) -> io::Result<Option<NamedTempFile>> {
    if !has_placeholder(command, &[PROMPT_FILE]) {
        return Ok(None);
    }
    let mut file = tempfile::Builder::new().prefix("prompt-").suffix(".md").tempfile()?;
    file.write_all(prompt.as_bytes())?;
    file.flush()?;
    Ok(Some(file))
}

fn fill_command(
    command: &[String],
    prompt: &str,
    file: Option<&NamedTempFile>,
    workspace: &Path,
) -> Vec<String> {
    let file = file.map(|file| file.path().to_string_lossy()).unwrap_or_default();
    let workspace = workspace.to_string_lossy();
    let values = [(PROMPT, prompt), (PROMPT_FILE, &*file), (WORKSPACE, &*workspace)];
    command.iter().map(|word| fill_placeholders(word, &values)).collect()
}

/// A program that is running, with standard output and error in one stream.
struct RunningCommand {
    child: Child,
    group: Option<ProcessGroup>,
    reader: Option<Receiver>,
    output: OutputRecorder,
}

impl RunningCommand {
    fn start(
        command: &[String],
        env: &BTreeMap<String, String>,
        workspace: &Path,
    ) -> io::Result<Self> {
        let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let (reader, writer) = pipe()?;
        let child = Command::new(program)
            .args(args)
            .inherit_only(&inherited_variables())
            .envs(env)
            .current_dir(workspace)
            .stdin(Stdio::piped())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = Some(ProcessGroup::led_by(&child));
        let reader = Some(Receiver::from_owned_fd(OwnedFd::from(reader))?);
        Ok(Self { child, group, reader, output: OutputRecorder::default() })
    }

    /// Writes the input and records the output until the program exits.
    async fn run(&mut self, input: &str, journal: &mut Journal) -> io::Result<ExitStatus> {
        let mut stdin = self.child.stdin.take();
        let mut input = input.as_bytes();
        let mut buffer = vec![0; 16 << 10];
        loop {
            if input.is_empty() {
                stdin = None;
            }
            tokio::select! {
                status = self.child.wait() => return status,
                written = write_some(&mut stdin, input) => match written {
                    Ok(count) => input = &input[count..],
                    Err(_) => stdin = None,
                },
                count = read_some(&mut self.reader, &mut buffer) => match count {
                    0 => self.reader = None,
                    count => self.output.push(&buffer[..count], journal),
                },
            }
        }
    }

    /// Ends every process of the group; a program that still runs gets SIGTERM first. Returns whether it ended before
    /// SIGKILL.
    async fn end(&mut self, patience: Duration, journal: &mut Journal) -> bool {
        let Some(group) = self.group.take() else { return true };
        if self.child.try_wait().ok().flatten().is_none() {
            group.terminate();
            let _ = timeout(patience, self.run("", journal)).await;
        }
        let has_ended = self.child.try_wait().ok().flatten().is_some();
        group.kill();
        if self.reader.is_some() {
            let _ = timeout(DRAIN_TIMEOUT, self.drain_output(journal)).await;
        }
        let _ = timeout(DRAIN_TIMEOUT, self.child.wait()).await;
        has_ended
    }

    async fn drain_output(&mut self, journal: &mut Journal) {
        let mut buffer = vec![0; 16 << 10];
        while let count @ 1.. = read_some(&mut self.reader, &mut buffer).await {
            self.output.push(&buffer[..count], journal);
        }
    }
}

/// Splits output into lines for the journal, and keeps its end.
#[derive(Debug, Default)]
struct OutputRecorder {
    line: Vec<u8>,
    tail: VecDeque<u8>,
}

impl OutputRecorder {
    fn push(&mut self, bytes: &[u8], journal: &mut Journal) {
        let skipped = bytes.len().saturating_sub(SUMMARY_BYTES);
        self.tail.extend(&bytes[skipped..]);
        let excess = self.tail.len().saturating_sub(SUMMARY_BYTES);
        self.tail.drain(..excess);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES.saturating_sub(self.line.len()).min(part.len());
            self.line.extend_from_slice(&part[..room]);
            if part.ends_with(b"\n") {
                self.write_line(journal);
            }
        }
    }

    /// Writes the last line, and returns the end of the output.
    fn finish(&mut self, journal: &mut Journal) -> String {
        self.write_line(journal);
        let tail = Vec::from(std::mem::take(&mut self.tail));
        strip_escapes(&String::from_utf8_lossy(&tail))
    }

    fn write_line(&mut self, journal: &mut Journal) {
        let line = std::mem::take(&mut self.line);
        let line = strip_escapes(&String::from_utf8_lossy(&line));
        if !line.trim().is_empty() {
            journal.note(OUTPUT, "", true, &line);
        }
    }
}
