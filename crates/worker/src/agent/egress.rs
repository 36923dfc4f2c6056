//! The way out of an agent's sandbox: models and tools of the orchestrator, and nothing else.
//!
//! The sandbox has no network. Its only listener is served here, outside of it: `/v1/chat/completions` and `/v1/messages` go to
//! the orchestrator's egress, `/mcp` to its gateway, with a token that is bound to the job and never enters the sandbox.
//!
//! Invariants: the path decides where a request goes, nothing that the agent sends does. A connection to a host is refused.

mod forward;
mod job_token;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::JobId;
use cynode_domain::policy::allowed_hosts::AllowedHosts;
use cynode_domain::policy::network::AllowedNetworks;
use cynode_network::NetworkReach;
use cynode_network::proxy::{
    ConnectionEvent, ConnectionLog, ConnectionNotRecorded, LocalRoutes, ProxyPolicy, SandboxProxy,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::forward::OrchestratorRoutes;
use super::canary::{CanaryRoutes, CanaryRun};
use super::{DaemonContext, run_blocking};
use crate::job_dir::JobDir;
use crate::listener_handover::receive_listener;

/// Pause between two looks for the listener of a job that is starting.
const LISTENER_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Serves the connections of a job's agent; never returns. A job without an agent has none. A canary run is answered
/// here, by its script.
pub(super) async fn serve_egress(
    context: &Arc<DaemonContext>,
    job: JobId,
    dir: &JobDir,
    canary: Option<&Arc<CanaryRun>>,
) {
    if dir.spec().is_ok_and(|spec| spec.is_agent()) {
        let listener = wait_for_listener(dir).await;
        let closed = CancellationToken::new();
        // Ends the connections when the job has ended.
        let _guard = closed.clone().drop_guard();
        let policy = ProxyPolicy {
            hosts: AllowedHosts::default(),
            reach: NetworkReach::Public(AllowedNetworks::default()),
            advice: "agents reach models and tools only".to_owned(),
        };
        let log = Arc::new(RefusedConnections { job });
        let routes: Arc<dyn LocalRoutes> = match canary {
            Some(run) => Arc::new(CanaryRoutes::new(Arc::clone(run))),
            None => Arc::new(OrchestratorRoutes::new(Arc::clone(context), job)),
        };
        SandboxProxy::new(policy, context.proxies.clone(), log, context.tasks.clone(), closed)
            .with_local_routes(routes)
            .serve(listener);
        std::future::pending::<()>().await;
    }
    std::future::pending::<()>().await;
}

/// Waits until the supervisor offers the listener.
async fn wait_for_listener(dir: &JobDir) -> TcpListener {
    loop {
        let asked = dir.clone();
        // Until the supervisor has started the sandbox, and once it is ending, there is none.
        if let Ok(Ok(Some(listener))) = run_blocking(move || receive_listener(&asked)).await {
            match TcpListener::from_std(listener) {
                Ok(listener) => return listener,
                Err(error) => tracing::warn!(%error, "listener of a sandbox cannot be used"),
            }
        }
        tokio::time::sleep(LISTENER_POLL_INTERVAL).await;
    }
}

/// Logs refused connections. A connection to a host would have to be recorded durably first, so none is made.
struct RefusedConnections {
    job: JobId,
}

#[async_trait]
impl ConnectionLog for RefusedConnections {
    async fn record(
        &self,
        target: &str,
        event: &ConnectionEvent,
    ) -> Result<(), ConnectionNotRecorded> {
        let ConnectionEvent::Refused { reason } = event else { return Err(ConnectionNotRecorded) };
        tracing::info!(job.id = %self.job, target, reason, "connection of an agent refused");
        Ok(())
    }
}
