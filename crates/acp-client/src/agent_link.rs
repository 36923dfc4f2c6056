//! The process of an agent, and lines to and from it.
//!
//! Reading, writing and standard error progress together, so neither side can block the other. Every read can be
//! dropped without losing a part of a message.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use cynode_agent_job::bounded_text::HeadAndTail;
use cynode_agent_job::process_group::{ProcessGroup, describe_exit, inherited_variables};
use cynode_runtime::bounded_lines::{BoundedLine, BoundedLines};
use cynode_runtime::child_env::ChildEnv as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout};

use crate::pipe_io::{read_some, write_some};

/// The most bytes of a line: a file that the agent writes is in one.
pub(crate) const MAX_LINE_BYTES: usize = 8 << 20;
/// The most bytes that wait for the agent to read them.
const MAX_OUTGOING_BYTES: usize = 32 << 20;
/// Bytes of standard error that are kept.
const DIAGNOSTICS_BYTES: usize = 2_000;
/// How long output is read after the program has exited: another process may keep the pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// A running agent. Dropping it kills every process of its group.
pub(crate) struct AgentLink {
    child: Child,
    group: Option<ProcessGroup>,
    lines: BoundedLines<ChildStdout>,
    /// Absent once the agent has closed it.
    stdin: Option<ChildStdin>,
    stderr: Option<ChildStderr>,
    outgoing: VecDeque<u8>,
    diagnostics: HeadAndTail,
    /// When reading ends, once the program has exited.
    drained_at: Option<Instant>,
}

/// Why there is no line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkEnd {
    Ended,
    LineTooLong,
}

impl AgentLink {
    /// Starts a program in the workspace, as the leader of a process group.
    pub(crate) fn start(
        command: &[String],
        env: &BTreeMap<String, String>,
        workspace: &Path,
    ) -> io::Result<Self> {
        let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(args)
            .inherit_only(&inherited_variables())
            .envs(env)
            .current_dir(workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = Some(ProcessGroup::led_by(&child));
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            child,
            group,
            lines: BoundedLines::new(stdout, MAX_LINE_BYTES),
            stdin,
            stderr,
            outgoing: VecDeque::new(),
            diagnostics: HeadAndTail::new(DIAGNOSTICS_BYTES),
            drained_at: None,
        })
    }

    /// Queues a line. Returns whether there is room for it.
    pub(crate) fn send(&mut self, line: &str) -> bool {
        if self.outgoing.len().saturating_add(line.len()) > MAX_OUTGOING_BYTES {
            return false;
        }
        self.outgoing.extend(line.as_bytes());
        self.outgoing.push_back(b'\n');
        true
    }

    /// Returns the next line, and writes what is queued in the meantime.
    pub(crate) async fn next_line(&mut self) -> Result<String, LinkEnd> {
        let mut buffer = vec![0; 4 << 10];
        loop {
            tokio::select! {
                written = write_some(&mut self.stdin, self.outgoing.as_slices().0) => match written {
                    Ok(count) => drop(self.outgoing.drain(..count)),
                    // The end of its output tells why.
                    Err(_) => self.stdin = None,
                },
                count = read_some(&mut self.stderr, &mut buffer) => match count {
                    0 => self.stderr = None,
                    count => self.diagnostics.push(&buffer[..count]),
                },
                _ = self.child.wait(), if self.drained_at.is_none() => {
                    self.drained_at = Some(Instant::now() + DRAIN_TIMEOUT);
                }
                () = sleep_until_or_never(self.drained_at) => return Err(LinkEnd::Ended),
                line = self.lines.next_line() => match line {
                    BoundedLine::Text(line) => return Ok(line),
                    BoundedLine::TooLong => return Err(LinkEnd::LineTooLong),
                    BoundedLine::End => return Err(LinkEnd::Ended),
                },
            }
        }
    }

    /// Closes the program's input, and waits until it exits.
    pub(crate) async fn close_input(&mut self, patience: Duration) {
        self.stdin = None;
        let _ = timeout(patience, async { while self.next_line().await.is_ok() {} }).await;
    }

    /// Ends every process of the group; waits for the program between SIGTERM and SIGKILL. Returns whether the program
    /// ended before SIGKILL.
    pub(crate) async fn end(&mut self, patience: Duration) -> bool {
        let Some(group) = self.group.take() else { return true };
        if self.child.try_wait().ok().flatten().is_none() {
            group.terminate();
            let exited = async {
                while self.next_line().await.is_ok() {}
                let _ = self.child.wait().await;
            };
            let _ = timeout(patience, exited).await;
        }
        let has_ended = self.child.try_wait().ok().flatten().is_some();
        group.kill();
        let _ = timeout(DRAIN_TIMEOUT, self.child.wait()).await;
        has_ended
    }

    /// Ends the program and describes how it ended.
    pub(crate) async fn describe_end(&mut self, patience: Duration) -> (String, String) {
        // Its exit code is worth a moment, if its output ended first.
        let _ = timeout(DRAIN_TIMEOUT, self.child.wait()).await;
        let exit = match self.child.try_wait() {
            Ok(Some(status)) => describe_exit(status),
            Ok(None) | Err(_) => "it closed its output".to_owned(),
        };
        let diagnostics = self.read_diagnostics().await;
        self.end(patience).await;
        (exit, diagnostics)
    }

    /// What the program wrote to standard error, as the end of a sentence.
    pub(crate) async fn read_diagnostics(&mut self) -> String {
        let mut buffer = vec![0; 4 << 10];
        let rest = async {
            while let count @ 1.. = read_some(&mut self.stderr, &mut buffer).await {
                self.diagnostics.push(&buffer[..count]);
            }
        };
        // A program that is still running keeps it open.
        let _ = timeout(Duration::from_millis(50), rest).await;
        let kept = std::mem::replace(&mut self.diagnostics, HeadAndTail::new(DIAGNOSTICS_BYTES));
        match kept.into_text().trim() {
            "" => String::new(),
            text => format!("; it wrote: {text}"),
        }
    }
}

async fn sleep_until_or_never(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
