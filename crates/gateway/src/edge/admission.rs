//! Admits requests within the limits of their user and project, which the other APIs share.

use axum::response::Response;
use cynode_resources::request_limits::{RequestPermit, RequestRefusal, Requester};
use cynode_runtime::guarded_body;
use http::StatusCode;
use http::header::RETRY_AFTER;

use super::post::AuthenticatedRequest;
use super::response;
use cynode_upstream::rpc::INVALID_REQUEST;
use cynode_upstream::rpc::RpcError;

pub(super) const TOKEN_RATE_EXCEEDED: &str = "too many requests; retry after a second";

impl AuthenticatedRequest {
    /// Counts the request against the limits of its user and project.
    pub(super) fn acquire_permit(&self) -> Result<RequestPermit, Box<Response>> {
        let requester = Requester::from(&*self.identity);
        let limits = &self.gateway.inner.request_limits;
        limits.acquire(requester).map_err(|refusal| Box::new(limit_response(&refusal)))
    }
}

/// Holds the permit until the response is sent. A stream counts with the open streams, or stays a request if there are
/// too many: its call was made.
pub(super) fn hold_permit(response: Response, mut permit: RequestPermit) -> Response {
    if guarded_body::is_event_stream(&response) {
        let _ = permit.become_stream();
    }
    guarded_body::hold_until_sent(response, permit)
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
