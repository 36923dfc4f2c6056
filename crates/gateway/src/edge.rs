//! The HTTP edge: one endpoint for every revision of the protocol.
//!
//! Start at [`router`]; a POST goes through `post`, which knows who asks and in which revision, and
//! hands the message to `dispatch`. What an answer looks like on the wire is in `answer`.
//!
//! Invariant: nothing of a request is looked at before its Host and Origin are, and no message is
//! acted on before its token is known.

mod answer;
mod client;
mod dispatch;
mod guard;
mod listen;
mod metadata;
mod payload;
mod post;
mod session;

use axum::Router;
use axum::routing::{get, post};

use crate::Gateway;

/// Where the metadata of RFC 9728 is.
pub(crate) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The routes of the gateway: `/mcp` for everything, `/mcp/<server>` for one server under its own
/// names, and the document that tells clients how to authenticate.
pub fn router(gateway: Gateway) -> Router {
    let endpoint = || post(post::post).get(session::get).delete(session::delete);
    Router::new()
        .route("/mcp", endpoint())
        .route("/mcp/{server}", endpoint())
        .route(METADATA_PATH, get(metadata::metadata))
        .route(&format!("{METADATA_PATH}/{{*resource}}"), get(metadata::metadata))
        .with_state(gateway)
}
