//! Admits requests within the limits of their user and project, which the other APIs share.

use std::sync::{Arc, Mutex, PoisonError};

use axum::response::Response;
use cynode_resources::request_limits::{RequestPermit, RequestRefusal, Requester};
use cynode_runtime::guarded_body;
use http::StatusCode;
use http::header::RETRY_AFTER;

use super::post::AuthenticatedRequest;
use super::response;
use cynode_upstream::rpc::INVALID_REQUEST;
use cynode_upstream::rpc::RpcError;

/// A permit that the response and the call share: a call goes on when its client disconnects, and counts until it ends.
pub(super) type SharedPermit = Arc<Mutex<RequestPermit>>;

pub(super) const TOKEN_RATE_EXCEEDED: &str = "too many requests; retry after a second";

impl AuthenticatedRequest {
    /// Counts the request against the limits of its user and project.
    pub(super) fn acquire_permit(&self) -> Result<SharedPermit, Box<Response>> {
        let requester = Requester::from(&*self.identity);
        let limits = &self.gateway.inner.request_limits;
        let permit = limits.acquire(requester).map_err(|refusal| limit_response(&refusal))?;
        let permit = Arc::new(Mutex::new(permit));
        // Each request is admitted once.
        let _ = self.permit.set(Arc::clone(&permit));
        Ok(permit)
    }
}

/// Holds the permit until the response is sent. A stream counts with the open streams, or stays a request if there are
/// too many: its call was made.
pub(super) fn hold_permit(response: Response, permit: SharedPermit) -> Response {
    if guarded_body::is_event_stream(&response) {
        let _ = become_stream(&permit);
    }
    guarded_body::hold_until_sent(response, permit)
}

/// Counts a request with the open streams from now on.
pub(super) fn become_stream(permit: &SharedPermit) -> Result<(), RequestRefusal> {
    permit.lock().unwrap_or_else(PoisonError::into_inner).become_stream()
}

/// The response to a request over a limit of its user or project.
pub(super) fn limit_response(refusal: &RequestRefusal) -> Response {
    rate_limited(&refusal.to_string(), refusal.retry_after_seconds)
}

pub(super) fn rate_limited(message: &str, retry_after_seconds: u64) -> Response {
    let error = RpcError::new(INVALID_REQUEST, message);
    let mut response = response::error_response(StatusCode::TOO_MANY_REQUESTS, &error);
    response.headers_mut().insert(RETRY_AFTER, retry_after_seconds.into());
    response
}
