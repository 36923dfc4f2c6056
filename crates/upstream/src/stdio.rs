//! Servers that are processes: one JSON message per line on their standard streams.
//!
//! Starting and confining processes is behind [`ProcessSpawner`].

mod backoff;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_domain::policy::allowed_hosts::AllowedHosts;
use cynode_domain::text::{last_bytes, truncate_chars};
use cynode_network::NetworkReach;
use cynode_runtime::bounded_lines::{BoundedLine, BoundedLines};
use cynode_runtime::redact::redact;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, OwnedSemaphorePermit};

pub(super) use backoff::ProcessBackoff;

use super::UpstreamOptions;
use super::handshake::RevisionKind;
use super::link::{UpstreamLink, UpstreamLinkError};
use super::message::{OutgoingRequest, ServerMessage};
use super::message_router::{MessageRouter, MessageSource};
use crate::interface::UpstreamError;

/// How long a process may take to read one message.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a process may take to exit once its input is closed.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// How long to wait for the remaining output of a process that ended.
const EXIT_OUTPUT_TIMEOUT: Duration = Duration::from_millis(200);
/// Bytes of stderr that are kept.
const STDERR_TAIL_BYTES: usize = 4096;

/// The command line of a server.
#[derive(Clone)]
pub struct ServerCommand {
    pub server: ServerId,
    pub slug: String,
    pub command: String,
    pub args: Vec<String>,
    /// The complete environment; values may be secret.
    pub env: BTreeMap<String, String>,
    /// Hosts that it may connect to; without any it has no network.
    pub hosts: AllowedHosts,
    /// Networks that these hosts may be in.
    pub reach: NetworkReach,
}

/// The hosts that a server may connect to. An invalid list, which cannot be installed, allows none.
pub(super) fn parse_hosts(allow_network: bool, mut allowed: Vec<String>) -> AllowedHosts {
    if allow_network {
        allowed.extend(AllowedHosts::ANY.map(str::to_owned));
    }
    AllowedHosts::parse(&allowed).unwrap_or_default()
}

/// A started process. Dropping it must kill it.
pub struct ServerProcess {
    pub stdin: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    pub stdout: Box<dyn AsyncRead + Send + Sync + Unpin>,
    pub stderr: Box<dyn AsyncRead + Send + Sync + Unpin>,
    pub handle: Box<dyn ProcessHandle>,
}

/// Kills a process, or waits for its exit.
#[async_trait]
pub trait ProcessHandle: Send + Sync {
    /// Waits until the process and its children are gone, and returns how it ended. Cancel safe.
    async fn wait_ended(&mut self) -> String;

    /// Kills the process and its children immediately.
    fn kill(&mut self);
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// This machine cannot sandbox processes, or is configured not to run any.
    #[error("stdio servers cannot run here: {0}")]
    Unsupported(String),
    #[error("the process did not start: {0}")]
    NotStarted(String),
}

/// Starts processes in a sandbox: own environment, declared variables only, no network but a proxy to allowed hosts,
/// bounded memory and process count.
#[async_trait]
pub trait ProcessSpawner: Send + Sync {
    async fn spawn(&self, launch: &ServerCommand) -> Result<ServerProcess, SpawnError>;
}

/// Never starts a process.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProcesses;

#[async_trait]
impl ProcessSpawner for NoProcesses {
    async fn spawn(&self, _: &ServerCommand) -> Result<ServerProcess, SpawnError> {
        Err(SpawnError::Unsupported("no sandbox is configured".to_owned()))
    }
}

type ProcessInput = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// The link to one process.
pub(super) struct StdioLink {
    input: Mutex<Option<ProcessInput>>,
    is_alive: AtomicBool,
    options: Arc<UpstreamOptions>,
}

/// The output streams of a process that are not read yet.
pub(super) struct ProcessOutput {
    stdout: Box<dyn AsyncRead + Send + Sync + Unpin>,
    stderr: Box<dyn AsyncRead + Send + Sync + Unpin>,
    handle: Box<dyn ProcessHandle>,
}

