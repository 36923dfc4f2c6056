//! Runs one git process: cleared environment, bounded time, output and disk, killed as a process group.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use cynode_runtime::child_env::ChildEnv as _;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use secrecy::SecretString;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use crate::broker::GitBroker;
use crate::directory_size::directory_size;
use crate::error::GitError;
use crate::hardening;
use crate::redaction::summarize_output;

/// Bytes of standard error that are kept: the last ones say what failed.
const STDERR_BYTES: usize = 64 * 1024;
/// How often a growing directory is measured.
const MEASURE_EVERY: Duration = Duration::from_millis(250);

/// Receives standard output in pieces; an error stops git.
pub(crate) type OutputSink<'a> = dyn FnMut(&[u8]) -> Result<(), GitError> + Send + 'a;

/// What git reads from standard input.
#[derive(Debug)]
pub(crate) enum ChildInput {
    Empty,
    Bytes(Vec<u8>),
    /// A file, or the lock of a mirror: git then holds the lock until it ends, even if the broker is killed.
    File(File),
}

/// A git process that exited with an accepted code.
#[derive(Debug)]
pub(crate) struct FinishedGit {
    pub(crate) code: i32,
    pub(crate) stderr: Vec<u8>,
}

/// A git command line under the broker's rules.
#[derive(Debug)]
pub(crate) struct GitCommand<'a> {
    broker: &'a GitBroker,
    /// The subcommand, for messages.
    operation: &'static str,
    repository: Option<PathBuf>,
    working_dir: Option<PathBuf>,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    config: Vec<(String, String)>,
    protocol: &'static str,
    input: ChildInput,
    accepted_codes: &'static [i32],
    /// The directory that may grow to this many bytes.
    growth_limit: Option<(PathBuf, u64)>,
    secrets: Vec<SecretString>,
}

impl<'a> GitCommand<'a> {
    pub(crate) fn prepare(broker: &'a GitBroker, operation: &'static str) -> Self {
        Self {
            broker,
            operation,
            repository: None,
            working_dir: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            config: Vec::new(),
            protocol: "",
            input: ChildInput::Empty,
            accepted_codes: &[0],
            growth_limit: None,
            secrets: Vec::new(),
        }
    }

    /// The git directory. It must be one that no job can write.
    pub(crate) fn repository(mut self, git_dir: &Path) -> Self {
        self.repository = Some(git_dir.to_owned());
        self
    }

    pub(crate) fn working_dir(mut self, directory: &Path) -> Self {
        self.working_dir = Some(directory.to_owned());
        self
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name, value.as_ref().to_owned()));
        self
    }

    /// Adds a value of the configuration, after those of [`hardening::CONFIG`].
    pub(crate) fn config(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.push((key.into(), value.into()));
        self
    }

    /// Allows one protocol. Without a call, git reaches no other repository.
    pub(crate) fn protocol(mut self, protocol: &'static str) -> Self {
        self.protocol = protocol;
        self
    }

    pub(crate) fn input(mut self, input: ChildInput) -> Self {
        self.input = input;
        self
    }

    /// Accepts these exit codes instead of 0 only.
    pub(crate) fn accept(mut self, codes: &'static [i32]) -> Self {
        self.accepted_codes = codes;
        self
    }

    /// Stops git when the directory is larger than `bytes`.
    pub(crate) fn limit_growth(mut self, directory: &Path, bytes: u64) -> Self {
        self.growth_limit = Some((directory.to_owned(), bytes));
        self
    }

    /// Removes these secrets from messages.
    pub(crate) fn hide(mut self, secrets: &[SecretString]) -> Self {
        self.secrets.extend(secrets.iter().cloned());
        self
    }

    /// Runs git and ignores its output.
    pub(crate) async fn run(self) -> Result<FinishedGit, GitError> {
        self.run_with(&mut |_| Ok(())).await
    }

    /// Runs git and returns its output of at most `limit` bytes.
    pub(crate) async fn read(self, limit: usize) -> Result<Vec<u8>, GitError> {
        let operation = self.operation;
        let mut output = Vec::new();
        self.run_with(&mut |piece| {
            if output.len() + piece.len() > limit {
                let limit = limit as u64;
                return Err(GitError::LimitExceeded { operation, what: "bytes of output", limit });
            }
            output.extend_from_slice(piece);
            Ok(())
        })
        .await?;
        Ok(output)
    }

    /// Runs git and passes its output on.
    pub(crate) async fn run_with(self, sink: &mut OutputSink<'_>) -> Result<FinishedGit, GitError> {
        let limit = self.broker.options.limits.time;
        let operation = self.operation;
        let mut command = self.command();
        let (stdin, bytes) = match self.input {
            ChildInput::Empty => (Stdio::null(), None),
            ChildInput::Bytes(bytes) => (Stdio::piped(), Some(bytes)),
            ChildInput::File(file) => (Stdio::from(file), None),
        };
        let mut child = command
            .stdin(stdin)
            .spawn()
            .map_err(|cause| GitError::Start { program: self.broker.options.git.clone(), cause })?;
        // The command holds descriptors of the lock; they end with it.
        drop(command);
        let group = ProcessGroup::new(&child);
        let outcome = tokio::select! {
            outcome = tokio::time::timeout(limit, exchange(&mut child, bytes, sink)) =>
                outcome.unwrap_or(Err(GitError::TimedOut { operation, limit })),
            error = wait_for_growth(operation, self.growth_limit.as_ref()) => Err(error),
        };
        let (status, stderr) = match outcome {
            Ok(finished) => finished,
            Err(error) => {
                group.kill();
                // Reaps the process; it cannot outlive SIGKILL for long.
                let _ = tokio::time::timeout(Duration::from_secs(5), child.wait()).await;
                return Err(error);
            }
        };
        group.disarm();
        // It may have grown since it was last measured.
        if let Some(error) = measure_growth(operation, self.growth_limit.as_ref()) {
            return Err(error);
        }
        let code = status.code().unwrap_or(-1);
        if self.accepted_codes.contains(&code) {
            return Ok(FinishedGit { code, stderr });
        }
        let mut message = summarize_output(&stderr, &self.secrets);
        if message.is_empty() {
            message = format!("it ended with {status}");
        }
        Err(GitError::Failed { operation, message })
    }

    fn command(&self) -> Command {
        let options = &self.broker.options;
        let home = self.broker.home_dir();
        let mut command = Command::new(&options.git);
        command.inherit_only(&hardening::inherited_variables());
        command.envs(hardening::environment(&home, self.protocol));
        let fixed = hardening::CONFIG.iter().map(|(key, value)| (*key, *value));
        let added = self.config.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let mut count = 0;
        for (key, value) in fixed.chain(added) {
            command.env(format!("GIT_CONFIG_KEY_{count}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.arg("--no-pager");
        if let Some(git_dir) = &self.repository {
            let mut option = OsString::from("--git-dir=");
            option.push(git_dir);
            command.arg(option);
        }
        command.arg(self.operation).args(&self.arguments);
        command.current_dir(self.working_dir.as_deref().unwrap_or(&home));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command
    }
}

/// Feeds standard input, passes standard output on, keeps the end of standard error, and waits.
async fn exchange(
    child: &mut Child,
    input: Option<Vec<u8>>,
    sink: &mut OutputSink<'_>,
) -> Result<(std::process::ExitStatus, Vec<u8>), GitError> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut tail = Vec::new();
    let mut keep_tail = |piece: &[u8]| {
        tail.extend_from_slice(piece);
        let excess = tail.len().saturating_sub(STDERR_BYTES);
        tail.drain(..excess);
        Ok(())
    };
    tokio::try_join!(
        feed(stdin, input),
        drain_output(stdout, sink),
        drain_output(stderr, &mut keep_tail)
    )?;
    let status = child.wait().await.map_err(GitError::io("wait for", Path::new("git")))?;
    Ok((status, tail))
}

async fn feed(stdin: Option<ChildStdin>, input: Option<Vec<u8>>) -> Result<(), GitError> {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        // git may end before it has read everything; its exit code decides.
        let _ = stdin.write_all(&input).await;
    }
    Ok(())
}

