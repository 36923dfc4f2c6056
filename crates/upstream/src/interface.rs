//! The traits between the gateway and upstream servers.
//!
//! Messages are whole raw JSON-RPC messages: the gateway inspects and forwards them, it does not
//! rebuild them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::ServerId;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

/// The client has disconnected, or cannot receive requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client has disconnected, or accepts no requests")]
pub struct ClientUnreachable;

/// The description of a client.
#[derive(Debug, Clone)]
pub struct ClientDescription {
    /// The negotiated protocol version.
    pub version: String,
    /// As the client declared them.
    pub capabilities: Box<RawValue>,
    /// Its `clientInfo`, if it sent one.
    pub info: Option<Box<RawValue>>,
}

/// The client of a request, as an upstream server sees it.
#[async_trait]
pub trait UpstreamClient: Send + Sync {
    fn about(&self) -> &ClientDescription;

    /// Sends a whole notification to the client, on the stream of the request. Dropped if the
    /// client does not receive notifications.
    async fn notify(&self, message: Box<RawValue>);

    /// Sends a whole server request to the client and returns the whole response, with the server's
    /// id. Fails when the client has disconnected, or its revision has no such requests.
    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, ClientUnreachable>;
}

/// The description of a server, from the handshake.
#[derive(Debug, Clone)]
pub struct ServerDescription {
    pub capabilities: Box<RawValue>,
    /// Its `serverInfo`.
    pub info: Box<RawValue>,
    pub instructions: Option<String>,
}

/// Identifies the client session that owns an upstream connection. Two sessions never share one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// The session id; the API token in the revision without sessions.
    pub id: String,
    /// Whether the client speaks the revision without sessions.
    pub is_stateless: bool,
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A session id is a kind of credential; logs do not need it.
        f.debug_struct("SessionKey")
            .field("is_stateless", &self.is_stateless)
            .finish_non_exhaustive()
    }
}

/// Why an upstream request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    #[error("the server is not installed")]
    Unknown,
    /// The reason holds no secret.
    #[error("the server is unavailable: {0}")]
    Unavailable(String),
    /// The concurrency limit of the server is reached.
    #[error("the server is busy; try again shortly")]
    Busy,
    #[error("the server did not answer in time")]
    Timeout,
    /// The client canceled the request.
    #[error("the request was canceled")]
    Canceled,
    /// The response is not a valid message.
    #[error("the server violated the MCP protocol: {0}")]
    Protocol(String),
}

impl Classified for UpstreamError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::Unknown => Classification::new(ErrorClass::NotFound, self),
            Self::Unavailable(_) | Self::Busy => Classification::new(ErrorClass::Unavailable, self),
            Self::Timeout => Classification::new(ErrorClass::Timeout, self),
            Self::Canceled => Classification::new(ErrorClass::Canceled, self),
            Self::Protocol(_) => Classification::new(ErrorClass::UpstreamFailed, self),
        }
    }
}

/// One open MCP session with a server.
#[async_trait]
pub trait Upstream: Send + Sync {
    fn about(&self) -> &ServerDescription;

    /// Sends a whole request and returns the whole response, with the id of the request. Ids and
    /// progress tokens are the client's; a shared connection keeps them apart.
    async fn request(
        &self,
        message: Box<RawValue>,
        client: Arc<dyn UpstreamClient>,
        cancel: CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError>;

    /// Sends a whole notification.
    async fn notify(&self, message: Box<RawValue>) -> Result<(), UpstreamError>;
}

/// All installed servers.
#[async_trait]
pub trait Upstreams: Send + Sync {
    /// The upstream session of `session` with a server, opened on first use. `client` receives
    /// messages that belong to no request.
    async fn open(
        &self,
        server: ServerId,
        session: &SessionKey,
        client: Arc<dyn UpstreamClient>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError>;

    /// Why calls to a server are rejected now; `None` while its circuit is closed.
    fn circuit_error(&self, _: ServerId) -> Option<UpstreamError> {
        None
    }

    /// Closes the upstream sessions of a session that ended.
    async fn close(&self, session: &SessionKey);

    /// Drops the connections to a server that changed or was removed.
    async fn drop_connections(&self, server: ServerId);
}

/// No servers: every attempt to open one fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUpstreams;

#[async_trait]
impl Upstreams for NoUpstreams {
    async fn open(
        &self,
        _: ServerId,
        _: &SessionKey,
        _: Arc<dyn UpstreamClient>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        Err(UpstreamError::Unknown)
    }

    async fn close(&self, _: &SessionKey) {}

    async fn drop_connections(&self, _: ServerId) {}
}
