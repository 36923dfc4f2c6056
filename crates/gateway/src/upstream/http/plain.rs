//! Plain HTTP/1.1 to one address, for servers on this machine and wherever no proxy stands between.
//!
//! A tool call is one small request. So whoever makes it drives the connection itself, and nothing is
//! handed from task to task on the way; connections rest here between requests.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::super::hub::lock;
use super::super::link::LinkError;
use super::transport::{BROKEN, INTERNAL, UNREACHABLE, Wanted};
use crate::outbound::{AGENT, Internal, Reach};
use crate::seams::UpstreamError;

/// How long a connection rests before it is closed. Servers close theirs after a while, too.
const REST: Duration = Duration::from_mins(1);

/// One address, and the connections to it that nobody uses at the moment.
pub(super) struct Plain(Arc<Inner>);

struct Inner {
    reach: Reach,
    host: String,
    port: u16,
    /// The `Host` header: the name or address with its port, unless that is the usual one.
    authority: HeaderValue,
    target: Uri,
    connect_timeout: Duration,
    resting: Mutex<Vec<(Instant, Wire)>>,
}

/// A connection, driven by whoever holds it.
struct Wire {
    sender: SendRequest<Full<Bytes>>,
    /// Nothing once it is over.
    connection: Option<Driven>,
}

type Driven = Box<Connection<TokioIo<TcpStream>, Full<Bytes>>>;

/// An answer whose body is still to be read. Dropped before its end, the connection is closed, which
/// tells the server that nobody wants the rest.
pub(super) struct Answer {
    pub(super) head: Response<()>,
    body: Incoming,
    /// Given back at the end of the body.
    wire: Option<Wire>,
    plain: Arc<Inner>,
}

impl Plain {
    /// Requests to `url`, if they can be made this way.
    pub(super) fn to(url: &Url, reach: &Reach, connect_timeout: Duration) -> Option<Self> {
        let is_plain = url.scheme() == "http" && url.username().is_empty();
        if !is_plain || url.password().is_some() {
            return None;
        }
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default()?;
        let authority = HeaderValue::from_str(url.authority()).ok()?;
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let target = format!("{}{query}", url.path()).parse().ok()?;
        let (reach, resting) = (reach.clone(), Mutex::default());
        Some(Self(Arc::new(Inner {
            reach,
            host,
            port,
            authority,
            target,
            connect_timeout,
            resting,
        })))
    }

    /// Closes the connections that rested too long.
    pub(super) fn sweep(&self) {
        lock(&self.0.resting).retain(|(since, _)| since.elapsed() < REST);
    }

    /// Sends a request; gives the answer as soon as it begins.
    pub(super) async fn send(&self, wanted: Wanted) -> Result<Answer, LinkError> {
        let mut request = self.0.request(wanted);
        // A connection that rested may have been closed by the server. A request that was not begun on
        // it goes to the next; the last one is new.
        loop {
            let (mut wire, is_new) = match self.0.rested() {
                Some(wire) => (wire, false),
                None => (self.0.connect().await?, true),
            };
            if !is_new && !wire.is_ready().await {
                continue;
            }
            request = match wire.exchange(request).await {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    let head = Response::from_parts(head, ());
                    let plain = Arc::clone(&self.0);
                    return Ok(Answer { head, body, wire: Some(wire), plain });
                }
                Err(Some(untouched)) if !is_new => untouched,
                Err(_) => return Err(LinkError::unavailable(BROKEN)),
            };
        }
    }
}

impl Inner {
    fn request(&self, wanted: Wanted) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(wanted.body));
        *request.method_mut() = wanted.method;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = wanted.headers;
        request.headers_mut().insert(HOST, self.authority.clone());
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
        request
    }

    fn rested(&self) -> Option<Wire> {
        let (since, wire) = lock(&self.resting).pop()?;
        (since.elapsed() < REST).then_some(wire)
    }

    /// Keeps a connection for the next request.
    fn keep(&self, wire: Wire) {
        lock(&self.resting).push((Instant::now(), wire));
    }

    async fn connect(&self) -> Result<Wire, LinkError> {
        let connecting = async {
            let addresses = self.reach.resolve(&self.host, self.port).await?;
            TcpStream::connect(addresses.as_slice()).await.map_err(Into::into)
        };
        let connected: Result<TcpStream, Box<dyn std::error::Error + Send + Sync>> =
            tokio::time::timeout(self.connect_timeout, connecting)
                .await
                .map_err(|_| LinkError::Failed(UpstreamError::Timeout))?;
        let stream = connected.map_err(|error| {
            LinkError::unavailable(if error.is::<Internal>() { INTERNAL } else { UNREACHABLE })
        })?;
        // A request is one piece: waiting for more would only delay it. It works without, too.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|_| LinkError::unavailable(BROKEN))?;
        Ok(Wire { sender, connection: Some(Box::new(connection)) })
    }
}

impl Wire {
    /// Waits for `work` on the connection while the connection is driven.
    async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let Self { connection, .. } = self;
        drive(connection, work).await
    }

    /// Whether another request can be sent: the server may have closed the connection.
    async fn is_ready(&mut self) -> bool {
        let Self { sender, connection } = self;
        drive(connection, sender.ready()).await.is_ok()
    }

    /// Sends a request and waits for the head of the answer. A request of which nothing was sent is
    /// given back.
    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Option<Request<Full<Bytes>>>> {
        let Self { sender, connection } = self;
        let sent = drive(connection, sender.try_send_request(request)).await;
        sent.map_err(|mut error| error.take_message())
    }
}

