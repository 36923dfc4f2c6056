//! Response bodies that hold a value until they are sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// Drops `guard` when the response is sent or its client disconnects.
pub fn hold_until_sent(response: Response, guard: impl Send + Unpin + 'static) -> Response {
    // A body without content is not polled.
    if response.body().is_end_stream() {
        return response;
    }
    response.map(|body| Body::new(GuardedBody { body, _guard: guard }))
}

/// Whether the response is a stream of server-sent events, which may stay open for hours.
pub fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

struct GuardedBody<G> {
    body: Body,
    _guard: G,
}

impl<G: Unpin> HttpBody for GuardedBody<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
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
    use std::sync::Arc;

    use axum::response::IntoResponse as _;

    use super::*;

    #[tokio::test]
    async fn a_guard_lives_as_long_as_the_body_and_leaves_its_length() {
        let guard = Arc::new(());

        let response = hold_until_sent("hello".into_response(), Arc::clone(&guard));

        assert_eq!(response.body().size_hint().exact(), Some(5));
        assert_eq!(Arc::strong_count(&guard), 2);
        let body = axum::body::to_bytes(response.into_body(), 9).await.unwrap();
        assert_eq!((&*body, Arc::strong_count(&guard)), (&b"hello"[..], 1));
        let empty = hold_until_sent(().into_response(), Arc::clone(&guard));
        assert_eq!(Arc::strong_count(&guard), 1, "{empty:?}");
    }
}