impl StdioLink {
    pub(super) fn new(
        process: ServerProcess,
        options: &Arc<UpstreamOptions>,
    ) -> (Arc<Self>, ProcessOutput) {
        let ServerProcess { stdin, stdout, stderr, handle } = process;
        let link = Self {
            input: Mutex::new(Some(stdin)),
            is_alive: AtomicBool::new(true),
            options: Arc::clone(options),
        };
        (Arc::new(link), ProcessOutput { stdout, stderr, handle })
    }

    /// Reads the output of the process until it ends, then releases `place`.
    pub(super) fn watch(
        self: &Arc<Self>,
        unheard: ProcessOutput,
        router: &Arc<MessageRouter>,
        backoff: Arc<ProcessBackoff>,
        permit: OwnedSemaphorePermit,
    ) {
        let (link, router) = (Arc::clone(self), Arc::clone(router));
        let tasks = router.tasks.clone();
        tasks.spawn("upstream-process", async move {
            let words = link.run_until_exit(unheard, &router).await;
            let is_wanted = words.is_none();
            let words = words.unwrap_or_else(|| "it was stopped".to_owned());
            router.fail_all(&UpstreamLinkError::unavailable(&words));
            router.closed.cancel();
            if !is_wanted {
                backoff.record_exit(words);
            }
            drop(permit);
        });
    }

    /// Returns when the process and its children are gone; the reason is `None` if it was stopped
    /// on purpose.
    async fn run_until_exit(
        &self,
        unheard: ProcessOutput,
        router: &Arc<MessageRouter>,
    ) -> Option<String> {
        let ProcessOutput { stdout, stderr, mut handle } = unheard;
        let mut complaints = String::new();
        let reason = {
            let (heard, complained) =
                (self.read_messages(stdout, router), collect_stderr(stderr, &mut complaints));
            tokio::pin!(heard, complained);
            let mut is_silent = false;
            let reason = loop {
                tokio::select! {
                    () = router.closed.cancelled() => break None,
                    reason = &mut heard => break Some(match reason {
                        Some(reason) => reason,
                        // Its output ended, so it is about to exit: the exit status says more.
                        None => match tokio::time::timeout(EXIT_OUTPUT_TIMEOUT, handle.wait_ended()).await {
                            Ok(reason) => reason,
                            Err(_) => "it closed its stdout".to_owned(),
                        },
                    }),
                    () = &mut complained, if !is_silent => is_silent = true,
                    reason = handle.wait_ended() => break Some(reason),
                }
            };
            self.is_alive.store(false, Ordering::Release);
            self.stop_process(handle).await;
            if !is_silent {
                let _ = tokio::time::timeout(EXIT_OUTPUT_TIMEOUT, &mut complained).await;
            }
            reason
        };
        reason.map(|reason| describe_exit(reason, &complaints))
    }

    /// Reads messages until the output ends; returns the protocol violation, if there was one.
    async fn read_messages(
        &self,
        stdout: impl AsyncRead + Unpin,
        router: &Arc<MessageRouter>,
    ) -> Option<String> {
        let limit = self.options.max_response_bytes;
        // Reads beyond the limit, so that the caller of an oversized response gets an error.
        let mut lines = BoundedLines::new(stdout, limit.saturating_mul(8));
        loop {
            match lines.next_line().await {
                BoundedLine::Text(text) => self.handle_line(text, limit, router).await,
                BoundedLine::TooLong => {
                    return Some(format!("it wrote a line of more than {} bytes", limit * 8));
                }
                BoundedLine::End => return None,
            }
        }
    }

    async fn handle_line(&self, text: String, limit: usize, router: &Arc<MessageRouter>) {
        let size = text.len();
        let Ok(message) = RawValue::from_string(text) else {
            // Many programs print a banner before the first message.
            return tracing::debug!("ignored a line on stdout that is not a message");
        };
        if size <= limit {
            router.route_message(message, MessageSource::StandingStream).await;
        } else if let Ok(ServerMessage::Response { id: Some(id), .. }) =
            ServerMessage::read(&message)
        {
            let reason = format!("its response is larger than {limit} bytes");
            router.deliver_response(id, Err(UpstreamLinkError::protocol(reason)));
        }
    }

