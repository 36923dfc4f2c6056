//! All upstream sessions with all installed servers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_runtime::tasks::BackgroundTasks;
use tokio::sync::Notify;

use super::listing::ServerListing;
use super::message_router::lock;
use super::server_connections::{ServerConnections, SessionSlot};
use super::shared_session::SharedSession;
use super::stdio::ProcessSpawner;
use super::{ServerDirectory, UpstreamOptions};
use crate::interface::SessionKey;
use crate::interface::Upstream;
use crate::interface::UpstreamClient;
use crate::interface::UpstreamError;
use crate::interface::Upstreams;

/// Opens upstream sessions with installed servers and caches them.
pub struct UpstreamPool {
    pub(super) directory: Arc<dyn ServerDirectory>,
    pub(super) options: Arc<UpstreamOptions>,
    pub(super) tasks: BackgroundTasks,
    /// Notified when servers are installed, changed or removed.
    pub(super) wake: Notify,
    spawner: Arc<dyn ProcessSpawner>,
    sites: Mutex<HashMap<ServerId, Arc<ServerConnections>>>,
}

impl UpstreamPool {
    /// Starts empty: servers are loaded from `directory` on first use.
    pub fn new(
        directory: Arc<dyn ServerDirectory>,
        spawner: Arc<dyn ProcessSpawner>,
        options: UpstreamOptions,
        tasks: BackgroundTasks,
    ) -> Self {
        Self {
            directory,
            options: Arc::new(options),
            tasks,
            wake: Notify::new(),
            spawner,
            sites: Mutex::default(),
        }
    }

    /// The lists of a server as they were last read.
    pub fn listing(&self, server: ServerId) -> Option<Arc<ServerListing>> {
        lock(&self.sites).get(&server)?.listing.load_full()
    }

    /// The server, if it is installed and enabled.
    pub(super) async fn connections_of(
        &self,
        server: ServerId,
    ) -> Result<Arc<ServerConnections>, UpstreamError> {
        let known = lock(&self.sites).get(&server).cloned();
        if let Some(connections) = known {
            return Ok(connections);
        }
        let unreadable = |error: String| {
            tracing::error!(%error, "loading an installed server failed");
            UpstreamError::Unavailable("its configuration cannot be loaded".to_owned())
        };
        let found = self.directory.server(server).await.map_err(unreadable)?;
        let found = found.ok_or(UpstreamError::Unknown)?;
        let spawner = Arc::clone(&self.spawner);
        let connections =
            Arc::new(ServerConnections::new(found, &self.options, spawner, self.tasks.clone())?);
        // A concurrent caller may have inserted it first.
        Ok(Arc::clone(lock(&self.sites).entry(server).or_insert(connections)))
    }

    pub(super) fn all_connections(&self) -> Vec<Arc<ServerConnections>> {
        lock(&self.sites).values().cloned().collect()
    }

    /// Closes all upstream sessions with a server.
    pub(super) fn close_connections(&self, server: ServerId) {
        let connections = lock(&self.sites).remove(&server);
        if let Some(connections) = connections {
            connections.close_all();
        }
    }
}

#[async_trait]
impl Upstreams for UpstreamPool {
    async fn open(
        &self,
        server: ServerId,
        session: &SessionKey,
        client: Arc<dyn UpstreamClient>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let connections = self.connections_of(server).await?;
        let (slot, conversation) = connections.open_session(session, client.about()).await?;
        connections.ensure_tools_known(&conversation).await;
        if !session.is_stateless {
            conversation.attach(&session.id, &client);
        }
        Ok(match slot {
            SessionSlot::Own(_) => conversation,
            SessionSlot::Shared { .. } => Arc::new(SharedSession {
                shared: conversation,
                connections,
                session: session.clone(),
                listener: client,
            }),
        })
    }

    fn circuit_error(&self, server: ServerId) -> Option<UpstreamError> {
        lock(&self.sites).get(&server)?.circuit_error()
    }

    async fn close(&self, session: &SessionKey) {
        self.all_connections().iter().for_each(|connections| connections.close_session(session));
    }

    async fn drop_connections(&self, server: ServerId) {
        self.close_connections(server);
        self.wake.notify_one();
    }
}
