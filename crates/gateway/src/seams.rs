//! What the gateway needs of the servers behind it, and what they may ask of the client before it.
//!
//! Messages are whole JSON-RPC messages, raw: the gateway decides on them and hands them on, it does
//! not rebuild them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

/// The client is gone: nobody will answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone, or cannot be asked")]
pub struct Gone;

/// What is known of a client.
#[derive(Debug, Clone)]
pub struct ClientAbout {
    /// The protocol version it speaks with us.
    pub version: String,
    /// Its capabilities, as it declared them.
    pub capabilities: Box<RawValue>,
    /// Its name and version, if it told them.
    pub info: Option<Box<RawValue>>,
}

/// The client behind a request, as an upstream server sees it while it works.
#[async_trait]
pub trait ClientSide: Send + Sync {
    /// Who it is.
    fn about(&self) -> &ClientAbout;

    /// Sends a whole notification to the client, on the stream of the request. Lost without harm
    /// when the client takes none.
    async fn notify(&self, message: Box<RawValue>);

    /// Sends a whole request of the server to the client and gives the whole response, with the id
    /// the server chose. Fails when the client is gone, or speaks a revision without such requests.
    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, Gone>;
}

/// What a server said about itself when it was opened.
#[derive(Debug, Clone)]
pub struct ServerAbout {
    /// Its capabilities.
    pub capabilities: Box<RawValue>,
    /// Its name and version.
    pub info: Box<RawValue>,
    /// How to use it, in its own words.
    pub instructions: Option<String>,
}

/// Which client's conversation an upstream connection belongs to. Two sessions never share one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// The session, or the token in the revision that has no sessions.
    pub id: String,
    /// Whether the client speaks the revision without sessions.
    pub is_stateless: bool,
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A session id is a credential of sorts; logs do not need it.
        f.debug_struct("SessionKey")
            .field("is_stateless", &self.is_stateless)
            .finish_non_exhaustive()
    }
}

/// Why a server behind the gateway did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// There is no such server.
    #[error("the server is not installed")]
    Unknown,
    /// It cannot be reached; the reason holds no secret.
    #[error("the server does not answer: {0}")]
    Unavailable(String),
    /// Too much is under way with this server.
    #[error("the server is busy: try again shortly")]
    Busy,
    /// It did not answer in time.
    #[error("the server did not answer in time")]
    Timeout,
    /// The client withdrew the request.
    #[error("the request was canceled")]
    Canceled,
    /// What it answered is no message.
    #[error("the server answered with something that is not the protocol: {0}")]
    Protocol(String),
}

/// One open conversation with a server.
#[async_trait]
pub trait Upstream: Send + Sync {
    /// What it said about itself.
    fn about(&self) -> &ServerAbout;

    /// Sends a whole request and gives the whole response, with the id of the request. Ids and
    /// progress tokens are the client's; whoever shares a connection keeps them apart.
    async fn request(
        &self,
        message: Box<RawValue>,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError>;

    /// Sends a whole notification.
    async fn notify(&self, message: Box<RawValue>) -> Result<(), UpstreamError>;
}

/// Every server behind the gateway.
#[async_trait]
pub trait Upstreams: Send + Sync {
    /// The conversation of `session` with a server, opened if there is none yet. `client` is the
    /// client apart from any request: it hears what belongs to none.
    async fn open(
        &self,
        server: ServerId,
        session: &SessionKey,
        client: Arc<dyn ClientSide>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError>;

    /// Why a server is left alone for now, if it is: it failed several times in a row.
    fn at_rest(&self, _: ServerId) -> Option<UpstreamError> {
        None
    }

    /// The session is over: its conversations may be closed.
    async fn close(&self, session: &SessionKey);

    /// The server changed or is gone: connections to it are not used any longer.
    async fn forget(&self, server: ServerId);
}

/// No servers: every attempt to reach one fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUpstreams;

#[async_trait]
impl Upstreams for NoUpstreams {
    async fn open(
        &self,
        _: ServerId,
        _: &SessionKey,
        _: Arc<dyn ClientSide>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        Err(UpstreamError::Unknown)
    }

    async fn close(&self, _: &SessionKey) {}

    async fn forget(&self, _: ServerId) {}
}
