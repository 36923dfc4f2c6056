//! What a handler knows of its caller.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::ids::{ProfileId, TraceId};
use serde_json::Value;

/// The context of a call.
#[derive(Clone)]
pub struct HandlerContext {
    /// The profile that the call is made for; `None` for people, who have none.
    pub profile: Option<ProfileId>,
    /// The trace that the call belongs to.
    pub trace: TraceId,
    /// The way to the network; `None` unless the caller may use it.
    pub fetch: Option<Arc<dyn FetchDocument>>,
}

impl fmt::Debug for HandlerContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerContext")
            .field("profile", &self.profile)
            .field("trace", &self.trace)
            .field("may_fetch", &self.fetch.is_some())
            .finish()
    }
}

/// A JSON document and the address that it came from, after redirects.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchedJson {
    pub url: String,
    pub document: Value,
}

/// Why a document could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchFailure {
    /// A rule forbids the host.
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    Failed(String),
}

/// Fetches documents, from the hosts that the caller may reach.
#[async_trait]
pub trait FetchDocument: Send + Sync {
    async fn fetch_json(&self, url: &str) -> Result<FetchedJson, FetchFailure>;
}
