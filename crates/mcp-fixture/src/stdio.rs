//! The stdio transport: one JSON message per line.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc::{self, UnboundedSender};

use crate::dispatch;
use crate::exchange::{FixtureEra, FixtureExchange};
use crate::fixture::McpFixture;
use crate::message::{self, FixtureMessage, FixtureRequest, FixtureRpcError};
use crate::protocol_era;
use crate::session::FixtureSession;

/// How long requests may run after the end of the input.
const GRACE: Duration = Duration::from_millis(500);

/// Serves one client until its input ends.
pub async fn serve_lines(
    fixture: Arc<McpFixture>,
    input: impl AsyncBufRead,
    output: impl AsyncWrite,
) -> io::Result<()> {
    let (input, mut output) = (pin!(input), pin!(output));
    let mut lines = input.lines();
    let (out, mut messages) = mpsc::unbounded_channel();
    let mut client = FixtureStdioClient { fixture, session: None, out };
    let mut running = FuturesUnordered::new();
    let mut listening = true;
    while listening || !running.is_empty() || !messages.is_empty() {
        tokio::select! {
            line = lines.next_line(), if listening => match line? {
                // The client may have piped in requests before it closed the input.
                None => listening = false,
                Some(line) => {
                    if let Some(exchange) = client.handle_line(&line) {
                        running.push(client.process_request(exchange));
                    }
                }
            },
            Some(message) = messages.recv() => {
                output.write_all(format!("{message}\n").as_bytes()).await?;
                output.flush().await?;
            }
            Some(()) = running.next() => {}
            () = tokio::time::sleep(GRACE), if !listening => return Ok(()),
        }
    }
    Ok(())
}

/// The one client of the process.
struct FixtureStdioClient {
    fixture: Arc<McpFixture>,
    /// Set after `initialize` of the older era.
    session: Option<Arc<FixtureSession>>,
    out: UnboundedSender<Value>,
}

impl FixtureStdioClient {
    /// Handles a line; returns an exchange for a request that needs processing.
    fn handle_line(&mut self, line: &str) -> Option<FixtureExchange> {
        let parsed = serde_json::from_str(line).map_err(|_| FixtureRpcError::parse_error());
        match parsed.and_then(message::parse_message) {
            Err(fault) => self.send_response(&Value::Null, Err(fault)),
            Ok(FixtureMessage::Request(request)) => return self.handle_request(request),
            Ok(FixtureMessage::Response { id, outcome }) => {
                // A response without a pending request is ignored.
                if let Some(session) = &self.session {
                    session.deliver_response(&id, outcome);
                }
            }
            Ok(FixtureMessage::Notification { method, params }) => {
                let session = self.session.as_ref().filter(|_| method == "notifications/cancelled");
                let id = params.get("requestId");
                if session.zip(id).is_some_and(|(session, id)| session.cancel_running(id)) {
                    self.fixture.count_cancelled();
                }
            }
        }
        None
    }

    fn handle_request(&mut self, request: FixtureRequest) -> Option<FixtureExchange> {
        let says_who_it_is = request.meta("io.modelcontextprotocol/protocolVersion").is_some();
        let era = match &self.session {
            Some(session) if !says_who_it_is => FixtureEra::Session(Arc::clone(session)),
            None if request.method == "initialize" && !says_who_it_is => {
                self.handle_initialize(&request);
                return None;
            }
            _ => {
                if let Err(fault) = protocol_era::check_meta(&request) {
                    self.send_response(&request.id, Err(fault));
                    return None;
                }
                FixtureEra::Stateless
            }
        };
        Some(FixtureExchange { request, era, out: self.out.clone() })
    }

    fn handle_initialize(&mut self, request: &FixtureRequest) {
        let outcome = dispatch::initialize(request).map(|(answer, session)| {
            self.session = Some(Arc::new(session));
            answer
        });
        self.send_response(&request.id, outcome);
    }

    /// Processes one request until it is answered or cancelled.
    fn process_request(&self, exchange: FixtureExchange) -> impl Future<Output = ()> + use<> {
        let fixture = Arc::clone(&self.fixture);
        let id = exchange.request.id.clone();
        let session = match &exchange.era {
            FixtureEra::Session(session) => Some(Arc::clone(session)),
            FixtureEra::Stateless => None,
        };
        let (handle, registration) = AbortHandle::new_pair();
        if let Some(session) = &session {
            session.register_running(&id, handle);
        }
        let work = async move {
            let outcome = dispatch::handle_request(&fixture, &exchange).await;
            let _ = exchange.out.send(message::response_message(&exchange.request.id, outcome));
        };
        async move {
            let _ = Abortable::new(work, registration).await;
            if let Some(session) = session {
                session.remove_running(&id);
            }
        }
    }

    fn send_response(&self, id: &Value, outcome: Result<Value, FixtureRpcError>) {
        let _ = self.out.send(message::response_message(id, outcome));
    }
}
