//! An MCP server on standard streams that forwards to the MCP server of the job.
//!
//! Every agent that speaks the Agent Client Protocol can start an MCP server that is a process; few can use one over
//! HTTP. Start at [`run_bridge`]. The client side is that of the gateway ([`cynode_upstream`]): sessions and their loss,
//! event streams, requests of the server and both kinds of revisions are handled there.
//!
//! Invariants: lines, requests in flight and queued lines are bounded; the bridge ends when its input ends.

mod bridged_client;
mod standard_input;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_runtime::bounded_lines::{BoundedLine, BoundedLines};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_upstream::interface::{SessionKey, Upstream, UpstreamError, Upstreams as _};
use cynode_upstream::protocol::negotiate_version;
use cynode_upstream::rpc::{self, ClientMessage, RawFields, RpcError};
use cynode_upstream::{
    InstalledServer, ListedTool, NetworkReach, NoProcesses, ServerDirectory, UpstreamOptions,
    UpstreamPool,
};
use cynode_wire::servers::Transport;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use bridged_client::BridgedClient;
pub use standard_input::open_standard_input;

/// The most bytes of a line of the agent.
const MAX_LINE_BYTES: usize = 8 << 20;
/// The most requests in flight.
const MAX_IN_FLIGHT: usize = 64;
/// The most lines that wait to be written.
const MAX_QUEUED_LINES: usize = 64;
/// A tool may be silent as long as this.
const QUIET_TIMEOUT: Duration = Duration::from_mins(10);
/// How long requests in flight may take after the end of the input.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);
/// The only session of the pool.
const SESSION: &str = "bridge";
/// The request was rejected because others are in flight.
const BUSY: i32 = -32000;

/// Why the bridge ended before its input.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error("the client sent a line of more than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
}

/// Forwards messages between `input` and `output`, one in each line, and the MCP server at `url`, until `input` ends.
pub async fn run_bridge<R, W>(url: &str, input: R, output: W) -> Result<(), BridgeError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let tasks = BackgroundTasks::new();
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_LINES);
    let writing = BackgroundTasks::new();
    writing.spawn("bridge-output", write_lines(receiver, output));
    let bridge = Arc::new(McpBridge::new(url, sender, tasks.clone()));
    let mut lines = BoundedLines::new(input, MAX_LINE_BYTES);
    let ended = loop {
        match lines.next_line().await {
            BoundedLine::Text(line) => bridge.handle_line(&line).await,
            BoundedLine::TooLong => break Err(BridgeError::LineTooLong),
            BoundedLine::End => break Ok(()),
        }
    };
    bridge.finish_requests().await;
    bridge.pool.close(&session_key()).await;
    tasks.finish(FINISH_TIMEOUT).await;
    // Without a sender the writer ends.
    drop(bridge);
    writing.finish(FINISH_TIMEOUT).await;
    ended
}

struct McpBridge {
    pool: UpstreamPool,
    server: ServerId,
    output: mpsc::Sender<String>,
    tasks: BackgroundTasks,
    session: Mutex<Option<BridgedSession>>,
    /// Requests of the client, by their ids.
    in_flight: Mutex<HashMap<String, CancellationToken>>,
}

/// A session of the client with the server.
#[derive(Clone)]
struct BridgedSession {
    upstream: Arc<dyn Upstream>,
    client: Arc<BridgedClient>,
}

impl McpBridge {
    fn new(url: &str, output: mpsc::Sender<String>, tasks: BackgroundTasks) -> Self {
        let server = ServerId::generate();
        let transport = Transport::Http { url: url.to_owned(), headers: BTreeMap::new() };
        let directory = Arc::new(OneServer(InstalledServer {
            id: server,
            slug: SESSION.to_owned(),
            transport,
            reach: NetworkReach::Anywhere,
        }));
        let options = UpstreamOptions {
            quiet_timeout: QUIET_TIMEOUT,
            calls_per_server: u32::try_from(MAX_IN_FLIGHT).unwrap_or(u32::MAX),
            ..UpstreamOptions::default()
        };
        let pool = UpstreamPool::new(directory, Arc::new(NoProcesses), options, tasks.clone());
        let (session, in_flight) = (Mutex::default(), Mutex::default());
        Self { pool, server, output, tasks, session, in_flight }
    }

    async fn handle_line(self: &Arc<Self>, line: &str) {
        match ClientMessage::read(line.as_bytes()) {
            Ok(ClientMessage::Request { id, method, params }) => {
                self.start_request(line, id, &method, params).await;
            }
            Ok(ClientMessage::Notification { method }) => {
                self.handle_notification(line, &method).await;
            }
            Ok(ClientMessage::Response { id }) => {
                if let Some(session) = self.session() {
                    session.client.resolve(id, line);
                }
            }
            Err((id, error)) => self.write(rpc::error(id, &error)).await,
        }
    }

