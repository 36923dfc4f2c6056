//! Connections of clients: accepted within limits, and closed when they are idle.
//!
//! One client cannot keep others out: connections are limited in total and for each address, a connection over a
//! limit is closed at once, and one that sends no complete request for a while is closed too.

mod paced_body;

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::ConnectInfo;
use axum::middleware::Next;
use axum::response::Response;
use cynode_runtime::descriptors::open_file_limit;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tower::Service as _;
use tower_http::timeout::TimeoutBody;

use self::paced_body::PacedBody;
use crate::trusted_proxies::TrustedProxies;

/// How long a connection may wait for a complete request header, also between two requests. Longer than the idle
/// timeout of our own clients, which would otherwise send a request on a connection that is being closed.
pub(crate) const HEADER_TIMEOUT: Duration = Duration::from_secs(75);
/// Maximum time between two parts of a request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// File descriptors that connections leave to the database, blobs, pipes and outgoing requests.
const RESERVED_DESCRIPTORS: u64 = 256;
/// Delay after a failed accept, for example without a free descriptor.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Minimum interval between two log lines about rejected connections.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// How many connections are open at once, and how long one may be idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    pub(crate) total: usize,
    pub(crate) per_address: usize,
    pub(crate) header_timeout: Duration,
    /// Not limited by address: all their clients share it.
    pub(crate) proxies: TrustedProxies,
}

impl ConnectionLimits {
    /// Lowers the limits to what the process may open.
    pub(crate) fn within_open_files(self) -> Self {
        let available = open_file_limit().saturating_sub(RESERVED_DESCRIPTORS).max(1);
        let total = self.total.min(usize::try_from(available).unwrap_or(usize::MAX));
        // One address leaves room for others.
        Self { total, per_address: self.per_address.min((total / 4).max(1)), ..self }
    }
}

/// Serves `router` on `listener` until `shutdown`, and returns when every response is sent.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    shutdown: Shutdown,
) {
    let open = Arc::new(OpenConnections::new(limits));
    let (graceful, tasks) = (GracefulShutdown::new(), BackgroundTasks::new());
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.triggered() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, address)) => {
                // A connection over a limit is dropped here, which closes it.
                if let Some(permit) = open.admit(address.ip()) {
                    let service = RequestService {
                        peer: address,
                        proxies: open.limits.proxies.clone(),
                        router: router.clone(),
                    };
                    let connection = service.serve(stream, open.limits.header_timeout, &graceful);
                    tasks.spawn("connection", async move {
                        connection.await;
                        drop(permit);
                    });
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "accepting a connection failed"
                );
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
    drop(listener);
    graceful.shutdown().await;
}

/// Limits the time between two parts of the request body, and requires a minimum rate.
pub(crate) async fn limit_body_time(request: axum::extract::Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    next.run(request.map(|body| Body::new(TimeoutBody::new(BODY_TIMEOUT, PacedBody::new(body)))))
        .await
}

/// Serves the requests of one connection.
struct RequestService {
    peer: SocketAddr,
    proxies: TrustedProxies,
    router: Router,
}

impl RequestService {
    /// Returns the future that serves the requests until the connection ends.
    fn serve(
        self,
        stream: TcpStream,
        header_timeout: Duration,
        graceful: &GracefulShutdown,
    ) -> impl Future<Output = ()> + Send + 'static {
        // Responses are small and latency matters.
        let _ = stream.set_nodelay(true);
        let service = service_fn(move |mut request: Request<Incoming>| {
            let client = self.proxies.client_address(self.peer, request.headers());
            request.extensions_mut().insert(ConnectInfo(client));
            let mut router = self.router.clone();
            async move { router.call(request.map(Body::new)).await as Result<Response, Infallible> }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(header_timeout)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = &error as &dyn std::error::Error, "connection ended");
            }
        }
    }
}

/// The open connections, counted in total and for each address.
struct OpenConnections {
    limits: ConnectionLimits,
    counts: Mutex<ConnectionCounts>,
}

#[derive(Default)]
struct ConnectionCounts {
    total: usize,
    by_address: HashMap<IpAddr, usize>,
    /// Rejected since the last log line.
    rejected: u64,
    logged_at: Option<Instant>,
}

/// Holds the place of an open connection.
struct ConnectionPermit {
    open: Arc<OpenConnections>,
    address: IpAddr,
}

impl OpenConnections {
    fn new(limits: ConnectionLimits) -> Self {
        Self { limits, counts: Mutex::default() }
    }