    /// Closes stdin, which asks a server to exit, and kills it if it does not.
    async fn stop_process(&self, mut handle: Box<dyn ProcessHandle>) {
        self.close_input().await;
        if tokio::time::timeout(STOP_GRACE, handle.wait_ended()).await.is_err() {
            handle.kill();
            let _ = tokio::time::timeout(STOP_GRACE, handle.wait_ended()).await;
        }
    }

    async fn close_input(&self) {
        // A blocked writer holds the lock; killing the process frees it.
        if let Ok(mut input) = tokio::time::timeout(STOP_GRACE, self.input.lock()).await {
            *input = None;
        }
    }
}

#[async_trait]
impl UpstreamLink for StdioLink {
    async fn exchange(
        &self,
        request: &OutgoingRequest,
        router: &Arc<MessageRouter>,
    ) -> Result<Box<RawValue>, UpstreamLinkError> {
        let gone = || UpstreamLinkError::unavailable("its process exited");
        let mut reply = router.await_response(request.id).ok_or_else(gone)?;
        self.send(&request.text).await?;
        let is_endless = request.method == "subscriptions/listen";
        loop {
            match tokio::time::timeout(self.options.quiet_timeout, &mut reply).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(_)) => return Err(gone()),
                Err(_) => {
                    let call = router.call(request.id);
                    let stirred =
                        call.is_some_and(|call| call.has_activity.swap(false, Ordering::Relaxed));
                    if !(is_endless || stirred || router.has_pending_server_requests()) {
                        return Err(UpstreamLinkError::Failed(UpstreamError::Timeout));
                    }
                }
            }
        }
    }

    async fn send(&self, message: &str) -> Result<(), UpstreamLinkError> {
        let gone = || UpstreamLinkError::unavailable("its process exited");
        let mut line = message.as_bytes().to_vec();
        // A line feed between two tokens would end the message; inside strings there is none.
        line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        line.push(b'\n');
        let mut input = self.input.lock().await;
        let pipe = input.as_mut().ok_or_else(gone)?;
        let write = async {
            pipe.write_all(&line).await?;
            pipe.flush().await
        };
        match tokio::time::timeout(WRITE_TIMEOUT, write).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(gone()),
            Err(_) => {
                // A partial message was written: the stream cannot be used any longer.
                *input = None;
                Err(UpstreamLinkError::Failed(UpstreamError::Timeout))
            }
        }
    }

    fn apply_revision(&self, _: &RevisionKind) {}

    /// The output of a process is read from the start.
    async fn listen(&self, _: &Arc<MessageRouter>) {}

    fn needs_cancel_notification(&self) -> bool {
        true
    }

    /// A process that is slow to start reads both handshake requests at once, and may reject the
    /// second.
    fn abandon_handshake(&self) -> bool {
        self.is_alive.store(false, Ordering::Release);
        true
    }

    fn is_open(&self) -> bool {
        self.is_alive.load(Ordering::Acquire)
    }

    async fn close(&self) {
        self.close_input().await;
    }
}

/// Keeps the tail of stderr.
async fn collect_stderr(mut stderr: impl AsyncRead + Unpin, kept: &mut String) {
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let text = String::from_utf8_lossy(&chunk[..count]);
        tracing::debug!(text = %redact(&text), "server stderr");
        kept.push_str(&text);
        let excess = kept.len() - last_bytes(kept, STDERR_TAIL_BYTES).len();
        kept.drain(..excess);
    }
}

/// The exit reason, with the last line of stderr.
fn describe_exit(reason: String, complaints: &str) -> String {
    match complaints.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(line) => {
            format!("{reason}; last line of stderr: {}", truncate_chars(&redact(line), 300))
        }
        None => reason,
    }
}
