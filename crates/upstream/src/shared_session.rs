//! A session's handle on a shared upstream session.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::conversation::UpstreamSession;
use super::message::ParsedClientRequest;
use super::server_connections::{ServerConnections, SessionSlot};
use crate::interface::ServerDescription;
use crate::interface::SessionKey;
use crate::interface::Upstream;
use crate::interface::UpstreamClient;
use crate::interface::UpstreamError;

/// Methods that would change the shared session for other clients.
const SESSION_STATE_METHODS: [&str; 3] =
    ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Uses the shared upstream session until the session sends a request that changes session state;
/// from then on the session has an upstream session of its own.
pub(super) struct SharedSession {
    pub(super) shared: Arc<UpstreamSession>,
    pub(super) connections: Arc<ServerConnections>,
    pub(super) session: SessionKey,
    pub(super) listener: Arc<dyn UpstreamClient>,
}

impl SharedSession {
    async fn own_session(&self) -> Result<Arc<UpstreamSession>, UpstreamError> {
        let slot = SessionSlot::Own(self.session.clone());
        let own = self.connections.conversation(&slot, self.listener.about()).await?;
        self.shared.router.remove_listener(&self.session.id);
        own.attach(&self.session.id, &self.listener);
        Ok(own)
    }
}

#[async_trait]
impl Upstream for SharedSession {
    fn about(&self) -> &ServerDescription {
        self.shared.about()
    }

    async fn request(
        &self,
        message: Box<RawValue>,
        client: Arc<dyn UpstreamClient>,
        cancel: CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let is_personal =
            SESSION_STATE_METHODS.contains(&ParsedClientRequest::read(&message)?.method.as_str());
        if is_personal && !self.session.is_stateless {
            return self.own_session().await?.request(message, client, cancel).await;
        }
        self.shared.request(message, client, cancel).await
    }

    /// Client notifications are not forwarded to a shared upstream session.
    async fn notify(&self, _: Box<RawValue>) -> Result<(), UpstreamError> {
        Ok(())
    }
}
