//! Serves MCP over HTTP on a unix socket.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cynode_edge::{EdgeResponse, EdgeServer};
use cynode_runtime::tasks::BackgroundTasks;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

const MAX_CONNECTIONS: usize = 64;
/// A file of the largest size in base64, and its envelope.
const MAX_REQUEST_BYTES: usize = 1024 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// A call may wait 30 s for a command; clients keep a connection for a while.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Accepts connections; never returns.
pub(super) async fn serve_connections(
    listener: UnixListener,
    server: Arc<EdgeServer>,
    tasks: BackgroundTasks,
) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => serve_connection(stream, &server, &tasks, permit),
            // For example, this process has too many open files.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

fn serve_connection(
    stream: UnixStream,
    server: &Arc<EdgeServer>,
    tasks: &BackgroundTasks,
    permit: OwnedSemaphorePermit,
) {
    let (server, spawner) = (Arc::clone(server), tasks.clone());
    tasks.spawn_until_finish("edge-connection", async move {
        let permit = Arc::new(permit);
        let service = service_fn(|request| {
            let (server, tasks) = (Arc::clone(&server), spawner.clone());
            let permit = Arc::clone(&permit);
            async move { Ok::<_, Infallible>(respond(request, server, &tasks, permit).await) }
        });
        // A client that breaks the protocol or disconnects ends only its own connection.
        let _ = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service)
            .await;
    });
}

async fn respond(
    request: Request<Incoming>,
    server: Arc<EdgeServer>,
    tasks: &BackgroundTasks,
    permit: Arc<OwnedSemaphorePermit>,
) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    if head.uri.path() != "/mcp" {
        return plain(StatusCode::NOT_FOUND);
    }
    // It has no sessions and no stream of its own.
    if head.method != Method::POST {
        return plain(StatusCode::METHOD_NOT_ALLOWED);
    }
    let read = Limited::new(body, MAX_REQUEST_BYTES).collect();
    let body = match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return plain(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => return plain(StatusCode::REQUEST_TIMEOUT),
    };
    let lease = bearer(&head.headers);
    let (sender, answer) = oneshot::channel();
    // A task of its own: a client that disconnects does not end a call half-way. It counts as a connection until it ends.
    tasks.spawn("edge-call", async move {
        let _permit = permit;
        let _ = sender.send(server.handle(lease.as_deref(), &body).await);
    });
    match answer.await {
        Ok(EdgeResponse { status, body }) => {
            let mut response = plain(StatusCode::from_u16(status).unwrap_or(StatusCode::OK));
            if let Some(body) = body {
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(CONTENT_TYPE, json);
                *response.body_mut() = Full::from(body);
            }
            response
        }
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
