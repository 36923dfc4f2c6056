//! The part of the configuration that a running node can change: its jobs go on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cynode_domain::node_labels::NodeLabels;
use cynode_wire::nodes::NodeSettings;

use super::{DaemonContext, NodeDaemon, RepositoryAccess};

/// What a running node can change.
#[derive(Debug, Clone)]
pub struct LiveOptions {
    pub max_concurrency: u32,
    pub labels: NodeLabels,
    pub repositories: RepositoryAccess,
}

/// Changes the configuration of a running node.
#[derive(Debug, Clone)]
pub struct NodeReloader {
    context: Arc<DaemonContext>,
}

impl NodeDaemon {
    /// Returns a handle that changes the configuration while the daemon runs.
    pub fn reloader(&self) -> NodeReloader {
        NodeReloader { context: Arc::clone(&self.context) }
    }
}

impl NodeReloader {
    /// Applies the options. The next poll, which starts at once, reports them to the orchestrator.
    pub fn apply(&self, options: LiveOptions) {
        let LiveOptions { max_concurrency, labels, repositories } = options;
        if let Some(known) = &self.context.repositories {
            known.replace_access(&repositories);
        }
        let settings = NodeSettings { max_concurrency, labels };
        self.context.connection.change_settings(&settings);
        self.context.live.replace(settings);
        self.context.jobs.signal_poll();
        tracing::info!("configuration reloaded");
    }
}

/// The settings in force.
#[derive(Debug)]
pub(super) struct LiveSettings(Mutex<VersionedSettings>);

#[derive(Debug)]
struct VersionedSettings {
    settings: NodeSettings,
    version: u64,
    reported: u64,
}

impl LiveSettings {
    /// Settings that the node reports when it joins.
    pub(super) fn new(settings: NodeSettings) -> Self {
        Self(Mutex::new(VersionedSettings { settings, version: 0, reported: 0 }))
    }

    pub(super) fn max_concurrency(&self) -> u32 {
        self.lock().settings.max_concurrency
    }

    fn replace(&self, settings: NodeSettings) {
        let mut known = self.lock();
        known.settings = settings;
        known.version += 1;
    }

    /// The settings with their version, if the orchestrator does not know them.
    pub(super) fn unreported(&self) -> Option<(u64, NodeSettings)> {
        let known = self.lock();
        (known.reported != known.version).then(|| (known.version, known.settings.clone()))
    }

    pub(super) fn mark_reported(&self, version: u64) {
        self.lock().reported = version;
    }

    fn lock(&self) -> MutexGuard<'_, VersionedSettings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(max_concurrency: u32) -> NodeSettings {
        NodeSettings { max_concurrency, labels: NodeLabels::new() }
    }

    #[test]
    fn settings_are_reported_until_the_orchestrator_knows_the_newest() {
        let live = LiveSettings::new(settings(4));
        assert_eq!(live.unreported(), None);

        live.replace(settings(2));
        let (first, _) = live.unreported().unwrap();
        live.replace(settings(8));
        live.mark_reported(first);

        assert_eq!(live.max_concurrency(), 8);
        let (second, newest) = live.unreported().unwrap();
        assert_eq!(newest, settings(8));
        live.mark_reported(second);
        assert_eq!(live.unreported(), None);
    }
}
