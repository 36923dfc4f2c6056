//! Finding out what installed servers offer, and noticing when that changes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::ServerId;
use cynode_runtime::shutdown::Shutdown;
use cynode_wire::servers::Transport;
use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, Nobody};
use super::listing::{Listing, ourselves};
use super::pool::Pool;
use super::site::{Place, Site};
use super::{InstalledServer, UpstreamOptions};
use crate::seams::{ClientSide, SessionKey, UpstreamError};

/// How long to wait before a server that failed is looked at again, at first.
const FIRST_RETRY: Duration = Duration::from_secs(2);
/// Whom the server tells that its lists changed, when that is nobody else.
const LISTENER: &str = "\0discovery";

impl Pool {
    /// Watches every installed server until `shutdown`; then ends every conversation.
    pub async fn run(self: Arc<Self>, shutdown: Shutdown) {
        let mut watched: HashMap<ServerId, Watched> = HashMap::new();
        loop {
            self.reconcile(&mut watched).await;
            self.sites().iter().for_each(|site| site.sweep());
            tokio::select! {
                () = shutdown.triggered() => break,
                () = self.wake.notified() => {}
                () = tokio::time::sleep(self.options.refresh_every) => {}
            }
        }
        for watched in watched.into_values() {
            watched.stop.cancel();
        }
        for site in self.sites() {
            self.drop_site(site.server.id);
        }
    }

    /// Compares the servers that are watched with those that are installed.
    async fn reconcile(self: &Arc<Self>, watched: &mut HashMap<ServerId, Watched>) {
        let installed = match self.directory.servers().await {
            Ok(installed) => installed,
            Err(error) => return tracing::error!(%error, "installed servers cannot be listed"),
        };
        let gone = watched.extract_if(|id, watched| {
            let present = installed.iter().find(|server| server.id == *id);
            present.is_none_or(|server| !watched.is_of(server))
        });
        for (id, gone) in gone.collect::<Vec<_>>() {
            gone.stop.cancel();
            self.drop_site(id);
        }
        for server in installed {
            // A forgotten server has lost its site, and its watch has ended with that.
            let is_watched =
                watched.get(&server.id).is_some_and(|watched| !watched.stop.is_cancelled());
            if !is_watched {
                let stop = self.watch(&server);
                watched.insert(server.id, Watched { stop, server });
            }
        }
    }

    fn watch(self: &Arc<Self>, server: &InstalledServer) -> CancellationToken {
        let (pool, id, stop) = (Arc::clone(self), server.id, CancellationToken::new());
        let stopped = stop.clone();
        self.tasks.spawn("upstream-watch", async move {
            let mut failures = 0;
            while !stopped.is_cancelled() {
                let Ok(site) = pool.site(id).await else { break };
                let result = site.look().await;
                pool.tell(&site, &result).await;
                failures = if result.is_ok() { 0 } else { failures + 1 };
                tokio::select! {
                    () = stopped.cancelled() => {}
                    () = site.closed.cancelled() => break,
                    () = site.changed.notified() => {}
                    () = tokio::time::sleep(pause(&pool.options, failures)) => {}
                }
            }
            stopped.cancel();
        });
        stop
    }

    async fn tell(&self, site: &Site, result: &Result<Arc<Listing>, UpstreamError>) {
        let (id, slug) = (site.server.id, &site.server.slug);
        match result {
            Ok(listing) => {
                self.directory.observe(id, listing.seen_tools()).await;
                self.directory.report(id, None).await;
            }
            Err(error) => {
                tracing::warn!(server.slug = %slug, %error, "server {slug} cannot be looked at");
                self.directory.report(id, Some(error.to_string())).await;
            }
        }
    }
}

/// A server that is watched, as it was when that began.
struct Watched {
    stop: CancellationToken,
    server: InstalledServer,
}

impl Watched {
    fn is_of(&self, server: &InstalledServer) -> bool {
        self.server.slug == server.slug
            && self.server.transport == server.transport
            && self.server.reach == server.reach
    }
}

fn pause(options: &UpstreamOptions, failures: u32) -> Duration {
    match failures {
        0 => options.refresh_every,
        failures => {
            let pause = FIRST_RETRY * 2_u32.saturating_pow((failures - 1).min(16));
            pause.min(options.refresh_every)
        }
    }
}

impl Site {
    /// Reads what the server offers, and keeps it.
    pub(super) async fn look(&self) -> Result<Arc<Listing>, UpstreamError> {
        let conversation = self.own_conversation().await?;
        let listing = Arc::new(Listing::read(&conversation).await?);
        self.learn(&listing);
        self.listing.store(Some(Arc::clone(&listing)));
        Ok(listing)
    }

    /// Our own conversation: with a process it is the shared one, so that there are not two.
    async fn own_conversation(&self) -> Result<Arc<Conversation>, UpstreamError> {
        let place = match self.server.transport {
            Transport::Http { .. } => {
                Place::Own(SessionKey { id: LISTENER.to_owned(), is_stateless: true })
            }
            Transport::Stdio { .. } => Place::Shared { is_stateless: false },
        };
        let conversation = self.conversation(&place, &ourselves()).await?;
        let listener: Arc<dyn ClientSide> = Arc::new(Nobody(ourselves()));
        conversation.attach(LISTENER, &listener);
        Ok(conversation)
    }
}
