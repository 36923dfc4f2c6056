//! Connections whose request was not read to its end.
//!
//! A refusal is often made before the body was read. What is left of it stands in the way of the next
//! request, so the server closes the connection; a client that was not told so sends its next request
//! into the void. Here it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{StreamExt as _, future, stream};
use http::header::CONNECTION;
use http::{HeaderValue, Version};

/// Says that the connection ends with this answer, if the body of the request was not read.
pub(crate) async fn close_if_unread(request: Request, next: Next) -> Response {
    // Newer versions of HTTP give each request a stream of its own.
    if request.body().is_end_stream() || request.version() > Version::HTTP_11 {
        return next.run(request).await;
    }
    let (request, is_read) = watched(request);
    let mut response = next.run(request).await;
    if !is_read.load(Ordering::Acquire) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The same request, and whether its body was read to the end.
fn watched(request: Request) -> (Request, Arc<AtomicBool>) {
    let is_read = Arc::new(AtomicBool::new(false));
    let at_end = Arc::clone(&is_read);
    let end = stream::once(async move { at_end.store(true, Ordering::Release) });
    let request = request.map(|body| {
        let end = end.filter_map(|()| future::ready(None));
        Body::from_stream(body.into_data_stream().chain(end))
    });
    (request, is_read)
}
