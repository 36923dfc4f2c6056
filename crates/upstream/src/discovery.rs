//! Watches installed servers: reads their lists, and reads them again when they change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::ServerId;
use cynode_runtime::shutdown::Shutdown;
use cynode_wire::servers::Transport;
use tokio_util::sync::CancellationToken;

use super::conversation::{NullClient, UpstreamSession};
use super::listing::{ServerListing, gateway_client};
use super::pool::UpstreamPool;
use super::server_connections::{ServerConnections, SessionSlot};
use super::{InstalledServer, UpstreamOptions};
use crate::interface::SessionKey;
use crate::interface::UpstreamClient;
use crate::interface::UpstreamError;

/// First delay before a failed server is read again; doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_secs(2);
/// Session id under which the gateway itself receives `list_changed`.
const DISCOVERY_SESSION_ID: &str = "\0discovery";

impl UpstreamPool {
    /// Watches every installed server until `shutdown`, then closes every upstream session.
    pub async fn run(self: Arc<Self>, shutdown: Shutdown) {
        let mut watched: HashMap<ServerId, WatchedServer> = HashMap::new();
        loop {
            self.reconcile(&mut watched).await;
            self.all_connections().iter().for_each(|connections| connections.close_idle());
            tokio::select! {
                () = shutdown.triggered() => break,
                () = self.wake.notified() => {}
                () = tokio::time::sleep(self.options.refresh_every) => {}
            }
        }
        for watched in watched.into_values() {
            watched.stop.cancel();
        }
        for connections in self.all_connections() {
            self.close_connections(connections.server.id);
        }
    }

    /// Starts and stops watches so that they match the installed servers.
    async fn reconcile(self: &Arc<Self>, watched: &mut HashMap<ServerId, WatchedServer>) {
        let installed = match self.directory.servers().await {
            Ok(installed) => installed,
            Err(error) => return tracing::error!(%error, "listing installed servers failed"),
        };
        let gone = watched.extract_if(|id, watched| {
            let present = installed.iter().find(|server| server.id == *id);
            present.is_none_or(|server| !watched.matches_server(server))
        });
        for (id, gone) in gone.collect::<Vec<_>>() {
            gone.stop.cancel();
            self.close_connections(id);
        }
        for server in installed {
            // A forgotten server has lost its site, which ended its watch.
            let is_watched =
                watched.get(&server.id).is_some_and(|watched| !watched.stop.is_cancelled());
            if !is_watched {
                let stop = self.watch(&server);
                watched.insert(server.id, WatchedServer { stop, server });
            }
        }
    }

    fn watch(self: &Arc<Self>, server: &InstalledServer) -> CancellationToken {
        let (pool, id, stop) = (Arc::clone(self), server.id, CancellationToken::new());
        let stopped = stop.clone();
        self.tasks.spawn("upstream-watch", async move {
            let mut failures = 0;
            while !stopped.is_cancelled() {
                // The server was disabled, and may be enabled again before the pool ends this watch.
                let Ok(connections) = pool.connections_of(id).await else {
                    failures += 1;
                    tokio::select! {
                        () = stopped.cancelled() => {}
                        () = tokio::time::sleep(refresh_delay(&pool.options, failures)) => {}
                    }
                    continue;
                };
                let result = connections.refresh_listing().await;
                pool.report_listing(&connections, &result).await;
                failures = if result.is_ok() { 0 } else { failures + 1 };
                tokio::select! {
                    () = stopped.cancelled() => {}
                    () = connections.closed.cancelled() => {
                        // The pool may have been woken before this watch ended: it starts the next one.
                        stopped.cancel();
                        pool.wake.notify_one();
                    }
                    () = connections.changed.notified() => {}
                    () = tokio::time::sleep(refresh_delay(&pool.options, failures)) => {}
                }
            }
            stopped.cancel();
        });
        stop
    }

    async fn report_listing(
        &self,
        connections: &ServerConnections,
        result: &Result<Arc<ServerListing>, UpstreamError>,
    ) {
        let (id, slug) = (connections.server.id, &connections.server.slug);
        match result {
            Ok(listing) => {
                self.directory.record_tools(id, listing.listed_tools()).await;
                self.directory.record_health(id, None).await;
            }
            Err(error) => {
                tracing::warn!(server.slug = %slug, %error, "reading server lists failed");
                self.directory.record_health(id, Some(error.to_string())).await;
            }
        }
    }
}

/// A watched server, as it was configured when the watch started.
struct WatchedServer {
    stop: CancellationToken,
    server: InstalledServer,
}

impl WatchedServer {
    fn matches_server(&self, server: &InstalledServer) -> bool {
        self.server.slug == server.slug
            && self.server.transport == server.transport
            && self.server.reach == server.reach
    }
}

fn refresh_delay(options: &UpstreamOptions, failures: u32) -> Duration {
    match failures {
        0 => options.refresh_every,
        failures => {
            let pause = FIRST_RETRY * 2_u32.saturating_pow((failures - 1).min(16));
            pause.min(options.refresh_every)
        }
    }
}

impl ServerConnections {
    /// Reads and caches the lists of the server.
    pub(super) async fn refresh_listing(&self) -> Result<Arc<ServerListing>, UpstreamError> {
        let conversation = self.discovery_session().await?;
        let listing = Arc::new(ServerListing::read(&conversation).await?);
        self.apply_listing(&listing);
        self.listing.store(Some(Arc::clone(&listing)));
        Ok(listing)
    }

    /// The gateway's own upstream session. For a process it is the shared one, to avoid a second
    /// process.
    async fn discovery_session(&self) -> Result<Arc<UpstreamSession>, UpstreamError> {
        let place = match self.server.transport {
            Transport::Http { .. } => SessionSlot::Own(SessionKey {
                id: DISCOVERY_SESSION_ID.to_owned(),
                is_stateless: true,
            }),
            Transport::Stdio { .. } => SessionSlot::Shared { is_stateless: false },
        };
        let conversation = self.conversation(&place, &gateway_client()).await?;
        let listener: Arc<dyn UpstreamClient> = Arc::new(NullClient(gateway_client()));
        conversation.attach(DISCOVERY_SESSION_ID, &listener);
        Ok(conversation)
    }
}
