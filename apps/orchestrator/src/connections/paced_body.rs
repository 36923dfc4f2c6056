//! A request body that must arrive at a minimum rate. Without it, a client that sends slowly could hold a connection
//! without limit.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

/// The rate is not checked before this time has passed.
const GRACE: Duration = Duration::from_mins(1);
/// A tenth of the slowest connection that people use.
const MIN_BYTES_PER_SECOND: u64 = 512;

const TOO_SLOW: &str =
    "the request body arrives too slowly: at least 512 bytes a second are needed";

/// Fails with the first part that arrives while the average rate is below the minimum.
#[derive(Debug)]
pub(super) struct PacedBody {
    body: Body,
    started: Instant,
    received: u64,
}

impl PacedBody {
    pub(super) fn new(body: Body) -> Self {
        Self { body, started: Instant::now(), received: 0 }
    }

    fn is_too_slow(&self) -> bool {
        let elapsed = self.started.elapsed();
        elapsed > GRACE && self.received < elapsed.as_secs().saturating_mul(MIN_BYTES_PER_SECOND)
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let length = frame.data_ref().map_or(0, Bytes::len);
            self.received = self.received.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
            if self.is_too_slow() {
                return Poll::Ready(Some(Err(axum::Error::new(io::Error::new(
                    io::ErrorKind::TimedOut,
                    TOO_SLOW,
                )))));
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt as _;

    use super::*;

    /// A body of `parts` parts of `bytes` bytes, one every ten seconds.
    fn trickle(parts: u32, bytes: usize) -> PacedBody {
        let part = move |sent: u32| async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            let part = Ok::<_, axum::Error>(Bytes::from(vec![b'x'; bytes]));
            (sent < parts).then_some((part, sent + 1))
        };
        PacedBody::new(Body::from_stream(stream::unfold(0, part)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_in_ends_with_an_error() {
        let error = trickle(1000, 1).collect().await.unwrap_err();

        assert!(error.to_string().contains("too slowly"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_that_keeps_the_rate_and_a_short_one_are_complete() {
        let slow = trickle(100, 6000).collect().await.unwrap().to_bytes();
        let short = trickle(5, 1).collect().await.unwrap().to_bytes();

        assert_eq!((slow.len(), short.len()), (600_000, 5));
    }
}
