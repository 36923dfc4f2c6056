//! A proxy, a log that can fail, and servers that count what reaches them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cynode_domain::policy::allowed_hosts::AllowedHosts;
use cynode_domain::policy::network::AllowedNetworks;
use cynode_network::NetworkReach;
use cynode_network::proxy::{
    ConnectionEvent, ConnectionLog, ConnectionNotRecorded, ProxyCapacity, ProxyPolicy, SandboxProxy,
};
use cynode_runtime::tasks::BackgroundTasks;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// Keeps events in memory.
#[derive(Default)]
pub(crate) struct MemoryLog {
    events: Mutex<Vec<(String, ConnectionEvent)>>,
    pub(crate) is_broken: AtomicBool,
}

#[async_trait]
impl ConnectionLog for MemoryLog {
    async fn record(
        &self,
        target: &str,
        event: &ConnectionEvent,
    ) -> Result<(), ConnectionNotRecorded> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(ConnectionNotRecorded);
        }
        self.events.lock().unwrap().push((target.to_owned(), event.clone()));
        Ok(())
    }
}

impl MemoryLog {
    pub(crate) fn events(&self) -> Vec<(String, ConnectionEvent)> {
        self.events.lock().unwrap().clone()
    }

    /// Waits for the end of a connection; returns the bytes sent and received, and the reason.
    pub(crate) async fn wait_closed(&self) -> (u64, u64, Option<String>) {
        loop {
            let closed = self.events().into_iter().find_map(|(_, event)| match event {
                ConnectionEvent::Closed { sent, received, reason, .. } => {
                    Some((sent, received, reason))
                }
                ConnectionEvent::Opened { .. } | ConnectionEvent::Refused { .. } => None,
            });
            if let Some(closed) = closed {
                return closed;
            }
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn refusals(&self) -> Vec<(String, String)> {
        let events = self.events().into_iter().filter_map(|(target, event)| match event {
            ConnectionEvent::Refused { reason } => Some((target, reason)),
            ConnectionEvent::Opened { .. } | ConnectionEvent::Closed { .. } => None,
        });
        events.collect()
    }
}

pub(crate) struct TestProxy {
    pub(crate) address: SocketAddr,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) closed: CancellationToken,
}

impl TestProxy {
    /// A proxy to `hosts`, with this machine opened if `opens_loopback`.
    pub(crate) async fn start(hosts: &[&str], opens_loopback: bool) -> Self {
        let opened: &[&str] = if opens_loopback { &["127.0.0.0/8", "::1"] } else { &[] };
        let policy = ProxyPolicy {
            hosts: AllowedHosts::parse(hosts).unwrap(),
            reach: NetworkReach::Public(AllowedNetworks::parse(opened.iter().copied()).unwrap()),
            advice: "ask for it".to_owned(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (log, closed) = (Arc::new(MemoryLog::default()), CancellationToken::new());
        let proxy = SandboxProxy::new(
            policy,
            ProxyCapacity::default(),
            Arc::clone(&log) as Arc<dyn ConnectionLog>,
            BackgroundTasks::new(),
            closed.clone(),
        );
        proxy.serve(listener);
        Self { address, log, closed }
    }

    /// A client that uses the proxy for everything.
    pub(crate) fn client(&self, trusted: Option<&[u8]>) -> reqwest::Client {
        let proxy = reqwest::Proxy::all(format!("http://{}", self.address)).unwrap();
        let mut builder = reqwest::Client::builder().proxy(proxy);
        if let Some(certificate) = trusted {
            let certificate = reqwest::Certificate::from_der(certificate).unwrap();
            builder = builder.tls_certs_only([certificate]);
        }
        builder.build().unwrap()
    }

    /// Sends `head`; returns the connection and the first part of the response.
    pub(crate) async fn send(&self, head: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut buffer = [0; 2048];
        let length = stream.read(&mut buffer).await.unwrap();
        (stream, String::from_utf8_lossy(&buffer[..length]).into_owned())
    }

    /// Opens a tunnel.
    pub(crate) async fn tunnel(&self, target: &str) -> (TcpStream, String) {
        self.send(&format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")).await
    }
}

/// A server that keeps what it receives.
pub(crate) struct Sink {
    pub(crate) port: u16,
    pub(crate) connections: Arc<AtomicUsize>,
    pub(crate) received: Arc<Mutex<Vec<u8>>>,
}

impl Sink {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (connections, received) =
            (Arc::<AtomicUsize>::default(), Arc::<Mutex<Vec<u8>>>::default());
        let (counted, kept) = (Arc::clone(&connections), Arc::clone(&received));
        BackgroundTasks::new().spawn("sink", async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let kept = Arc::clone(&kept);
                BackgroundTasks::new().spawn("sink-connection", async move {
                    let mut buffer = [0; 1024];
                    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                        kept.lock().unwrap().extend_from_slice(&buffer[..length]);
                    }
                });
            }
        });
        Self { port, connections, received }
    }
}

/// Serves `router` over HTTP; returns the port.
pub(crate) async fn serve_http(router: axum::Router) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    BackgroundTasks::new()
        .spawn("web", async move { axum::serve(listener, router).await.unwrap() });
    port
}

/// Answers every HTTPS request for `localhost` with `hello`; returns the port and the certificate.
pub(crate) async fn serve_https() -> (u16, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().to_vec();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate.clone())], key.into())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    BackgroundTasks::new().spawn("https", async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = [0; 1024];
            let _ = stream.read(&mut head).await;
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (port, certificate)
}
