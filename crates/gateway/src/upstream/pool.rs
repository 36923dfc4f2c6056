//! Every conversation with every installed server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_runtime::tasks::Tasks;
use tokio::sync::Notify;

use super::hub::lock;
use super::listing::Listing;
use super::seat::Seat;
use super::site::{Place, Site};
use super::stdio::SpawnSandboxed;
use super::{Directory, UpstreamOptions};
use crate::seams::{ClientSide, SessionKey, Upstream, UpstreamError, Upstreams};

/// Opens conversations with installed servers, and keeps them.
pub struct Pool {
    pub(super) directory: Arc<dyn Directory>,
    pub(super) options: Arc<UpstreamOptions>,
    pub(super) tasks: Tasks,
    /// Told when servers were installed, changed or removed.
    pub(super) wake: Notify,
    spawner: Arc<dyn SpawnSandboxed>,
    sites: Mutex<HashMap<ServerId, Arc<Site>>>,
}

impl Pool {
    /// Knows nothing yet: servers are looked up in `directory` when they are first needed.
    pub fn new(
        directory: Arc<dyn Directory>,
        spawner: Arc<dyn SpawnSandboxed>,
        options: UpstreamOptions,
        tasks: Tasks,
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

    /// What a server offered when it was last looked at.
    pub fn listing(&self, server: ServerId) -> Option<Arc<Listing>> {
        lock(&self.sites).get(&server)?.listing.load_full()
    }

    /// The server, if it is installed and switched on.
    pub(super) async fn site(&self, server: ServerId) -> Result<Arc<Site>, UpstreamError> {
        let known = lock(&self.sites).get(&server).cloned();
        if let Some(site) = known {
            return Ok(site);
        }
        let unreadable = |error: String| {
            tracing::error!(%error, "an installed server cannot be looked up");
            UpstreamError::Unavailable("its configuration cannot be read".to_owned())
        };
        let found = self.directory.server(server).await.map_err(unreadable)?;
        let found = found.ok_or(UpstreamError::Unknown)?;
        let spawner = Arc::clone(&self.spawner);
        let site = Arc::new(Site::new(found, &self.options, spawner, self.tasks.clone())?);
        // Whoever came first is right.
        Ok(Arc::clone(lock(&self.sites).entry(server).or_insert(site)))
    }

    pub(super) fn sites(&self) -> Vec<Arc<Site>> {
        lock(&self.sites).values().cloned().collect()
    }

    /// Ends everything with a server.
    pub(super) fn drop_site(&self, server: ServerId) {
        let site = lock(&self.sites).remove(&server);
        if let Some(site) = site {
            site.end_all();
        }
    }
}

#[async_trait]
impl Upstreams for Pool {
    async fn open(
        &self,
        server: ServerId,
        session: &SessionKey,
        client: Arc<dyn ClientSide>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let site = self.site(server).await?;
        let (place, conversation) = site.seat(session, client.about()).await?;
        site.prepare(&conversation).await;
        if !session.is_stateless {
            conversation.attach(&session.id, &client);
        }
        Ok(match place {
            Place::Own(_) => conversation,
            Place::Shared { .. } => Arc::new(Seat {
                shared: conversation,
                site,
                session: session.clone(),
                listener: client,
            }),
        })
    }

    fn at_rest(&self, server: ServerId) -> Option<UpstreamError> {
        lock(&self.sites).get(&server)?.at_rest()
    }

    async fn close(&self, session: &SessionKey) {
        self.sites().iter().for_each(|site| site.close(session));
    }

    async fn forget(&self, server: ServerId) {
        self.drop_site(server);
        self.wake.notify_one();
    }
}
