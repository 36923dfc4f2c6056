//! A session's seat in a conversation that others share.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::message::Asked;
use super::site::{Place, Site};
use crate::seams::{ClientSide, ServerAbout, SessionKey, Upstream, UpstreamError};

/// What would change the conversation for the others.
const PERSONAL: [&str; 3] = ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Uses the shared conversation until the session wants something that concerns it alone; from then
/// on the session has a conversation of its own.
pub(super) struct Seat {
    pub(super) shared: Arc<Conversation>,
    pub(super) site: Arc<Site>,
    pub(super) session: SessionKey,
    pub(super) listener: Arc<dyn ClientSide>,
}

impl Seat {
    async fn own(&self) -> Result<Arc<Conversation>, UpstreamError> {
        let place = Place::Own(self.session.clone());
        let own = self.site.conversation(&place, self.listener.about()).await?;
        self.shared.hub.remove_listener(&self.session.id);
        own.attach(&self.session.id, &self.listener);
        Ok(own)
    }
}

#[async_trait]
impl Upstream for Seat {
    fn about(&self) -> &ServerAbout {
        self.shared.about()
    }

    async fn request(
        &self,
        message: Box<RawValue>,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let is_personal = PERSONAL.contains(&Asked::read(&message)?.method.as_str());
        if is_personal && !self.session.is_stateless {
            return self.own().await?.request(message, client, cancel).await;
        }
        self.shared.request(message, client, cancel).await
    }

    /// What a client has to tell beside requests concerns no shared conversation.
    async fn notify(&self, _: Box<RawValue>) -> Result<(), UpstreamError> {
        Ok(())
    }
}
