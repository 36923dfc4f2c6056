//! The client as upstream servers see it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::sessions::GatewaySession;
use cynode_upstream::interface::ClientDescription;
use cynode_upstream::interface::ClientUnreachable;
use cynode_upstream::interface::UpstreamClient;

/// The client of a request in flight.
pub(super) struct RequestClient {
    pub(super) client_description: Arc<ClientDescription>,
    /// The response stream of the request; `None` if the client does not accept streams.
    pub(super) stream: Option<mpsc::Sender<Box<RawValue>>>,
    /// Without a session the client cannot receive requests.
    pub(super) session: Option<Arc<GatewaySession>>,
}

#[async_trait]
impl UpstreamClient for RequestClient {
    fn about(&self) -> &ClientDescription {
        &self.client_description
    }

    async fn notify(&self, message: Box<RawValue>) {
        if let Some(stream) = &self.stream {
            // A disconnected client no longer needs the message.
            let _ = stream.send(message).await;
        }
    }

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, ClientUnreachable> {
        match (&self.session, &self.stream) {
            (Some(session), Some(stream)) => {
                session.relay_request_to_client(&request, stream).await
            }
            _ => Err(ClientUnreachable),
        }
    }
}

/// The client outside of requests: messages go to the stream of its session.
pub(super) struct SessionClient {
    pub(super) client_description: Arc<ClientDescription>,
    pub(super) session: Option<Arc<GatewaySession>>,
}

#[async_trait]
impl UpstreamClient for SessionClient {
    fn about(&self) -> &ClientDescription {
        &self.client_description
    }

    async fn notify(&self, message: Box<RawValue>) {
        if let Some(session) = &self.session {
            session.send_notification(message);
        }
    }

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, ClientUnreachable> {
        match &self.session {
            Some(session) => session.send_request_on_stream(&request).await,
            None => Err(ClientUnreachable),
        }
    }
}
