//! One connection, which advances only while somebody waits for something on it.

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

/// A connection, driven by whoever holds it.
#[derive(Debug)]
pub(crate) struct Wire {
    sender: SendRequest<Full<Bytes>>,
    /// Nothing once it is over.
    connection: Option<Driven>,
}

type Driven = Box<Connection<TokioIo<TcpStream>, Full<Bytes>>>;

impl Wire {
    pub(crate) async fn over(stream: TcpStream) -> hyper::Result<Self> {
        // A request is one piece: waiting for more would only delay it. It works without, too.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Self { sender, connection: Some(Box::new(connection)) })
    }

    /// Waits for `work` on the connection while the connection is driven.
    pub(crate) async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        drive(&mut self.connection, work).await
    }

    /// Whether another request can be sent: the server may have closed the connection.
    pub(crate) async fn is_ready(&mut self) -> bool {
        let Self { sender, connection } = self;
        drive(connection, sender.ready()).await.is_ok()
    }

    /// Sends a request and waits for the head of the answer. A request of which nothing was sent is
    /// given back.
    pub(crate) async fn exchange(
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
