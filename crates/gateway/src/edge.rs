//! The HTTP edge: one endpoint for every protocol revision.
//!
//! Start at [`router`]. A POST goes through `post`, which authenticates the caller, determines the
//! revision and passes the message to `dispatch`. `response` renders responses.
//!
//! Invariant: Host and Origin are checked before anything else of a request, and the token before
//! any message is processed.

mod admission;
mod client;
mod dispatch;
mod guard;
mod metadata;
mod payload_log;
mod post;
mod response;
mod session;
mod subscriptions;

use axum::Router;
use axum::routing::{get, post};

use crate::McpGateway;

/// The protected resource metadata of RFC 9728.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The routes of the gateway: `/mcp` for all tools, `/mcp/<server>` for one server with its own
/// tool names, and the metadata for clients that need to authenticate.
pub fn router(gateway: McpGateway) -> Router {
    let endpoint = || post(post::post).get(session::get).delete(session::delete);
    Router::new()
        .route("/mcp", endpoint())
        .route("/mcp/{server}", endpoint())
        .route(METADATA_PATH, get(metadata::metadata))
        .route(&format!("{METADATA_PATH}/{{*resource}}"), get(metadata::metadata))
        .with_state(gateway)
}