async fn drive<T>(connection: &mut Option<Driven>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        let is_over = connection
            .as_mut()
            .is_some_and(|connection| Pin::new(connection).poll(context).is_ready());
        if is_over {
            // What waits for it is told by its end of the channel.
            *connection = None;
        }
        work.as_mut().poll(context)
    })
    .await
}

impl Answer {
    /// The next piece of the body; nothing at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, LinkError> {
        loop {
            let Some(wire) = &mut self.wire else { return Ok(None) };
            let frame = wire.drive(self.body.frame()).await;
            match frame {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => return Err(LinkError::unavailable(BROKEN)),
                None => {
                    if let Some(wire) = self.wire.take() {
                        self.plain.keep(wire);
                    }
                    return Ok(None);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    async fn listener() -> (TcpListener, Plain) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp?a=b", listener.local_addr().unwrap());
        let url = Url::parse(&url).unwrap();
        let plain = Plain::to(&url, &Reach::Anywhere, Duration::from_secs(5)).unwrap();
        (listener, plain)
    }

    fn wanted(body: &'static str) -> Wanted {
        Wanted { method: Method::POST, headers: HeaderMap::new(), body: body.into() }
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

    async fn whole(mut answer: Answer) -> String {
        let mut text = vec![];
        while let Some(chunk) = answer.chunk().await.unwrap() {
            text.extend_from_slice(&chunk);
        }
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn requests_one_after_the_other_share_a_connection_that_the_server_keeps() {
        let (listener, plain) = listener().await;
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let first = hear(&mut stream).await;
            say(&mut stream, "one").await;
            let second = hear(&mut stream).await;
            say(&mut stream, "two").await;
            (first, second)
        };
        let client = async {
            let first = whole(plain.send(wanted("1")).await.unwrap()).await;
            (first, whole(plain.send(wanted("2")).await.unwrap()).await)
        };

        let (heard, answered) = tokio::join!(server, client);

        assert_eq!(answered, ("one".to_owned(), "two".to_owned()));
        assert!(heard.0.starts_with("POST /mcp?a=b HTTP/1.1\r\n"), "{}", heard.0);
        assert!(heard.0.ends_with("\r\n\r\n1") && heard.1.ends_with("\r\n\r\n2"));
    }

    #[tokio::test]
    async fn a_request_finds_a_new_connection_when_the_server_closed_the_old_one() {
        let (listener, plain) = listener().await;
        let first = async { whole(plain.send(wanted("1")).await.unwrap()).await };
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            hear(&mut stream).await;
            say(&mut stream, "one").await;
        };
        tokio::join!(first, server);

        let second = async { whole(plain.send(wanted("2")).await.unwrap()).await };
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let heard = hear(&mut stream).await;
            say(&mut stream, "two").await;
            heard
        };
        let (answered, heard) = tokio::join!(second, server);

        assert_eq!(answered, "two");
        assert!(heard.ends_with("\r\n\r\n2"), "{heard}");
    }

    #[tokio::test]
    async fn a_request_that_was_sent_is_not_sent_again() {
        let (listener, plain) = listener().await;
        let server = async {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                hear(&mut stream).await;
                say(&mut stream, "one").await;
                // The second request on this connection is heard and not answered.
                hear(&mut stream).await;
            }
        };
        let client = async {
            whole(plain.send(wanted("1")).await.unwrap()).await;
            plain.send(wanted("2")).await.map(drop)
        };

        let broken = tokio::select! {
            broken = client => broken,
            () = server => panic!("it came a second time"),
        };

        assert_eq!(broken, Err(LinkError::unavailable(BROKEN)));
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_to_its_end_closes_the_connection() {
        let (listener, plain) = listener().await;
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            hear(&mut stream).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.read(&mut [0; 16]).await.unwrap()
        };
        let client = async {
            let mut answer = plain.send(wanted("1")).await.unwrap();
            answer.chunk().await.unwrap()
        };

        let (rest, half) = tokio::join!(server, client);

        assert_eq!((rest, half.as_deref()), (0, Some(b"half".as_slice())));
    }

    #[tokio::test]
    async fn a_connection_that_rested_too_long_is_closed() {
        let (listener, plain) = listener().await;
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            hear(&mut stream).await;
            say(&mut stream, "one").await;
            stream
        };
        let client = async { whole(plain.send(wanted("1")).await.unwrap()).await };
        let (mut stream, _) = tokio::join!(server, client);

        plain.sweep();
        let kept = lock(&plain.0.resting).len();
        tokio::time::pause();
        tokio::time::advance(REST).await;
        tokio::time::resume();
        plain.sweep();

        assert_eq!((kept, lock(&plain.0.resting).len()), (1, 0));
        assert_eq!(stream.read(&mut [0; 16]).await.unwrap(), 0);
    }

    #[test]
    fn what_needs_more_than_a_plain_connection_is_left_to_the_general_client() {
        let takes = |url: &str| {
            let url = Url::parse(url).unwrap();
            Plain::to(&url, &Reach::Anywhere, Duration::ZERO).is_some()
        };

        assert!(takes("http://127.0.0.1:1/mcp") && takes("http://[::1]/mcp"));
        assert!(!takes("https://127.0.0.1/mcp") && !takes("http://me:secret@127.0.0.1/mcp"));
    }
}
