//! One connection, polled only while a caller waits on it.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// A connection, driven by its holder.
#[derive(Debug)]
pub(crate) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it is closed.
    connection: Option<BoxedConnection>,
}

type BoxedConnection = Box<Connection<TokioIo<TcpStream>, Full<Bytes>>>;

impl HttpConnection {
    pub(crate) async fn handshake(stream: TcpStream) -> hyper::Result<Self> {
        // A request is one write: Nagle's algorithm would only delay it. Best effort.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Self { sender, connection: Some(Box::new(connection)) })
    }

    /// Awaits `work` while driving the connection.
    pub(crate) async fn drive_until<T>(&mut self, work: impl Future<Output = T>) -> T {
        poll_with_connection(&mut self.connection, work).await
    }

    /// Whether another request can be sent; false if the server closed the connection.
    pub(crate) async fn is_ready(&mut self) -> bool {
        let Self { sender, connection } = self;
        poll_with_connection(connection, sender.ready()).await.is_ok()
    }

    /// Sends a request and waits for the response head. Returns the request if nothing of it was sent.
    pub(crate) async fn send_request(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Option<Request<Full<Bytes>>>> {
        let Self { sender, connection } = self;
        let sent = poll_with_connection(connection, sender.try_send_request(request)).await;
        sent.map_err(|mut error| error.take_message())
    }
}

async fn poll_with_connection<T>(
    connection: &mut Option<BoxedConnection>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        let is_over = connection
            .as_mut()
            .is_some_and(|connection| Pin::new(connection).poll(context).is_ready());
        if is_over {
            // The waiting future is woken by its end of the channel.
            *connection = None;
        }
        work.as_mut().poll(context)
    })
    .await
}
