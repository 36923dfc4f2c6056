//! The only way out of a sandbox: an HTTP proxy that connects to allowed hosts.
//!
//! Start at [`SandboxProxy::serve`], which accepts connections of one sandbox. HTTPS goes through a tunnel (CONNECT), plain
//! HTTP is forwarded. The proxy resolves names itself, checks every address, and connects to a checked one; what a tunnel
//! carries must be TLS for the same host.
//!
//! Invariants: a connection that is not recorded is not made. Whatever cannot be checked is refused.

mod client_hello;
mod forward;
mod target;
mod tunnel;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cynode_domain::policy::allowed_hosts::AllowedHosts;
use cynode_runtime::tasks::BackgroundTasks;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use self::target::Target;
use self::tunnel::ServerConnection;
use crate::{InternalAddress, NetworkReach};

/// Connections of one sandbox at a time; further ones wait.
const MAX_CONNECTIONS: usize = 64;
/// Connections of all sandboxes at a time.
const MAX_ALL_CONNECTIONS: usize = 1024;
/// Lookups of names for all sandboxes at a time.
const MAX_ALL_LOOKUPS: usize = 32;
/// New connections of one sandbox in a second, after a burst of as many as are open at most: each costs a record.
const CONNECTIONS_PER_SECOND: NonZeroU32 = NonZeroU32::new(20).unwrap();
/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it may take to resolve a name, and to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Addresses of one host that are tried, in turn.
const MAX_ADDRESSES: usize = 4;
/// The longest silence of a connection.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);

/// The body of a response.
pub type ProxyBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Answers requests to the proxy itself, such as those of an agent to its model.
#[async_trait]
pub trait LocalRoutes: Send + Sync {
    /// Answers a request whose URL names no host.
    async fn respond(&self, request: Request<Incoming>) -> Response<ProxyBody>;
}

/// What a sandbox may reach.
#[derive(Debug, Clone)]
pub struct ProxyPolicy {
    pub hosts: AllowedHosts,
    /// Bounds the addresses of these hosts.
    pub reach: NetworkReach,
    /// Tells a reader of a refusal how to allow a host.
    pub advice: String,
}

/// What happened to a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// It is about to be made.
    Opened {
        address: SocketAddr,
    },
    Refused {
        reason: String,
    },
    /// It has ended. Bytes are counted at the connection to the server.
    Closed {
        reason: Option<String>,
        sent: u64,
        received: u64,
        open_for: Duration,
    },
}

/// Where connections are recorded.
#[async_trait]
pub trait ConnectionLog: Send + Sync {
    /// Records an event of a connection to `target`, such as `api.example.com:443`. It is durable when this returns.
    async fn record(
        &self,
        target: &str,
        event: &ConnectionEvent,
    ) -> Result<(), ConnectionNotRecorded>;
}

