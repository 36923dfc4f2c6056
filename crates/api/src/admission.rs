//! Admits requests within the limits of their user and project.
//!
//! Start at [`serve_within_limits`]. A request holds its place until its response is sent. An event stream counts with the
//! open streams of its user instead: over that limit a `GET` is refused, and the response to any other
//! method, whose operation was performed, stays a request.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use cynode_resources::request_limits::{RequestLimits, RequestPermit, RequestRefusal, Requester};
use cynode_runtime::guarded_body;
use http::Method;
use http::header::RETRY_AFTER;

use crate::error::ApiError;

/// Runs the request if its user may have one more.
pub(crate) async fn serve_within_limits(
    limits: &RequestLimits,
    requester: Requester,
    request: Request,
    next: Next,
) -> Result<Response, RequestRefusal> {
    let permit = limits.admit(requester)?;
    let is_read = request.method() == Method::GET;
    let response = next.run(request).await;
    if is_read {
        return hold_read_permit(response, permit);
    }
    Ok(hold_permit(response, permit))
}

/// Holds the permit until the response is sent.
pub(crate) fn hold_permit(response: Response, mut permit: RequestPermit) -> Response {
    if guarded_body::is_event_stream(&response) {
        // Otherwise it stays a request.
        let _ = permit.become_stream();
    }
    guarded_body::hold_until_sent(response, permit)
}

fn hold_read_permit(
    response: Response,
    mut permit: RequestPermit,
) -> Result<Response, RequestRefusal> {
    if guarded_body::is_event_stream(&response) {
        permit.become_stream()?;
    }
    Ok(guarded_body::hold_until_sent(response, permit))
}

/// The refusal as a problem.
pub(crate) fn refuse_with_problem(refusal: RequestRefusal) -> Response {
    let seconds = refusal.retry_after_seconds;
    let mut response = ApiError::from(refusal).into_response();
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
    response
}
