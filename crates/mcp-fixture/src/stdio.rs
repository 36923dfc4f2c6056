//! Messages as lines, for a server that is a child process.

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
use crate::era;
use crate::exchange::{Era, Exchange};
use crate::fixture::Fixture;
use crate::message::{self, Fault, Message, Request};
use crate::session::Session;

/// How long a request may still run after the input ended.
const GRACE: Duration = Duration::from_millis(500);

/// Serves one client over lines until its input ends.
pub async fn serve_lines(
    fixture: Arc<Fixture>,
    input: impl AsyncBufRead,
    output: impl AsyncWrite,
) -> io::Result<()> {
    let (input, mut output) = (pin!(input), pin!(output));
    let mut lines = input.lines();
    let (out, mut messages) = mpsc::unbounded_channel();
    let mut client = Client { fixture, session: None, out };
    let mut running = FuturesUnordered::new();
    let mut listening = true;
    while listening || !running.is_empty() || !messages.is_empty() {
        tokio::select! {
            line = lines.next_line(), if listening => match line? {
                // Who went away does not wait for an answer, but may have piped a few requests in.
                None => listening = false,
                Some(line) => {
                    if let Some(exchange) = client.hears(&line) {
                        running.push(client.answer(exchange));
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
struct Client {
    fixture: Arc<Fixture>,
    /// Open once a client of the older era said hello.
    session: Option<Arc<Session>>,
    out: UnboundedSender<Value>,
}

impl Client {
    /// Takes a line; a request that needs work comes back as an exchange.
    fn hears(&mut self, line: &str) -> Option<Exchange> {
        let parsed = serde_json::from_str(line).map_err(|_| Fault::parse_error());
        match parsed.and_then(message::parse) {
            Err(fault) => self.says(&Value::Null, Err(fault)),
            Ok(Message::Request(request)) => return self.takes(request),
            Ok(Message::Answer { id, outcome }) => {
                // An answer to nothing is not worth a complaint on a pipe.
                if let Some(session) = &self.session {
                    session.answered(&id, outcome);
                }
            }
            Ok(Message::Notification { method, params }) => {
                let session = self.session.as_ref().filter(|_| method == "notifications/cancelled");
                let id = params.get("requestId");
                if session.zip(id).is_some_and(|(session, id)| session.cancel(id)) {
                    self.fixture.count_cancelled();
                }
            }
        }
        None
    }

    fn takes(&mut self, request: Request) -> Option<Exchange> {
        let says_who_it_is = request.meta("io.modelcontextprotocol/protocolVersion").is_some();
        let era = match &self.session {
            Some(session) if !says_who_it_is => Era::Session(Arc::clone(session)),
            None if request.method == "initialize" && !says_who_it_is => {
                self.opens(&request);
                return None;
            }
            _ => {
                if let Err(fault) = era::check_meta(&request) {
                    self.says(&request.id, Err(fault));
                    return None;
                }
                Era::Stateless
            }
        };
        Some(Exchange { request, era, out: self.out.clone() })
    }

    fn opens(&mut self, request: &Request) {
        let outcome = dispatch::initialize(request).map(|(answer, session)| {
            self.session = Some(Arc::new(session));
            answer
        });
        self.says(&request.id, outcome);
    }

    /// The work of one request: it ends with the answer, or when the client cancels it.
    fn answer(&self, exchange: Exchange) -> impl Future<Output = ()> + use<> {
        let fixture = Arc::clone(&self.fixture);
        let id = exchange.request.id.clone();
        let session = match &exchange.era {
            Era::Session(session) => Some(Arc::clone(session)),
            Era::Stateless => None,
        };
        let (handle, registration) = AbortHandle::new_pair();
        if let Some(session) = &session {
            session.started(&id, handle);
        }
        let work = async move {
            let outcome = dispatch::answer(&fixture, &exchange).await;
            let _ = exchange.out.send(message::reply(&exchange.request.id, outcome));
        };
        async move {
            let _ = Abortable::new(work, registration).await;
            if let Some(session) = session {
                session.finished(&id);
            }
        }
    }

    fn says(&self, id: &Value, outcome: Result<Value, Fault>) {
        let _ = self.out.send(message::reply(id, outcome));
    }
}
