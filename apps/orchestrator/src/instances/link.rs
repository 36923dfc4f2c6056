//! One request to one process, on a connection of its own.

use std::time::Duration;

use bytes::Bytes;
use cynode_ops::handoff::HandoffError;
use cynode_runtime::tasks::Tasks;
use cynode_wire::handoff::{DEADLINE_HEADER, HandoffKind, PATH};
use cynode_wire::problem::Problem;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::oneshot;

use super::Address;

/// The longest answer that is not a stream.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// When to ask again a process that does not say.
const RETRY: Duration = Duration::from_secs(1);

/// What is sent.
pub(super) struct Sending<'a> {
    pub(super) kind: HandoffKind,
    pub(super) body: String,
    pub(super) within: Duration,
    pub(super) secret: &'a SecretString,
}

/// A connection that carries one request. It closes when this is dropped, which ends the work.
pub(super) struct Link {
    sender: SendRequest<Full<Bytes>>,
    open: oneshot::Sender<()>,
}

/// Opens a connection, or says in words why there is none.
pub(super) async fn connect(address: &Address, tasks: &Tasks) -> Result<Link, String> {
    let connecting = async {
        match address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                let stream = stream.map_err(|error| format!("{}: {error}", path.display()))?;
                Box::pin(drive(TokioIo::new(stream), tasks)).await
            }
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).await;
                let stream = stream.map_err(|error| format!("{address}: {error}"))?;
                Box::pin(drive(TokioIo::new(stream), tasks)).await
            }
        }
    };
    let late = || "it does not open the connection".to_owned();
    tokio::time::timeout(CONNECT_WITHIN, connecting).await.unwrap_or_else(|_| Err(late()))
}

async fn drive<T>(stream: T, tasks: &Tasks) -> Result<Link, String>
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(stream).await.map_err(|error| error.to_string())?;
    let (open, closed) = oneshot::channel();
    tasks.spawn("handoff connection", async move {
        tokio::select! {
            // What went wrong is told to whoever waits for the answer.
            _ = connection => {}
            _ = closed => {}
        }
    });
    Ok(Link { sender, open })
}

impl Link {
    /// Sends the request and reads the head of the answer.
    pub(super) async fn send(mut self, sending: &Sending<'_>) -> Result<Answer, HandoffError> {
        let request = Request::post(format!("{PATH}{}", sending.kind.as_str()))
            .header(HOST, "pma")
            .header(AUTHORIZATION, format!("Bearer {}", sending.secret.expose_secret()))
            .header(CONTENT_TYPE, "application/json")
            .header(DEADLINE_HEADER, sending.within.as_millis().max(1).to_string())
            .body(Full::new(Bytes::from(sending.body.clone())))
            .map_err(|error| failed(&error))?;
        let response = self.sender.send_request(request).await.map_err(|error| lost(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let answer = Answer { body: response.into_body(), _open: self.open };
        if status.is_success() {
            return Ok(answer);
        }
        Err(refused(status, &headers, answer.whole().await.ok(), sending.within))
    }
}

/// An answer whose body is still coming.
pub(super) struct Answer {
    body: Incoming,
    _open: oneshot::Sender<()>,
}

impl Answer {
    /// All of it.
    pub(super) async fn whole(self) -> Result<Bytes, HandoffError> {
        let limited = Limited::new(self.body, MAX_ANSWER_BYTES);
        let collected = limited.collect().await;
        Ok(collected.map_err(|error| HandoffError::Failed(error.to_string()))?.to_bytes())
    }

    /// What came next; nothing at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, HandoffError> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| lost(&error))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

fn lost(error: &hyper::Error) -> HandoffError {
    HandoffError::Lost(error.to_string())
}

fn failed(error: &dyn std::error::Error) -> HandoffError {
    HandoffError::Failed(error.to_string())
}

/// What a refusal means: 503 alone says that the work was not begun.
fn refused(
    status: StatusCode,
    headers: &HeaderMap,
    body: Option<Bytes>,
    within: Duration,
) -> HandoffError {
    let problem = body.and_then(|body| serde_json::from_slice::<Problem>(&body).ok());
    let detail = problem.map_or_else(|| format!("it answered {status}"), |problem| problem.detail);
    match status {
        StatusCode::SERVICE_UNAVAILABLE => {
            let seconds =
                headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            HandoffError::Busy { retry_after: seconds.map_or(RETRY, Duration::from_secs) }
        }
        StatusCode::GATEWAY_TIMEOUT => HandoffError::Timeout(within),
        StatusCode::UNAUTHORIZED => HandoffError::Failed(format!(
            "{detail}: its secret file and the orchestrator's must hold the same secret"
        )),
        _ => HandoffError::Failed(detail),
    }
}