    /// Counts a new connection; `None` if it is over a limit.
    fn admit(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionPermit> {
        let (peer, address) = (address, client_network(address));
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = counts.by_address.get(&address).copied().unwrap_or_default();
        let is_proxy = self.limits.proxies.contains(peer);
        let limit = if of_address >= self.limits.per_address && !is_proxy {
            "address"
        } else if counts.total >= self.limits.total {
            "total"
        } else {
            counts.total += 1;
            counts.by_address.insert(address, of_address + 1);
            metrics::gauge!("cynode_http_connections").increment(1.0);
            return Some(ConnectionPermit { open: Arc::clone(self), address });
        };
        metrics::counter!("cynode_http_connections_rejected_total", "limit" => limit).increment(1);
        counts.rejected += 1;
        if counts.logged_at.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
            let rejected = std::mem::take(&mut counts.rejected);
            counts.logged_at = Some(Instant::now());
            tracing::warn!(
                rejected, limit, client.address = %address, open = counts.total,
                "connection limit reached, new connections are closed: see max_connections and \
                 max_connections_per_address under [orchestrator]"
            );
        }
        None
    }
}

/// The address whose connections are counted together: of IPv6 the network of 64 bits, which one host can have.
fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::from((u128::from(address) >> 64 << 64).to_be_bytes()),
        address @ IpAddr::V4(_) => address,
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut counts = self.open.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.total -= 1;
        if let Some(count) = counts.by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.by_address.remove(&self.address);
            }
        }
        metrics::gauge!("cynode_http_connections").decrement(1.0);
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpSocket;

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";

    fn limits(total: usize, per_address: usize, header_timeout: Duration) -> ConnectionLimits {
        let proxies = TrustedProxies::parse(&["10.0.0.9".to_owned()]).unwrap();
        ConnectionLimits { total, per_address, header_timeout, proxies }
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() {
        let network = |text: &str| client_network(text.parse().unwrap()).to_string();

        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("::ffff:10.0.0.1"), "10.0.0.1");
    }

    #[test]
    fn one_address_leaves_room_for_others_and_gets_its_own_back() {
        let limits = limits(3, 2, Duration::from_mins(1));
        let open = Arc::new(OpenConnections::new(limits));

        let first = [open.admit(address(1)), open.admit(address(1))];
        assert!(first.iter().all(Option::is_some));
        assert!(open.admit(address(1)).is_none(), "the limit of an address");
        let other = open.admit(address(2));
        assert!(other.is_some());
        assert!(open.admit(address(3)).is_none(), "the limit in total");

        drop(first);
        let of_proxy = [open.admit(address(9)), open.admit(address(9))];
        assert!(of_proxy.iter().all(Option::is_some) && open.admit(address(9)).is_none());
        drop(of_proxy);
        assert!(open.admit(address(3)).is_some());
        drop(other);
        let counts = open.counts.lock().unwrap();
        assert_eq!((counts.total, counts.by_address.len()), (0, 0));
    }

    /// Serves `hello` with these limits; returns the address.
    async fn start(limits: ConnectionLimits, shutdown: &Shutdown) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(|| async { "hello" }));
        BackgroundTasks::new().spawn("server", serve(listener, router, limits, shutdown.clone()));
        address
    }

    /// A connection from the loopback address with this last byte.
    async fn connect(from: u8, to: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, from], 0))).unwrap();
        socket.connect(to).await.unwrap()
    }

    /// What the server sends until it closes the connection; nothing if it resets it.
    async fn read_all(stream: &mut TcpStream) -> String {
        let mut text = vec![];
        let _ = stream.read_to_end(&mut text).await;
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn idle_connections_of_one_client_do_not_keep_others_out() {
        let shutdown = Shutdown::new();
        let server = start(limits(100, 8, Duration::from_mins(10)), &shutdown).await;

        let mut idle = vec![];
        for _ in 0..20 {
            idle.push(connect(2, server).await);
        }
        let mut other = connect(3, server).await;
        other.write_all(REQUEST).await.unwrap();
        let mut answer = [0; 15];
        other.read_exact(&mut answer).await.unwrap();

        assert_eq!(&answer, b"HTTP/1.1 200 OK");
        for rejected in &mut idle[8..] {
            assert_eq!(read_all(rejected).await, "");
        }
        shutdown.trigger();
        for served in &mut idle[..8] {
            assert_eq!(read_all(served).await, "", "it is closed when the server stops");
        }
    }

    #[tokio::test]
    async fn a_connection_without_a_complete_header_is_closed() {
        let server = start(limits(8, 8, Duration::from_millis(50)), &Shutdown::new()).await;

        for sent in [&b""[..], b"GET / HTTP/1.1\r\nhost: he", REQUEST] {
            let mut stream = connect(1, server).await;
            stream.write_all(sent).await.unwrap();
            let answer = read_all(&mut stream).await;
            assert_eq!(answer.contains("200 OK"), sent == REQUEST, "{answer}");
        }
    }
}
