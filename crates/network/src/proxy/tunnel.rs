//! Connections to servers, and tunnels over them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::client_hello::read_client_hello;
use super::target::Target;
use super::{
    ConnectionEvent, ConnectionPermits, HEAD_TIMEOUT, IDLE_TIMEOUT, ProxyBody, SandboxProxy,
    full_body,
};

/// A connection to a server that counts its bytes.
pub(super) struct ServerConnection {
    stream: TcpStream,
    pub(super) target: Target,
    pub(super) traffic: Traffic,
    opened: Instant,
}

/// Bytes of a connection. Clones share the counters.
#[derive(Debug, Clone, Default)]
pub(super) struct Traffic(Arc<TrafficCounters>);

#[derive(Debug, Default)]
struct TrafficCounters {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// Resolves after a silence of `limit` to twice that.
    pub(super) async fn wait_idle(&self, limit: Duration) {
        let mut before = self.total();
        loop {
            tokio::time::sleep(limit).await;
            let now = self.total();
            if now == before {
                return;
            }
            before = now;
        }
    }

    fn total(&self) -> u64 {
        let TrafficCounters { sent, received } = &*self.0;
        sent.load(Ordering::Relaxed).wrapping_add(received.load(Ordering::Relaxed))
    }
}

impl ServerConnection {
    pub(super) fn new(stream: TcpStream, target: Target) -> Self {
        Self { stream, target, traffic: Traffic::default(), opened: Instant::now() }
    }

    /// What [`SandboxProxy::record_end`] needs after the connection was moved elsewhere.
    pub(super) fn summary(&self) -> ConnectionSummary {
        let Self { target, traffic, opened, .. } = self;
        ConnectionSummary { target: target.clone(), traffic: traffic.clone(), opened: *opened }
    }
}

/// The facts for the record of a connection's end.
pub(super) struct ConnectionSummary {
    target: Target,
    pub(super) traffic: Traffic,
    opened: Instant,
}

impl SandboxProxy {
    /// Answers a CONNECT request; the tunnel runs in the background.
    pub(super) fn open_tunnel(
        &self,
        request: Request<Incoming>,
        mut server: ServerConnection,
        permits: ConnectionPermits,
    ) -> Response<ProxyBody> {
        let proxy = self.clone();
        self.tasks.spawn_until_finish("proxy-tunnel", async move {
            let summary = server.summary();
            let reason = match hyper::upgrade::on(request).await {
                Ok(client) => proxy.relay(TokioIo::new(client), &mut server).await.err(),
                Err(_) => Some(CLIENT_GONE),
            };
            // Closed before it is recorded, so that a slow database delays no client.
            drop((server, permits));
            proxy.record_end(&summary, reason).await;
        });
        Response::new(full_body(""))
    }

    /// Passes bytes both ways until either side closes.
    async fn relay(
        &self,
        client: TokioIo<Upgraded>,
        server: &mut ServerConnection,
    ) -> Result<(), &'static str> {
        let traffic = server.traffic.clone();
        tokio::select! {
            ended = copy_tls(client, server) => ended,
            () = traffic.wait_idle(IDLE_TIMEOUT) => Err("nothing was sent for too long"),
            () = self.closed.cancelled() => Err(SANDBOX_GONE),
        }
    }

    pub(super) async fn record_end(
        &self,
        connection: &ConnectionSummary,
        reason: Option<&'static str>,
    ) {
        let TrafficCounters { sent, received } = &*connection.traffic.0;
        let event = ConnectionEvent::Closed {
            reason: reason.map(str::to_owned),
            sent: sent.load(Ordering::Relaxed),
            received: received.load(Ordering::Relaxed),
            open_for: connection.opened.elapsed(),
        };
        let target = connection.target.to_string();
        if self.log.record(&target, &event).await.is_err() {
            tracing::error!(target = %target, "the end of a sandbox's connection was not recorded");
        }
    }
}

/// Copies a connection whose first message is a client hello for its target.
async fn copy_tls(
    mut client: TokioIo<Upgraded>,
    server: &mut ServerConnection,
) -> Result<(), &'static str> {
    let hello = read_client_hello(&mut client, &server.target);
    let hello = timeout(HEAD_TIMEOUT, hello).await.map_err(|_| "the client sent nothing")??;
    server.write_all(&hello).await.map_err(|_| SERVER_GONE)?;
    let copied = copy_bidirectional(&mut client, server).await;
    copied.map(drop).map_err(|_| "the connection was reset")
}

const CLIENT_GONE: &str = "the client closed the connection";
const SERVER_GONE: &str = "the server closed the connection";
pub(super) const SANDBOX_GONE: &str = "the sandbox ended";

impl AsyncRead for ServerConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().len() - before;
        self.traffic.0.received.fetch_add(read as u64, Ordering::Relaxed);
        polled
    }
}

impl AsyncWrite for ServerConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = polled {
            self.traffic.0.sent.fetch_add(written as u64, Ordering::Relaxed);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
