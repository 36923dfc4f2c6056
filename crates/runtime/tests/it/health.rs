//! Health over TCP and unix sockets.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use cynode_runtime::health::{HealthError, HealthListener, Readiness, routes, serve, serve_on};
use cynode_runtime::metrics;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener, UnixStream};

const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// A running health server.
struct HealthServer {
    address: String,
    readiness: Readiness,
    shutdown: Shutdown,
    tasks: BackgroundTasks,
}

impl HealthServer {
    async fn start(listen: &str) -> Self {
        let listener = HealthListener::bind(listen).await.unwrap();
        let served = Self {
            address: listener.address().to_owned(),
            readiness: Readiness::new(),
            shutdown: Shutdown::new(),
            tasks: BackgroundTasks::new(),
        };
        let app = routes(served.readiness.clone(), Some(metrics::install().unwrap()));
        let shutdown = served.shutdown.clone();
        served.tasks.spawn("health", async move {
            serve_on(listener, app, shutdown).await.unwrap();
        });
        served
    }

    async fn get(&self, path: &str) -> String {
        if let Some(socket) = self.address.strip_prefix("unix:") {
            return request(UnixStream::connect(socket).await.unwrap(), path).await;
        }
        request(TcpStream::connect(&self.address).await.unwrap(), path).await
    }

    async fn stop(self) -> bool {
        self.shutdown.trigger();
        self.tasks.finish(STOP_TIMEOUT).await
    }
}

async fn request(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_living_process_says_ok() {
    let served = HealthServer::start("127.0.0.1:0").await;
    let answer = served.get("/healthz").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\nok"), "{answer}");
    assert!(served.stop().await);
}

#[tokio::test]
async fn readiness_says_in_words_what_is_missing() {
    let served = HealthServer::start("127.0.0.1:0").await;
    let answer = served.get("/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.ends_with(r#"{"ready":false,"reasons":["starting"]}"#), "{answer}");

    served.readiness.set_ready();
    let answer = served.get("/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.ends_with(r#"{"ready":true,"reasons":[]}"#), "{answer}");

    served.readiness.set_waiting("the database does not answer");
    let answer = served.get("/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("the database does not answer"), "{answer}");
    assert!(served.stop().await);
}

#[tokio::test]
async fn metrics_are_shown_in_the_text_format_of_prometheus() {
    let served = HealthServer::start("127.0.0.1:0").await;
    ::metrics::counter!("cynode_it_asked_total", "kind" => "x").increment(2);
    let answer = served.get("/metrics").await;
    assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
    assert!(answer.contains("cynode_it_asked_total{kind=\"x\"} 2"), "{answer}");
    assert!(served.stop().await);
}

#[tokio::test]
async fn without_an_exporter_there_are_no_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let (listen, shutdown, tasks) =
        (format!("unix:{}", socket.display()), Shutdown::new(), BackgroundTasks::new());
    let listener = HealthListener::bind(&listen).await.unwrap();
    let stop = shutdown.clone();
    tasks.spawn("health", async move {
        serve_on(listener, routes(Readiness::new(), None), stop).await.unwrap();
    });
    let answer = request(UnixStream::connect(&socket).await.unwrap(), "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    shutdown.trigger();
    assert!(tasks.finish(STOP_TIMEOUT).await);
}

#[tokio::test]
async fn a_health_socket_is_private_and_removed_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("health.sock");
    let served = HealthServer::start(&format!("unix:{}", socket.display())).await;
    assert!(served.get("/healthz").await.ends_with("ok"));
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(served.stop().await);
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_socket_that_a_killed_process_left_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("health.sock");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let served = HealthServer::start(&format!("unix:{}", socket.display())).await;
    assert!(served.get("/healthz").await.ends_with("ok"));
    assert!(served.stop().await);
}

#[tokio::test]
async fn an_address_somebody_has_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let ordinary = folder.path().join("notes.txt");
    std::fs::write(&ordinary, "mine").unwrap();
    let tcp = HealthServer::start("127.0.0.1:0").await;
    let unix = HealthServer::start(&format!("unix:{}/s", folder.path().display())).await;
    let taken = [tcp.address.clone(), unix.address.clone(), format!("unix:{}", ordinary.display())];
    for listen in taken {
        let refused = serve(&listen, Readiness::new(), None, Shutdown::new()).await.unwrap_err();
        assert!(matches!(refused, HealthError::Bind { .. }), "{refused}");
        assert!(refused.to_string().contains(&listen), "{refused}");
    }
    assert_eq!(std::fs::read_to_string(&ordinary).unwrap(), "mine");
    assert!(tcp.stop().await && unix.stop().await);
}

#[tokio::test]
async fn an_address_that_means_nothing_is_refused_in_words() {
    for listen in ["", "nowhere", "host:", ":80", "host:70000", "unix:"] {
        let refused = HealthListener::bind(listen).await.unwrap_err();
        assert!(matches!(refused, HealthError::BadAddress { .. }), "{listen}: {refused}");
    }
}

#[tokio::test]
async fn a_silent_client_cannot_hold_up_the_end() {
    let served = HealthServer::start("127.0.0.1:0").await;
    let mut silent = TcpStream::connect(&served.address).await.unwrap();
    silent.write_all(b"GET /healthz HT").await.unwrap();
    assert!(served.get("/healthz").await.ends_with("ok"));
    assert!(served.stop().await);
}
