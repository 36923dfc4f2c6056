//! Servers that are processes: one JSON message per line on their standard streams.
//!
//! How a process is started and confined is not known here: see [`SpawnSandboxed`].

mod backoff;
mod lines;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_runtime::redact::redact;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, OwnedSemaphorePermit};

pub(super) use backoff::Backoff;
use lines::{Line, Lines};

use super::UpstreamOptions;
use super::era::Era;
use super::hub::{Heard, Hub};
use super::link::{Link, LinkError};
use super::message::{Incoming, Outgoing};
use crate::seams::UpstreamError;

/// How long a process may take to read one message.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a process may take to end once its input is closed.
const GRACE: Duration = Duration::from_secs(2);
/// How long is waited for what a process wrote about its end.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How much of what a process complains about is kept.
const COMPLAINTS: usize = 4096;

/// What to start.
#[derive(Clone)]
pub struct Launch {
    /// For which server.
    pub server: ServerId,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The only variables it sees; their values may be secret.
    pub env: BTreeMap<String, String>,
    /// Whether it may use the network.
    pub allow_network: bool,
}

/// A started process. Dropping it must end it.
pub struct Process {
    /// Where it reads from.
    pub stdin: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    /// Where it writes to.
    pub stdout: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// Where it complains.
    pub stderr: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// The way to end it.
    pub handle: Box<dyn ProcessHandle>,
}

/// Ends a process, and knows when it ended.
#[async_trait]
pub trait ProcessHandle: Send + Sync {
    /// Waits until nothing of it lives, and says how it ended. May be dropped and called again.
    async fn ended(&mut self) -> String;

    /// Ends it and everything it started, at once.
    fn kill(&mut self);
}

/// Why a process was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// This machine cannot confine processes, or is told not to run any.
    #[error("servers that are processes cannot run here: {0}")]
    NotHere(String),
    /// The process did not start.
    #[error("the process does not start: {0}")]
    NotStarted(String),
}

/// Starts processes in a sandbox: an environment of their own, the declared variables only, no
/// network unless granted, bounded memory and processes.
#[async_trait]
pub trait SpawnSandboxed: Send + Sync {
    /// Starts a process.
    async fn spawn(&self, launch: &Launch) -> Result<Process, SpawnError>;
}

/// No process is ever started.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProcesses;

#[async_trait]
impl SpawnSandboxed for NoProcesses {
    async fn spawn(&self, _: &Launch) -> Result<Process, SpawnError> {
        Err(SpawnError::NotHere("no sandbox is set up".to_owned()))
    }
}

type Input = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// One conversation with a process.
pub(super) struct StdioLink {
    input: Mutex<Option<Input>>,
    is_alive: AtomicBool,
    options: Arc<UpstreamOptions>,
}

/// A process whose streams are not read yet.
pub(super) struct Unheard {
    stdout: Box<dyn AsyncRead + Send + Sync + Unpin>,
    stderr: Box<dyn AsyncRead + Send + Sync + Unpin>,
    handle: Box<dyn ProcessHandle>,
}

impl StdioLink {
    pub(super) fn new(process: Process, options: &Arc<UpstreamOptions>) -> (Arc<Self>, Unheard) {
        let Process { stdin, stdout, stderr, handle } = process;
        let link = Self {
            input: Mutex::new(Some(stdin)),
            is_alive: AtomicBool::new(true),
            options: Arc::clone(options),
        };
        (Arc::new(link), Unheard { stdout, stderr, handle })
    }

    /// Hears and watches the process until it ends. `place` is given back then.
    pub(super) fn watch(
        self: &Arc<Self>,
        unheard: Unheard,
        hub: &Arc<Hub>,
        backoff: Arc<Backoff>,
        place: OwnedSemaphorePermit,
    ) {
        let (link, hub) = (Arc::clone(self), Arc::clone(hub));
        let tasks = hub.tasks.clone();
        tasks.spawn("upstream-process", async move {
            let words = link.follow(unheard, &hub).await;
            let is_wanted = words.is_none();
            let words = words.unwrap_or_else(|| "it was ended".to_owned());
            hub.fail_all(&LinkError::unavailable(&words));
            hub.closed.cancel();
            if !is_wanted {
                backoff.ended(words);
            }
            drop(place);
        });
    }

