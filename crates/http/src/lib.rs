//! Plain HTTP/1.1 for small requests that follow each other, without a general client.
//!
//! Start at [`Connections`]: those to one server that nobody uses at the moment. Whoever makes a
//! request drives its connection itself, so nothing is handed from task to task on the way there and
//! back. How to reach the server is for the caller to say, and with it what may be reached.
//!
//! Invariants: a request that was begun is never sent twice; an answer that nobody reads to its end
//! closes its connection, which tells the server to stop.

mod wire;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use tokio::net::TcpStream;
use tokio::time::Instant;

use wire::Wire;

/// How long a connection rests before it is closed. Servers close theirs after a while, too.
const REST: Duration = Duration::from_mins(1);

/// The connections to one server that nobody uses at the moment. Cheap to clone; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Connections {
    resting: Arc<Mutex<Vec<(Instant, Wire)>>>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError<E> {
    /// The server could not be reached, so it has not heard of the request.
    #[error("the server cannot be reached")]
    Connect(#[source] E),
    /// The connection ended before the answer began. The server may have acted all the same.
    #[error("the connection broke")]
    Broken,
}

/// The connection ended before the answer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection broke in the middle of an answer")]
pub struct Cut;

/// An answer whose body is still to be read.
#[derive(Debug)]
pub struct Answer {
    /// Status and headers.
    pub head: Response<()>,
    body: Incoming,
    /// Given back at the end of the body.
    wire: Option<Wire>,
    home: Connections,
}

impl Connections {
    /// Sends a request, over what `connect` gives if no connection rests; gives the answer as soon
    /// as it begins. The request needs a path as its URI, and a `Host`.
    pub async fn send<E>(
        &self,
        mut request: Request<Full<Bytes>>,
        connect: impl Future<Output = Result<TcpStream, E>>,
    ) -> Result<Answer, SendError<E>> {
        // The server may have closed a connection at rest. A request that was not begun on it goes to
        // the next.
        while let Some(mut wire) = self.rested() {
            if !wire.is_ready().await {
                continue;
            }
            request = match wire.exchange(request).await {
                Ok(response) => return Ok(self.answer(response, wire)),
                Err(Some(untouched)) => untouched,
                Err(None) => return Err(SendError::Broken),
            };
        }
        let stream = connect.await.map_err(SendError::Connect)?;
        let mut wire = Wire::over(stream).await.map_err(|_| SendError::Broken)?;
        match wire.exchange(request).await {
            Ok(response) => Ok(self.answer(response, wire)),
            Err(_) => Err(SendError::Broken),
        }
    }

    /// Closes the connections that rested too long.
    pub fn sweep(&self) {
        self.lock().retain(|(since, _)| since.elapsed() < REST);
    }

    fn rested(&self) -> Option<Wire> {
        let (since, wire) = self.lock().pop()?;
        (since.elapsed() < REST).then_some(wire)
    }

    fn keep(&self, wire: Wire) {
        self.lock().push((Instant::now(), wire));
    }

    fn answer(&self, response: Response<Incoming>, wire: Wire) -> Answer {
        let (head, body) = response.into_parts();
        let head = Response::from_parts(head, ());
        Answer { head, body, wire: Some(wire), home: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Instant, Wire)>> {
        // Nothing that holds it can leave it half done.
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    /// The next piece of the body; nothing at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Cut> {
        loop {
            let Some(wire) = &mut self.wire else { return Ok(None) };
            match wire.drive(self.body.frame()).await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => return Err(Cut),
                None => {
                    if let Some(wire) = self.wire.take() {
                        self.home.keep(wire);
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// The whole body.
    pub async fn bytes(mut self) -> Result<Bytes, Cut> {
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut whole = Vec::with_capacity(2 * (first.len() + second.len()));
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        while let Some(next) = self.chunk().await? {
            whole.extend_from_slice(&next);
        }
        Ok(whole.into())
    }
}

#[cfg(test)]
mod tests;
