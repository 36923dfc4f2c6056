//! A minimal HTTP/1.1 client with connection reuse for small sequential requests.
//!
//! Start at [`ConnectionPool`], the pool of idle connections to one server. The task that makes a request also
//! drives its connection, so no data crosses tasks. The caller supplies the connect function, and with it
//! the policy which addresses may be reached.
//!
//! [`CircuitBreaker`] keeps requests from a server that fails repeatedly.
//!
//! Invariants: a request of which a byte was sent is never retried; dropping a response before its end
//! closes the connection, which tells the server to stop.

mod circuit_breaker;
mod connection;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use tokio::net::TcpStream;
use tokio::time::Instant;

use connection::HttpConnection;

pub use circuit_breaker::{CircuitBreaker, CircuitBreakerOptions, CircuitOpen};

/// Idle timeout. Servers have one too.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// The pool of idle connections to one server. Cheap to clone; clones share it.
#[derive(Debug, Clone, Default)]
pub struct ConnectionPool {
    idle: Arc<Mutex<Vec<(Instant, HttpConnection)>>>,
}

/// Why a request has no response.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpSendError<E> {
    /// The connection could not be established; the request was not sent.
    #[error("the server cannot be reached")]
    Connect(#[source] E),
    /// The connection closed before the response. The server may have processed the request.
    #[error("the connection broke")]
    ConnectionClosed,
}

/// The connection closed before the end of the response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection broke in the middle of an answer")]
pub struct TruncatedBody;

/// A response whose body is not read yet.
#[derive(Debug)]
pub struct HttpResponse {
    /// Status and headers.
    pub head: Response<()>,
    body: Incoming,
    /// Returned to the pool at the end of the body.
    wire: Option<HttpConnection>,
    home: ConnectionPool,
}

impl ConnectionPool {
    /// Sends a request over an idle connection, or a new one from `connect`; returns when the response
    /// head has arrived. The request's URI must be a path, and it needs a `Host` header.
    pub async fn send<E>(
        &self,
        mut request: Request<Full<Bytes>>,
        connect: impl Future<Output = Result<TcpStream, E>>,
    ) -> Result<HttpResponse, HttpSendError<E>> {
        // The server may have closed an idle connection. A request of which nothing was sent is
        // retried on the next one.
        while let Some(mut wire) = self.take_idle() {
            if !wire.is_ready().await {
                continue;
            }
            request = match wire.send_request(request).await {
                Ok(response) => return Ok(self.build_response(response, wire)),
                Err(Some(untouched)) => untouched,
                Err(None) => return Err(HttpSendError::ConnectionClosed),
            };
        }
        let stream = connect.await.map_err(HttpSendError::Connect)?;
        let mut wire =
            HttpConnection::handshake(stream).await.map_err(|_| HttpSendError::ConnectionClosed)?;
        match wire.send_request(request).await {
            Ok(response) => Ok(self.build_response(response, wire)),
            Err(_) => Err(HttpSendError::ConnectionClosed),
        }
    }

    /// Closes connections that exceeded the idle timeout.
    pub fn close_expired(&self) {
        self.lock().retain(|(since, _)| since.elapsed() < IDLE_TIMEOUT);
    }

    fn take_idle(&self) -> Option<HttpConnection> {
        let (since, wire) = self.lock().pop()?;
        (since.elapsed() < IDLE_TIMEOUT).then_some(wire)
    }

    fn put_idle(&self, wire: HttpConnection) {
        self.lock().push((Instant::now(), wire));
    }

    fn build_response(&self, response: Response<Incoming>, wire: HttpConnection) -> HttpResponse {
        let (head, body) = response.into_parts();
        let head = Response::from_parts(head, ());
        HttpResponse { head, body, wire: Some(wire), home: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Instant, HttpConnection)>> {
        // No holder of the lock can panic in an inconsistent state.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpResponse {
    /// The next chunk of the body; `None` at its end.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, TruncatedBody> {
        loop {
            let Some(wire) = &mut self.wire else { return Ok(None) };
            match wire.drive_until(self.body.frame()).await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => return Err(TruncatedBody),
                None => {
                    if let Some(wire) = self.wire.take() {
                        self.home.put_idle(wire);
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// Reads the whole body.
    pub async fn read_body(mut self) -> Result<Bytes, TruncatedBody> {
        let Some(first) = self.next_chunk().await? else { return Ok(Bytes::new()) };
        let Some(second) = self.next_chunk().await? else { return Ok(first) };
        let mut whole = Vec::with_capacity(2 * (first.len() + second.len()));
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        while let Some(next) = self.next_chunk().await? {
            whole.extend_from_slice(&next);
        }
        Ok(whole.into())
    }
}

#[cfg(test)]
mod tests;
