//! `Connection: close` for responses to requests whose body was not fully read.
//!
//! Errors are often sent before the body was read. The unread rest would corrupt the next request, so the
//! server closes the connection; without the header the client would send its next request to a closed
//! connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{StreamExt as _, future, stream};
use http::header::CONNECTION;
use http::{HeaderValue, Version};

/// Adds `Connection: close` if the body of the request was not fully read.
pub(crate) async fn close_if_unread(request: Request, next: Next) -> Response {
    // HTTP/2 and later have a stream per request.
    if request.body().is_end_stream() || request.version() > Version::HTTP_11 {
        return next.run(request).await;
    }
    let (request, is_read) = track_reads(request);
    let mut response = next.run(request).await;
    if !is_read.load(Ordering::Acquire) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Wraps the body; the flag becomes true when it was read to the end.
fn track_reads(request: Request) -> (Request, Arc<AtomicBool>) {
    let is_read = Arc::new(AtomicBool::new(false));
    let at_end = Arc::clone(&is_read);
    let end = stream::once(async move { at_end.store(true, Ordering::Release) });
    let request = request.map(|body| {
        let end = end.filter_map(|()| future::ready(None));
        Body::from_stream(body.into_data_stream().chain(end))
    });
    (request, is_read)
}