/// The event could not be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection cannot be recorded")]
pub struct ConnectionNotRecorded;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Refusal {
    #[error("{0}")]
    Invalid(&'static str),
    #[error("the host is not allowed")]
    NotAllowed,
    #[error(transparent)]
    Internal(#[from] InternalAddress),
    #[error("the name cannot be resolved")]
    Unresolved,
    #[error("the host cannot be reached")]
    Unreachable,
    #[error(transparent)]
    NotRecorded(#[from] ConnectionNotRecorded),
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::NotAllowed | Self::Internal(_) => StatusCode::FORBIDDEN,
            Self::Unresolved | Self::Unreachable => StatusCode::BAD_GATEWAY,
            Self::NotRecorded(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// What all proxies of a process may use together, so that the process keeps files and threads for other work. Clones
/// share it.
#[derive(Debug, Clone)]
pub struct ProxyCapacity {
    connections: Arc<Semaphore>,
    lookups: Arc<Semaphore>,
}

impl Default for ProxyCapacity {
    fn default() -> Self {
        Self {
            connections: Arc::new(Semaphore::new(MAX_ALL_CONNECTIONS)),
            lookups: Arc::new(Semaphore::new(MAX_ALL_LOOKUPS)),
        }
    }
}

/// The places that a connection takes, in its sandbox and in the process.
type ConnectionPermits = Arc<(OwnedSemaphorePermit, OwnedSemaphorePermit)>;

/// The proxy of one sandbox. Clones share it.
#[derive(Clone)]
pub struct SandboxProxy {
    policy: Arc<ProxyPolicy>,
    capacity: ProxyCapacity,
    log: Arc<dyn ConnectionLog>,
    tasks: BackgroundTasks,
    closed: CancellationToken,
    local: Option<Arc<dyn LocalRoutes>>,
}

impl SandboxProxy {
    /// `closed` ends the proxy and its connections.
    pub fn new(
        policy: ProxyPolicy,
        capacity: ProxyCapacity,
        log: Arc<dyn ConnectionLog>,
        tasks: BackgroundTasks,
        closed: CancellationToken,
    ) -> Self {
        Self { policy: Arc::new(policy), capacity, log, tasks, closed, local: None }
    }

    /// Also answers requests to the proxy itself; without routes they are refused.
    #[must_use]
    pub fn with_local_routes(self, local: Arc<dyn LocalRoutes>) -> Self {
        Self { local: Some(local), ..self }
    }

    /// Serves connections in the background.
    pub fn serve(self, listener: TcpListener) {
        let (tasks, closed) = (self.tasks.clone(), self.closed.clone());
        tasks.spawn_until_finish("sandbox-proxy", async move {
            tokio::select! {
                () = self.accept_connections(&listener) => {}
                () = closed.cancelled() => {}
            }
        });
    }

    async fn accept_connections(&self, listener: &TcpListener) {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut pace = Pace::new(CONNECTIONS_PER_SECOND, MAX_CONNECTIONS);
        loop {
            let Ok(own) = Arc::clone(&permits).acquire_owned().await else { return };
            pace.wait().await;
            let accepted = listener.accept().await;
            let shared = Arc::clone(&self.capacity.connections).acquire_owned().await;
            match (accepted, shared) {
                (_, Err(_)) => return,
                (Ok((stream, _)), Ok(shared)) => {
                    self.serve_connection(stream, Arc::new((own, shared)));
                }
                // For example, this process has too many open files.
                (Err(_), Ok(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn serve_connection(&self, stream: TcpStream, permits: ConnectionPermits) {
        let proxy = self.clone();
        self.tasks.spawn_until_finish("proxy-connection", async move {
            let service = service_fn(|request| {
                let (proxy, permits) = (proxy.clone(), Arc::clone(&permits));
                async move { Ok::<_, Infallible>(proxy.respond(request, permits).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                // Every request is recorded, so each is counted as a new connection.
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            tokio::select! {
                // A client that breaks the protocol or disconnects ends only its own connection.
                _ = connection => {}
                () = proxy.closed.cancelled() => {}
            }
        });
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        permits: ConnectionPermits,
    ) -> Response<ProxyBody> {
        let is_tunnel = request.method() == Method::CONNECT;
        if let Some(local) = &self.local
            && !is_tunnel
            && request.uri().authority().is_none()
        {
            return local.respond(request).await;
        }
        let target =
            if is_tunnel { Target::of_connect(&request) } else { Target::of_request(&request) };
        let target = match target {
            Ok(target) => target,
            Err(reason) => return self.refuse(None, &Refusal::Invalid(reason)).await,
        };
        let answer = match self.connect(&target).await {
            Ok(server) if is_tunnel => Ok(self.open_tunnel(request, server, permits)),
            Ok(server) => self.forward(request, server, permits).await,
            Err(refusal) => Err(refusal),
        };
        match answer {
            Ok(response) => response,
            Err(refusal) => self.refuse(Some(&target), &refusal).await,
        }
    }

    /// Checks, records and makes a connection, in this order.
    async fn connect(&self, target: &Target) -> Result<ServerConnection, Refusal> {
        if !self.policy.hosts.allows(&target.host, target.port) {
            return Err(Refusal::NotAllowed);
        }
        for address in self.resolve(target).await?.into_iter().take(MAX_ADDRESSES) {
            self.log.record(&target.to_string(), &ConnectionEvent::Opened { address }).await?;
            if let Ok(Ok(stream)) = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
                // Each write of a client is passed on as it is. Best effort.
                let _ = stream.set_nodelay(true);
                return Ok(ServerConnection::new(stream, target.clone()));
            }
        }
        Err(Refusal::Unreachable)
    }

    /// Resolves the name of a target to checked addresses. A lookup takes a thread until it has ended, also after its
    /// timeout, and so long it counts.
    async fn resolve(&self, target: &Target) -> Result<Vec<SocketAddr>, Refusal> {
        let permit = Arc::clone(&self.capacity.lookups).acquire_owned();
        let permit = timeout(CONNECT_TIMEOUT, permit).await.map_err(|_| Refusal::Unresolved)?;
        let (sender, found) = oneshot::channel();
        let (reach, target) = (self.policy.reach.clone(), target.clone());
        self.tasks.spawn("proxy-lookup", async move {
            let found = reach.resolve(&target.host, target.port).await;
            drop(permit);
            // The client may have given up.
            let _ = sender.send(found);
        });
        match timeout(CONNECT_TIMEOUT, found).await {
            Ok(Ok(Ok(addresses))) if !addresses.is_empty() => Ok(addresses),
            Ok(Ok(Err(error))) if error.is::<InternalAddress>() => Err(InternalAddress.into()),
            Ok(_) | Err(_) => Err(Refusal::Unresolved),
        }
    }

    /// Records a refusal, and describes it to the client.
    async fn refuse(&self, target: Option<&Target>, refusal: &Refusal) -> Response<ProxyBody> {
        let reason = refusal.to_string();
        let name = target.map_or_else(|| "an invalid request".to_owned(), Target::to_string);
        let event = ConnectionEvent::Refused { reason: reason.clone() };
        // Nothing depends on it: the connection is refused in any case.
        let _ = self.log.record(&name, &event).await;
        let advice = if *refusal == Refusal::NotAllowed {
            format!("; {}", self.policy.advice)
        } else {
            String::new()
        };
        let text = format!("{name}: {reason}{advice}\n");
        let mut response = Response::new(full_body(text));
        *response.status_mut() = refusal.status();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        response
    }
}

/// A body that is complete.
pub fn full_body(text: impl Into<Bytes>) -> ProxyBody {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A token bucket: limits the rate of an activity by waiting.
struct Pace {
    /// The time of one token.
    step: Duration,
    burst: Duration,
    /// When the bucket is empty; in the past if it is full.
    next: Instant,
}

impl Pace {
    fn new(per_second: NonZeroU32, burst: usize) -> Self {
        let step = Duration::from_secs(1) / per_second.get();
        let burst = step * u32::try_from(burst).unwrap_or(u32::MAX);
        Self { step, burst, next: Instant::now() - burst }
    }

    async fn wait(&mut self) {
        tokio::time::sleep_until(self.next).await;
        let full = Instant::now() - self.burst;
        self.next = self.next.max(full) + self.step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_the_pace_is_kept() {
        tokio::time::advance(Duration::from_hours(1)).await;
        let start = Instant::now();
        let mut pace = Pace::new(CONNECTIONS_PER_SECOND, 40);

        for _ in 0..=40 {
            pace.wait().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..20 {
            pace.wait().await;
        }

        assert_eq!(start.elapsed(), Duration::from_secs(1));
        tokio::time::advance(Duration::from_mins(1)).await;
        let later = Instant::now();
        for _ in 0..=40 {
            pace.wait().await;
        }
        assert_eq!(later.elapsed(), Duration::ZERO, "the burst does not grow beyond its size");
        pace.wait().await;
        assert!(later.elapsed() > Duration::ZERO);
    }
}