    async fn start_request(
        self: &Arc<Self>,
        line: &str,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) {
        if method == "initialize" {
            let answer = match self.open_session(params).await {
                Ok(result) => rpc::render_result(id, &result),
                Err(error) => rpc::error(Some(id), &describe_error(&error)),
            };
            return self.write(answer).await;
        }
        let Some(session) = self.session() else {
            let error = RpcError::new(rpc::METHOD_NOT_FOUND, "send initialize first");
            return self.write(rpc::error(Some(id), &error)).await;
        };
        let cancel = CancellationToken::new();
        if !self.register(id, &cancel) {
            let error = RpcError::new(BUSY, "too many requests in flight, or one with this id");
            return self.write(rpc::error(Some(id), &error)).await;
        }
        let (bridge, id, message) = (Arc::clone(self), id.to_owned(), rpc::raw(line.to_owned()));
        self.tasks.spawn("bridge-request", async move {
            let client = session.client;
            let answer = session.upstream.request(message, client, cancel).await;
            bridge.in_flight().remove(id.get());
            match answer {
                Ok(answer) => bridge.write(answer.get().to_owned()).await,
                // Nothing waits for the answer to a request that was cancelled.
                Err(UpstreamError::Canceled) => {}
                Err(error) => bridge.write(rpc::error(Some(&id), &describe_error(&error))).await,
            }
        });
    }

    /// Opens a session with the server in the client's name; returns the result of `initialize`.
    async fn open_session(&self, params: Option<&RawValue>) -> Result<String, UpstreamError> {
        let params = params.and_then(|params| RawFields::read(params).ok()).unwrap_or_default();
        let version = negotiate_version(&params.text("protocolVersion").unwrap_or_default());
        let client = Arc::new(BridgedClient::new(version, &params, self.output.clone()));
        let as_client = Arc::clone(&client);
        let upstream = self.pool.open(self.server, &session_key(), as_client).await?;
        let about = upstream.about();
        let mut result = serde_json::json!({
            "protocolVersion": version, "capabilities": about.capabilities, "serverInfo": about.info,
        });
        if let Some(instructions) = &about.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        *lock(&self.session) = Some(BridgedSession { upstream, client });
        Ok(result.to_string())
    }

    async fn handle_notification(&self, line: &str, method: &str) {
        let Some(session) = self.session() else { return };
        match method {
            // The session with the server is initialized already.
            "notifications/initialized" => {}
            "notifications/cancelled" => self.cancel_request(line),
            _ => {
                if let Err(error) = session.upstream.notify(rpc::raw(line.to_owned())).await {
                    tracing::debug!(%error, "notification lost");
                }
            }
        }
    }

    fn cancel_request(&self, line: &str) {
        let read = || -> Option<String> {
            let message: &RawValue = serde_json::from_str(line).ok()?;
            let params = RawFields::read(message).ok()?.get("params")?;
            Some(RawFields::read(params).ok()?.get("requestId")?.get().to_owned())
        };
        if let Some(cancel) = read().and_then(|id| self.in_flight().remove(&id)) {
            cancel.cancel();
        }
    }

    /// Returns whether there is room for a request, and no other has its id.
    fn register(&self, id: &RawValue, cancel: &CancellationToken) -> bool {
        let mut in_flight = self.in_flight();
        if in_flight.len() >= MAX_IN_FLIGHT || in_flight.contains_key(id.get()) {
            return false;
        }
        in_flight.insert(id.get().to_owned(), cancel.clone());
        true
    }

    /// Waits for requests in flight, and cancels those that take too long.
    async fn finish_requests(&self) {
        let deadline = tokio::time::Instant::now() + FINISH_TIMEOUT;
        while !self.in_flight().is_empty() && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for (_, cancel) in self.in_flight().drain() {
            cancel.cancel();
        }
    }

    fn session(&self) -> Option<BridgedSession> {
        lock(&self.session).clone()
    }

    fn in_flight(&self) -> std::sync::MutexGuard<'_, HashMap<String, CancellationToken>> {
        lock(&self.in_flight)
    }

    async fn write(&self, line: String) {
        // Fails once the reader is gone; then the input ends too.
        let _ = self.output.send(line).await;
    }
}

fn session_key() -> SessionKey {
    SessionKey { id: SESSION.to_owned(), is_stateless: false }
}

fn describe_error(error: &UpstreamError) -> RpcError {
    RpcError::new(rpc::INTERNAL_ERROR, error.to_string())
}

async fn write_lines<W: AsyncWrite + Unpin>(mut lines: mpsc::Receiver<String>, mut output: W) {
    while let Some(mut line) = lines.recv().await {
        // Messages of servers may have line feeds between their tokens.
        if line.contains(['\n', '\r']) {
            line = line.replace(['\n', '\r'], " ");
        }
        line.push('\n');
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server of the job.
struct OneServer(InstalledServer);

#[async_trait]
impl ServerDirectory for OneServer {
    async fn servers(&self) -> Result<Vec<InstalledServer>, String> {
        Ok(vec![self.0.clone()])
    }

    async fn server(&self, id: ServerId) -> Result<Option<InstalledServer>, String> {
        Ok((id == self.0.id).then(|| self.0.clone()))
    }

    async fn record_tools(&self, _: ServerId, _: Vec<ListedTool>) {}

    async fn record_health(&self, _: ServerId, _: Option<String>) {}
}