    /// Stays until nothing of the process lives; says why, if it was not ended on purpose.
    async fn follow(&self, unheard: Unheard, hub: &Arc<Hub>) -> Option<String> {
        let Unheard { stdout, stderr, mut handle } = unheard;
        let mut complaints = String::new();
        let reason = {
            let (heard, complained) = (self.hear(stdout, hub), complain(stderr, &mut complaints));
            tokio::pin!(heard, complained);
            let mut is_silent = false;
            let reason = loop {
                tokio::select! {
                    () = hub.closed.cancelled() => break None,
                    reason = &mut heard => break Some(match reason {
                        Some(reason) => reason,
                        // Its output ended, and so it will: how says more.
                        None => match tokio::time::timeout(LAST_WORDS, handle.ended()).await {
                            Ok(reason) => reason,
                            Err(_) => "it closed its output".to_owned(),
                        },
                    }),
                    () = &mut complained, if !is_silent => is_silent = true,
                    reason = handle.ended() => break Some(reason),
                }
            };
            self.is_alive.store(false, Ordering::Release);
            self.end(handle).await;
            if !is_silent {
                let _ = tokio::time::timeout(LAST_WORDS, &mut complained).await;
            }
            reason
        };
        reason.map(|reason| last_words(reason, &complaints))
    }

    /// Hears the process until its output ends; says what was wrong with that, if something was.
    async fn hear(&self, stdout: impl AsyncRead + Unpin, hub: &Arc<Hub>) -> Option<String> {
        let limit = self.options.max_response_bytes;
        // A little more is read, so that the one who asked for too much can be told.
        let mut lines = Lines::new(stdout, limit.saturating_mul(8));
        loop {
            match lines.next().await {
                Line::Text(text) => self.take(text, limit, hub).await,
                Line::TooLong => {
                    return Some(format!("it wrote a line of more than {} bytes", limit * 8));
                }
                Line::End => return None,
            }
        }
    }

    async fn take(&self, text: String, limit: usize, hub: &Arc<Hub>) {
        let size = text.len();
        let Ok(message) = RawValue::from_string(text) else {
            // Many programs print a greeting before they begin.
            return tracing::debug!("a server wrote a line that is no message");
        };
        if size <= limit {
            hub.hear(message, Heard::Standing).await;
        } else if let Ok(Incoming::Response { id: Some(id), .. }) = Incoming::read(&message) {
            let reason = format!("its answer is larger than {limit} bytes");
            hub.settle(id, Err(LinkError::protocol(reason)));
        }
    }

    /// Closes the input, which asks a server to end, and ends it if it does not.
    async fn end(&self, mut handle: Box<dyn ProcessHandle>) {
        self.close_input().await;
        if tokio::time::timeout(GRACE, handle.ended()).await.is_err() {
            handle.kill();
            let _ = tokio::time::timeout(GRACE, handle.ended()).await;
        }
    }

    async fn close_input(&self) {
        // A writer that is stuck holds the lock; killing the process frees it.
        if let Ok(mut input) = tokio::time::timeout(GRACE, self.input.lock()).await {
            *input = None;
        }
    }
}

#[async_trait]
impl Link for StdioLink {
    async fn exchange(
        &self,
        request: &Outgoing,
        hub: &Arc<Hub>,
    ) -> Result<Box<RawValue>, LinkError> {
        let gone = || LinkError::unavailable("its process ended");
        let mut reply = hub.expect(request.id).ok_or_else(gone)?;
        self.send(&request.text).await?;
        let is_endless = request.method == "subscriptions/listen";
        loop {
            match tokio::time::timeout(self.options.quiet_timeout, &mut reply).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(_)) => return Err(gone()),
                Err(_) => {
                    let call = hub.call(request.id);
                    let stirred =
                        call.is_some_and(|call| call.stirred.swap(false, Ordering::Relaxed));
                    if !(is_endless || stirred || hub.has_questions()) {
                        return Err(LinkError::Failed(UpstreamError::Timeout));
                    }
                }
            }
        }
    }

    async fn send(&self, message: &str) -> Result<(), LinkError> {
        let gone = || LinkError::unavailable("its process ended");
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
                // Half a message was written: what follows would not be understood.
                *input = None;
                Err(LinkError::Failed(UpstreamError::Timeout))
            }
        }
    }

    fn agree(&self, _: &Era) {}

    /// The one stream of a process is heard from the beginning.
    async fn listen(&self, _: &Arc<Hub>) {}

    fn tells_cancellation(&self) -> bool {
        true
    }

    /// A process that is slow to start reads both greetings at once, and may refuse the second.
    fn abandon(&self) -> bool {
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

/// Keeps the end of what a process writes about itself.
async fn complain(mut stderr: impl AsyncRead + Unpin, kept: &mut String) {
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let text = String::from_utf8_lossy(&chunk[..count]);
        tracing::debug!(text = %redact(&text), "a server wrote to its log");
        kept.push_str(&text);
        let excess = kept.len().saturating_sub(COMPLAINTS);
        let cut = (excess..=kept.len()).find(|at| kept.is_char_boundary(*at)).unwrap_or(0);
        kept.drain(..cut);
    }
}

/// How a process ended, with the last line it wrote about that.
fn last_words(reason: String, complaints: &str) -> String {
    match complaints.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(line) => {
            let line: String = redact(line).chars().take(300).collect();
            format!("{reason}; its last words: {line}")
        }
        None => reason,
    }
}
