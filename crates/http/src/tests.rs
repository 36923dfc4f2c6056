//! The client against servers that keep, close, truncate and delay.

use std::io;

use http::header::HOST;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};

use super::*;

/// A test server and the client's pool.
struct TestServer {
    listener: TcpListener,
    connections: ConnectionPool,
}

impl TestServer {
    async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener, connections: ConnectionPool::default() }
    }

    async fn accept(&self) -> TcpStream {
        self.listener.accept().await.unwrap().0
    }

    async fn send(&self, body: &'static str) -> Result<HttpResponse, HttpSendError<io::ErrorKind>> {
        let request = Request::post("/mcp?a=b").header(HOST, "here").body(Full::from(body));
        let address = self.listener.local_addr().unwrap();
        let connect = async { TcpStream::connect(address).await.map_err(|error| error.kind()) };
        self.connections.send(request.unwrap(), connect).await
    }

    async fn request_text(&self, body: &'static str) -> String {
        let answer = self.send(body).await.unwrap();
        String::from_utf8(answer.read_body().await.unwrap().into()).unwrap()
    }

    fn idle_count(&self) -> usize {
        self.connections.lock().len()
    }
}

/// Reads one request.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut heard = vec![0; 4096];
    let length = stream.read(&mut heard).await.unwrap();
    heard.truncate(length);
    String::from_utf8(heard).unwrap()
}

async fn write_response(stream: &mut TcpStream, text: &str) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len());
    stream.write_all(head.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn requests_one_after_the_other_share_a_connection_that_the_server_keeps() {
    let peer = TestServer::bind().await;
    let server = async {
        let mut stream = peer.accept().await;
        let first = read_request(&mut stream).await;
        write_response(&mut stream, "one").await;
        let second = read_request(&mut stream).await;
        write_response(&mut stream, "two").await;
        (first, second)
    };
    let client = async { (peer.request_text("1").await, peer.request_text("2").await) };

    let (heard, answered) = tokio::join!(server, client);

    assert_eq!(answered, ("one".to_owned(), "two".to_owned()));
    assert!(heard.0.starts_with("POST /mcp?a=b HTTP/1.1\r\n"), "{}", heard.0);
    assert!(heard.0.ends_with("\r\n\r\n1") && heard.1.ends_with("\r\n\r\n2"));
}

#[tokio::test]
async fn a_request_finds_a_new_connection_when_the_server_closed_the_old_one() {
    let peer = TestServer::bind().await;
    let server = async {
        let mut stream = peer.accept().await;
        read_request(&mut stream).await;
        write_response(&mut stream, "one").await;
    };
    tokio::join!(peer.request_text("1"), server);

    let server = async {
        let mut stream = peer.accept().await;
        let heard = read_request(&mut stream).await;
        write_response(&mut stream, "two").await;
        heard
    };
    let (answered, heard) = tokio::join!(peer.request_text("2"), server);

    assert_eq!(answered, "two");
    assert!(heard.ends_with("\r\n\r\n2"), "{heard}");
}

#[tokio::test]
async fn a_request_that_was_sent_is_not_sent_again() {
    let peer = TestServer::bind().await;
    let server = async {
        for _ in 0..2 {
            let mut stream = peer.accept().await;
            read_request(&mut stream).await;
            write_response(&mut stream, "one").await;
            // The second request on this connection is read but not answered.
            read_request(&mut stream).await;
        }
    };
    let client = async {
        peer.request_text("1").await;
        peer.send("2").await.map(drop)
    };

    let broken = tokio::select! {
        broken = client => broken,
        () = server => panic!("it came a second time"),
    };

    assert_eq!(broken, Err(HttpSendError::ConnectionClosed));
}

#[tokio::test]
async fn an_answer_that_nobody_reads_to_its_end_closes_the_connection() {
    let peer = TestServer::bind().await;
    let server = async {
        let mut stream = peer.accept().await;
        read_request(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.read(&mut [0; 16]).await.unwrap()
    };
    let client = async { peer.send("1").await.unwrap().next_chunk().await.unwrap() };

    let (rest, half) = tokio::join!(server, client);

    assert_eq!((rest, half.as_deref()), (0, Some(b"half".as_slice())));
    assert_eq!(peer.idle_count(), 0);
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_no_answer() {
    let peer = TestServer::bind().await;
    let server = async {
        let mut stream = peer.accept().await;
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await.unwrap();
    };
    let client = async { peer.send("1").await.unwrap().read_body().await };

    let (cut, ()) = tokio::join!(client, server);

    assert_eq!((cut, peer.idle_count()), (Err(TruncatedBody), 0));
}

#[tokio::test]
async fn an_answer_in_many_pieces_is_read_whole() {
    let peer = TestServer::bind().await;
    let server = async {
        let mut stream = peer.accept().await;
        read_request(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        for chunk in ["3\r\none\r\n", "4\r\n two\r\n", "6\r\n three\r\n", "0\r\n\r\n"] {
            stream.write_all(chunk.as_bytes()).await.unwrap();
            tokio::task::yield_now().await;
        }
    };

    let (whole, ()) = tokio::join!(peer.request_text("1"), server);

    assert_eq!((whole.as_str(), peer.idle_count()), ("one two three", 1));
}

#[tokio::test]
async fn a_server_that_does_not_listen_has_not_heard_of_the_request() {
    // A bound port that does not listen refuses connections and cannot be taken by another process.
    let deaf = TcpSocket::new_v4().unwrap();
    deaf.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let (address, connections) = (deaf.local_addr().unwrap(), ConnectionPool::default());

    let request = Request::post("/").header(HOST, "here").body(Full::from("1")).unwrap();
    let connect = async { TcpStream::connect(address).await.map_err(|error| error.kind()) };
    let refused = connections.send(request, connect).await.map(drop);

    assert_eq!(refused, Err(HttpSendError::Connect(io::ErrorKind::ConnectionRefused)));
}

#[tokio::test]
async fn a_connection_that_rested_too_long_is_closed() {
    let peer = TestServer::bind().await;
    let server = async {
        let mut stream = peer.accept().await;
        read_request(&mut stream).await;
        write_response(&mut stream, "one").await;
        stream
    };
    let (mut stream, _) = tokio::join!(server, peer.request_text("1"));

    peer.connections.close_expired();
    let kept = peer.idle_count();
    tokio::time::pause();
    tokio::time::advance(IDLE_TIMEOUT).await;
    tokio::time::resume();
    peer.connections.close_expired();

    assert_eq!((kept, peer.idle_count()), (1, 0));
    assert_eq!(stream.read(&mut [0; 16]).await.unwrap(), 0);
}
