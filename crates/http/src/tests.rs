//! Connections against servers that keep, close, cut and delay.

use std::io;

use http::header::HOST;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};

use super::*;

/// A server's end, and the way to it.
struct Peer {
    listener: TcpListener,
    connections: Connections,
}

impl Peer {
    async fn listening() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener, connections: Connections::default() }
    }

    async fn accept(&self) -> TcpStream {
        self.listener.accept().await.unwrap().0
    }

    async fn send(&self, body: &'static str) -> Result<Answer, SendError<io::ErrorKind>> {
        let request = Request::post("/mcp?a=b").header(HOST, "here").body(Full::from(body));
        let address = self.listener.local_addr().unwrap();
        let connect = async { TcpStream::connect(address).await.map_err(|error| error.kind()) };
        self.connections.send(request.unwrap(), connect).await
    }

    async fn ask(&self, body: &'static str) -> String {
        let answer = self.send(body).await.unwrap();
        String::from_utf8(answer.bytes().await.unwrap().into()).unwrap()
    }

    fn resting(&self) -> usize {
        self.connections.lock().len()
    }
}

/// Reads one request and gives its text.
async fn hear(stream: &mut TcpStream) -> String {
    let mut heard = vec![0; 4096];
    let length = stream.read(&mut heard).await.unwrap();
    heard.truncate(length);
    String::from_utf8(heard).unwrap()
}

async fn say(stream: &mut TcpStream, text: &str) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len());
    stream.write_all(head.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn requests_one_after_the_other_share_a_connection_that_the_server_keeps() {
    let peer = Peer::listening().await;
    let server = async {
        let mut stream = peer.accept().await;
        let first = hear(&mut stream).await;
        say(&mut stream, "one").await;
        let second = hear(&mut stream).await;
        say(&mut stream, "two").await;
        (first, second)
    };
    let client = async { (peer.ask("1").await, peer.ask("2").await) };

    let (heard, answered) = tokio::join!(server, client);

    assert_eq!(answered, ("one".to_owned(), "two".to_owned()));
    assert!(heard.0.starts_with("POST /mcp?a=b HTTP/1.1\r\n"), "{}", heard.0);
    assert!(heard.0.ends_with("\r\n\r\n1") && heard.1.ends_with("\r\n\r\n2"));
}

#[tokio::test]
async fn a_request_finds_a_new_connection_when_the_server_closed_the_old_one() {
    let peer = Peer::listening().await;
    let server = async {
        let mut stream = peer.accept().await;
        hear(&mut stream).await;
        say(&mut stream, "one").await;
    };
    tokio::join!(peer.ask("1"), server);

    let server = async {
        let mut stream = peer.accept().await;
        let heard = hear(&mut stream).await;
        say(&mut stream, "two").await;
        heard
    };
    let (answered, heard) = tokio::join!(peer.ask("2"), server);

    assert_eq!(answered, "two");
    assert!(heard.ends_with("\r\n\r\n2"), "{heard}");
}

#[tokio::test]
async fn a_request_that_was_sent_is_not_sent_again() {
    let peer = Peer::listening().await;
    let server = async {
        for _ in 0..2 {
            let mut stream = peer.accept().await;
            hear(&mut stream).await;
            say(&mut stream, "one").await;
            // The second request on this connection is heard and not answered.
            hear(&mut stream).await;
        }
    };
    let client = async {
        peer.ask("1").await;
        peer.send("2").await.map(drop)
    };

    let broken = tokio::select! {
        broken = client => broken,
        () = server => panic!("it came a second time"),
    };

    assert_eq!(broken, Err(SendError::Broken));
}

#[tokio::test]
async fn an_answer_that_nobody_reads_to_its_end_closes_the_connection() {
    let peer = Peer::listening().await;
    let server = async {
        let mut stream = peer.accept().await;
        hear(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.read(&mut [0; 16]).await.unwrap()
    };
    let client = async { peer.send("1").await.unwrap().chunk().await.unwrap() };

    let (rest, half) = tokio::join!(server, client);

    assert_eq!((rest, half.as_deref()), (0, Some(b"half".as_slice())));
    assert_eq!(peer.resting(), 0);
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_no_answer() {
    let peer = Peer::listening().await;
    let server = async {
        let mut stream = peer.accept().await;
        hear(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await.unwrap();
    };
    let client = async { peer.send("1").await.unwrap().bytes().await };

    let (cut, ()) = tokio::join!(client, server);

    assert_eq!((cut, peer.resting()), (Err(Cut), 0));
}

#[tokio::test]
async fn an_answer_in_many_pieces_is_read_whole() {
    let peer = Peer::listening().await;
    let server = async {
        let mut stream = peer.accept().await;
        hear(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        for piece in ["3\r\none\r\n", "4\r\n two\r\n", "6\r\n three\r\n", "0\r\n\r\n"] {
            stream.write_all(piece.as_bytes()).await.unwrap();
            tokio::task::yield_now().await;
        }
    };

    let (whole, ()) = tokio::join!(peer.ask("1"), server);

    assert_eq!((whole.as_str(), peer.resting()), ("one two three", 1));
}

#[tokio::test]
async fn a_server_that_does_not_listen_has_not_heard_of_the_request() {
    // Whoever has a port and does not listen refuses connections, and nobody else can take the port.
    let deaf = TcpSocket::new_v4().unwrap();
    deaf.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let (address, connections) = (deaf.local_addr().unwrap(), Connections::default());

    let request = Request::post("/").header(HOST, "here").body(Full::from("1")).unwrap();
    let connect = async { TcpStream::connect(address).await.map_err(|error| error.kind()) };
    let refused = connections.send(request, connect).await.map(drop);

    assert_eq!(refused, Err(SendError::Connect(io::ErrorKind::ConnectionRefused)));
}

#[tokio::test]
async fn a_connection_that_rested_too_long_is_closed() {
    let peer = Peer::listening().await;
    let server = async {
        let mut stream = peer.accept().await;
        hear(&mut stream).await;
        say(&mut stream, "one").await;
        stream
    };
    let (mut stream, _) = tokio::join!(server, peer.ask("1"));

    peer.connections.sweep();
    let kept = peer.resting();
    tokio::time::pause();
    tokio::time::advance(REST).await;
    tokio::time::resume();
    peer.connections.sweep();

    assert_eq!((kept, peer.resting()), (1, 0));
    assert_eq!(stream.read(&mut [0; 16]).await.unwrap(), 0);
}
