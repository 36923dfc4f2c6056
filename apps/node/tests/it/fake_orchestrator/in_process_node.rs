//! A node of the test process, with the options that the fake orchestrator expects.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_domain::policy::network::AllowedNetworks;
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_sandbox::sandbox::SandboxOptions;
use cynode_worker::agent::{ImageOptions, NodeDaemon, NodeDaemonOptions, RepositoryAccess};
use tokio::task::JoinHandle;

use super::REPOSITORIES;
use crate::workbench::TEST_TIMEOUT;

#[expect(clippy::disallowed_methods, reason = "the test owns the task and ends it")]
fn spawn(future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(future)
}

/// A node in this process, with sandboxes of the real executable.
pub(crate) struct InProcessNode {
    shutdown: Shutdown,
    pub(crate) running: JoinHandle<()>,
}

impl InProcessNode {
    pub(crate) async fn start(state: &Path, orchestrator: SocketAddr) -> Self {
        let agent =
            NodeDaemon::prepare(options(state, orchestrator), Readiness::new()).await.unwrap();
        let shutdown = Shutdown::new();
        let request = shutdown.clone();
        Self { shutdown, running: spawn(async move { agent.run(request).await.unwrap() }) }
    }

    /// Stops as on SIGTERM.
    pub(crate) async fn stop(self) {
        self.shutdown.trigger();
        tokio::time::timeout(TEST_TIMEOUT, self.running).await.unwrap().unwrap();
    }
}

/// Writes the join token that the fake accepts.
pub(crate) fn join_token(state: &Path) -> PathBuf {
    let path = state.join("node-join.token");
    std::fs::write(&path, "join").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

pub(crate) fn options(state: &Path, orchestrator: SocketAddr) -> NodeDaemonOptions {
    let join_token_file = join_token(state);
    let mut sandbox = SandboxOptions::new(state.join("node"));
    sandbox.executable = PathBuf::from(env!("CARGO_BIN_EXE_cynode-node"));
    NodeDaemonOptions {
        orchestrator_url: format!("http://{orchestrator}"),
        join_token_file,
        slug: "test".to_owned(),
        max_concurrency: 2,
        labels: cynode_domain::node_labels::NodeLabels::new(),
        workspace_retention: Duration::from_hours(1),
        sandbox,
        required_features: vec![],
        repositories: RepositoryAccess::new(
            vec![state.join(REPOSITORIES)],
            AllowedNetworks::default(),
        ),
        agent_networks: AllowedNetworks::default(),
        has_edge: false,
        images: ImageOptions::default(),
    }
}
