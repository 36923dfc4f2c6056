//! The stdio transport: one JSON message per line.

use std::io;
use std::sync::Arc;

use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::fixture::McpFixture;
use crate::handler::FixtureHandler;

/// Serves one client until its input ends.
pub async fn serve_lines(
    fixture: Arc<McpFixture>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    match rmcp::serve_server(FixtureHandler::new(fixture), (input, output)).await {
        Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}