async fn drain_output(
    stream: Option<impl AsyncRead + Unpin>,
    sink: &mut OutputSink<'_>,
) -> Result<(), GitError> {
    let Some(mut stream) = stream else {
        return Ok(());
    };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = stream.read(&mut buffer).await;
        let read = read.map_err(GitError::io("read the output of", Path::new("git")))?;
        if read == 0 {
            return Ok(());
        }
        sink(&buffer[..read])?;
    }
}

/// Returns when the directory is larger than its limit; never without a limit.
async fn wait_for_growth(operation: &'static str, limit: Option<&(PathBuf, u64)>) -> GitError {
    if limit.is_none() {
        return std::future::pending().await;
    }
    loop {
        if let Some(error) = measure_growth(operation, limit) {
            return error;
        }
        tokio::time::sleep(MEASURE_EVERY).await;
    }
}

/// The error if the directory is larger than its limit.
fn measure_growth(operation: &'static str, limit: Option<&(PathBuf, u64)>) -> Option<GitError> {
    let (directory, bytes) = limit?;
    let (what, limit) = ("bytes on disk", *bytes);
    let is_exceeded = directory_size(directory) > limit;
    is_exceeded.then_some(GitError::LimitExceeded { operation, what, limit })
}

/// Kills git and its children when the operation fails or is cancelled.
#[derive(Debug)]
struct ProcessGroup {
    leader: Option<Pid>,
}

impl ProcessGroup {
    fn new(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: leader.map(Pid::from_raw) }
    }

    fn kill(&self) {
        if let Some(leader) = self.leader {
            // The group is gone if every process of it has ended.
            let _ = killpg(leader, Signal::SIGKILL);
        }
    }

    /// The leader was reaped: its id may belong to another process.
    fn disarm(mut self) {
        self.leader = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A sink that calls `each` with every record before a `separator`.
pub(crate) fn split_records<'a>(
    separator: u8,
    mut each: impl FnMut(&[u8]) -> Result<(), GitError> + Send + 'a,
) -> impl FnMut(&[u8]) -> Result<(), GitError> + Send + 'a {
    const MAX_RECORD_BYTES: usize = 1024 * 1024;
    let mut pending: Vec<u8> = Vec::new();
    move |piece| {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == separator) {
            pending.extend_from_slice(&rest[..end]);
            each(&pending)?;
            pending.clear();
            rest = &rest[end + 1..];
        }
        pending.extend_from_slice(rest);
        if pending.len() > MAX_RECORD_BYTES {
            return Err(GitError::LimitExceeded {
                operation: "output",
                what: "bytes of one record",
                limit: MAX_RECORD_BYTES as u64,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split_regardless_of_the_pieces() {
        let mut records = Vec::new();
        let mut sink = split_records(0, |record| {
            records.push(record.to_vec());
            Ok(())
        });
        for piece in [&b"one\0tw"[..], b"o", b"\0\0three\0"] {
            sink(piece).unwrap();
        }
        drop(sink);

        assert_eq!(records, [&b"one"[..], b"two", b"", b"three"]);
    }
}
