//! How what is decided by stays true to the registry.

use std::collections::BTreeSet;
use std::sync::Arc;

use cynode_domain::policy::network::OPENINGS;
use serde_json::json;
use tracing::{info, warn};

use super::Inner;
use crate::backend::BackendError;
use crate::rpc;
use crate::snapshot::{Server, Snapshot};

impl Inner {
    /// What is decided by now; looked up anew if it does not hold what is asked for. What somebody
    /// put into the registry a moment ago is known to the next who asks for it.
    pub(crate) async fn snapshot_with(
        &self,
        holds: impl Fn(&Snapshot) -> bool + Send,
    ) -> Arc<Snapshot> {
        let snapshot = self.snapshot();
        if holds(&snapshot) {
            return snapshot;
        }
        if let Err(fault) = self.follow().await {
            warn!(error = &fault as &dyn std::error::Error, "the registry could not be read");
        }
        self.snapshot()
    }

    /// Reads the registry if it changed.
    pub(super) async fn follow(&self) -> Result<(), BackendError> {
        let revision = self.backend.revision().await?;
        if revision == self.snapshot().revision {
            return Ok(());
        }
        info!(revision, "the registry changed: revision {revision}");
        self.refresh().await
    }

    /// Reads the registry and decides by it from now on.
    pub(super) async fn refresh(&self) -> Result<(), BackendError> {
        // One at a time: what was read first must not replace what was read last.
        let _turn = self.refreshing.lock().await;
        let world = self.backend.world().await?;
        let snapshot = Snapshot::build(world);
        let before = self.snapshot();
        let revision = snapshot.revision;
        self.snapshot.store(Arc::new(snapshot));
        if before.revision != revision {
            self.forget_changed_servers(&before).await;
            let message = rpc::notification("notifications/tools/list_changed", &json!({}));
            self.sessions.tell_all(&message);
            self.changed.send_replace(revision);
        }
        Ok(())
    }

    /// Connections to servers that changed or are gone are not used any longer, and new ones are
    /// looked at.
    async fn forget_changed_servers(&self, before: &Snapshot) {
        let now = self.snapshot();
        // How far servers may be away depends on a setting, too.
        let are_opened_alike = before.setting(OPENINGS) == now.setting(OPENINGS);
        let is_same = |one: &Server, other: &Snapshot| {
            are_opened_alike && other.server(&one.slug).is_some_and(|same| same.as_ref() == one)
        };
        let gone = before.servers().filter(|old| !is_same(old, &now));
        let new = now.servers().filter(|new| !is_same(new, before));
        let changed: BTreeSet<_> = gone.chain(new).map(|server| server.id).collect();
        for server in changed {
            self.upstreams.forget(server).await;
        }
    }
}
