//! One request to one process, on its own connection.

use std::time::Duration;

use bytes::Bytes;
use cynode_execution::handoff::HandoffError;
use cynode_runtime::tasks::BackgroundTasks;
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

use super::PmaAddress;

/// Maximum length of a non-streamed response.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Retry delay without a `Retry-After` header.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);

/// A handoff request.
pub(super) struct PmaHandoffRequest<'a> {
    pub(super) kind: HandoffKind,
    pub(super) body: String,
    pub(super) timeout: Duration,
    pub(super) secret: &'a SecretString,
}

/// A connection for one request. Dropping it closes the connection, which cancels the work.
pub(super) struct PmaConnection {
    sender: SendRequest<Full<Bytes>>,
    open: oneshot::Sender<()>,
}

/// Opens a connection.
pub(super) async fn connect(
    address: &PmaAddress,
    tasks: &BackgroundTasks,
) -> Result<PmaConnection, String> {
    let connecting = async {
        match address {
            PmaAddress::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                let stream = stream.map_err(|error| format!("{}: {error}", path.display()))?;
                Box::pin(spawn_connection(TokioIo::new(stream), tasks)).await
            }
            PmaAddress::Tcp(address) => {
                let stream = TcpStream::connect(address).await;
                let stream = stream.map_err(|error| format!("{address}: {error}"))?;
                Box::pin(spawn_connection(TokioIo::new(stream), tasks)).await
            }
        }
    };
    let late = || "connection timed out".to_owned();
    tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or_else(|_| Err(late()))
}

async fn spawn_connection<T>(stream: T, tasks: &BackgroundTasks) -> Result<PmaConnection, String>
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(stream).await.map_err(|error| error.to_string())?;
    let (open, closed) = oneshot::channel();
    tasks.spawn("handoff connection", async move {
        tokio::select! {
            // The error is reported by the pending request.
            _ = connection => {}
            _ = closed => {}
        }
    });
    Ok(PmaConnection { sender, open })
}

impl PmaConnection {
    /// Sends the request and reads the response headers.
    pub(super) async fn send(
        mut self,
        sending: &PmaHandoffRequest<'_>,
    ) -> Result<PmaResponse, HandoffError> {
        let request = Request::post(format!("{PATH}{}", sending.kind.as_str()))
            .header(HOST, "pma")
            .header(AUTHORIZATION, format!("Bearer {}", sending.secret.expose_secret()))
            .header(CONTENT_TYPE, "application/json")
            .header(DEADLINE_HEADER, sending.timeout.as_millis().max(1).to_string())
            .body(Full::new(Bytes::from(sending.body.clone())))
            .map_err(|error| failed_error(&error))?;
        let response =
            self.sender.send_request(request).await.map_err(|error| lost_error(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let answer = PmaResponse { body: response.into_body(), _open: self.open };
        if status.is_success() {
            return Ok(answer);
        }
        Err(map_error_response(status, &headers, answer.read_body().await.ok(), sending.timeout))
    }
}

/// A response whose body is not read yet.
pub(super) struct PmaResponse {
    body: Incoming,
    _open: oneshot::Sender<()>,
}

impl PmaResponse {
    /// Reads the whole body.
    pub(super) async fn read_body(self) -> Result<Bytes, HandoffError> {
        let limited = Limited::new(self.body, MAX_ANSWER_BYTES);
        let collected = limited.collect().await;
        Ok(collected.map_err(|error| HandoffError::Failed(error.to_string()))?.to_bytes())
    }

    /// Reads the next chunk; `None` at the end.
    pub(super) async fn read_chunk(&mut self) -> Result<Option<Bytes>, HandoffError> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| lost_error(&error))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

fn lost_error(error: &hyper::Error) -> HandoffError {
    HandoffError::ConnectionLost(error.to_string())
}

fn failed_error(error: &dyn std::error::Error) -> HandoffError {
    HandoffError::Failed(error.to_string())
}

/// Maps an error response. Only 503 guarantees that the work was not started.
fn map_error_response(
    status: StatusCode,
    headers: &HeaderMap,
    body: Option<Bytes>,
    timeout: Duration,
) -> HandoffError {
    let problem = body.and_then(|body| serde_json::from_slice::<Problem>(&body).ok());
    let detail = problem.map_or_else(|| format!("it answered {status}"), |problem| problem.detail);
    match status {
        StatusCode::SERVICE_UNAVAILABLE => {
            let seconds =
                headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            HandoffError::Busy { retry_after: seconds.map_or(DEFAULT_RETRY, Duration::from_secs) }
        }
        StatusCode::GATEWAY_TIMEOUT => HandoffError::Timeout(timeout),
        StatusCode::UNAUTHORIZED => HandoffError::Failed(format!(
            "{detail}: the project manager and the orchestrator must use the same secret"
        )),
        _ => HandoffError::Failed(detail),
    }
}
