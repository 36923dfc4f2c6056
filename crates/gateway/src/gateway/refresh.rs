//! Keeps the policy snapshot current.

use std::collections::BTreeSet;
use std::sync::Arc;

use cynode_domain::policy::network::ALLOWED_NETWORKS_SETTING;
use serde_json::json;
use tracing::{info, warn};

use super::GatewayInner;
use crate::backend::BackendError;
use crate::identity::Identity;
use crate::pipeline;
use crate::resolution::resolve_server;
use crate::snapshot::PolicyServer;
use crate::snapshot::PolicySnapshot;
use cynode_upstream::rpc;

impl GatewayInner {
    /// The current snapshot; reloaded if it lacks the requested entry, so that a new registry entry
    /// is visible to the next request.
    pub(crate) async fn snapshot_containing(
        &self,
        holds: impl Fn(&PolicySnapshot) -> bool + Send,
    ) -> Arc<PolicySnapshot> {
        let snapshot = self.snapshot();
        if holds(&snapshot) {
            return snapshot;
        }
        if let Err(fault) = self.refresh_if_changed().await {
            warn!(error = &fault as &dyn std::error::Error, "loading the registry failed");
        }
        self.snapshot()
    }

    /// The current snapshot; reloaded if the caller may use no server of this name.
    pub(crate) async fn snapshot_with_server(
        &self,
        identity: &Identity,
        slug: &str,
    ) -> Arc<PolicySnapshot> {
        self.snapshot_containing(|known| {
            resolve_server(known, identity, slug)
                .is_some_and(|server| pipeline::is_server_known(known, identity, server))
        })
        .await
    }

    /// Reloads the registry if its revision changed.
    pub(super) async fn refresh_if_changed(&self) -> Result<(), BackendError> {
        let revision = self.backend.revision().await?;
        if revision == self.snapshot().revision {
            return Ok(());
        }
        info!(revision, "registry changed");
        self.refresh().await
    }

    /// Loads the registry and swaps in a new snapshot.
    pub(super) async fn refresh(&self) -> Result<(), BackendError> {
        // One at a time: an older read must not replace a newer one.
        let _turn = self.refresh_lock.lock().await;
        let world = self.backend.world().await?;
        let snapshot = PolicySnapshot::build(world);
        let before = self.snapshot();
        let revision = snapshot.revision;
        self.snapshot.store(Arc::new(snapshot));
        if before.revision != revision {
            self.forget_changed_servers(&before).await;
            let message = rpc::render_notification("notifications/tools/list_changed", &json!({}));
            self.sessions.broadcast(&message);
            self.changed.send_replace(revision);
        }
        Ok(())
    }

    /// Drops connections to servers that changed or were removed, and starts discovery of new ones.
    async fn forget_changed_servers(&self, before: &PolicySnapshot) {
        let now = self.snapshot();
        // The networks that servers may be in depend on a setting, too.
        let are_opened_alike =
            before.setting(ALLOWED_NETWORKS_SETTING) == now.setting(ALLOWED_NETWORKS_SETTING);
        let is_same = |one: &PolicyServer, other: &PolicySnapshot| {
            are_opened_alike && other.server(one.id).is_some_and(|same| same.as_ref() == one)
        };
        let gone = before.servers().filter(|old| !is_same(old, &now));
        let new = now.servers().filter(|new| !is_same(new, before));
        let changed: BTreeSet<_> = gone.chain(new).map(|server| server.id).collect();
        for server in changed {
            self.upstreams.drop_connections(server).await;
        }
    }
}
