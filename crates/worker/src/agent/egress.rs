//! The way out of an agent's sandbox: models and tools of the orchestrator, the hosts of its profile, and nothing else.
//!
//! The sandbox has no network. Its only listener is served here, outside of it: `/v1/chat/completions` and `/v1/messages` go to
//! the orchestrator's egress, `/mcp` to its gateway, with a token that is bound to the job and never enters the sandbox. To
//! hosts, the listener is a proxy.
//!
//! Invariants: the path decides where a request goes, nothing that the agent sends does. A connection to a host that the
//! orchestrator has not recorded is not made. A canary run reaches no host.

mod connection_log;
mod forward;
mod job_token;

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_domain::policy::allowed_hosts::AllowedHosts;
use cynode_network::NetworkReach;
use cynode_network::proxy::{ConnectionLog, LocalRoutes, ProxyPolicy, SandboxProxy};
use cynode_sandbox::job_dir::JobDir;
use cynode_sandbox::listener_handover::receive_listener;
use cynode_sandbox::spec::JobSpec;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::connection_log::{JobConnectionLog, UnrecordedConnections};
use self::forward::OrchestratorRoutes;
use super::canary::{CanaryRoutes, CanaryRun};
use super::{DaemonContext, run_blocking};

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
    if let Some(spec) = dir.spec().ok().filter(JobSpec::is_agent) {
        let listener = wait_for_listener(dir).await;
        let closed = CancellationToken::new();
        // Ends the connections when the job has ended.
        let _guard = closed.clone().drop_guard();
        let policy = ProxyPolicy {
            hosts: allowed_hosts(&spec),
            reach: NetworkReach::Public(context.options.agent_networks.clone()),
            advice: "agents reach models, tools and the hosts of their profile".to_owned(),
        };
        let (log, routes): (Arc<dyn ConnectionLog>, Arc<dyn LocalRoutes>) = match canary {
            Some(run) => (
                Arc::new(UnrecordedConnections { job }),
                Arc::new(CanaryRoutes::new(Arc::clone(run))),
            ),
            None => (
                Arc::new(JobConnectionLog::new(Arc::clone(context), job)),
                Arc::new(OrchestratorRoutes::new(Arc::clone(context), job)),
            ),
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

/// The hosts of the job's profile; none in a canary run.
fn allowed_hosts(spec: &JobSpec) -> AllowedHosts {
    let agent = spec.assignment.agent.as_ref().filter(|agent| !agent.is_canary);
    let hosts = agent.map(|agent| agent.hosts.as_slice()).unwrap_or_default();
    AllowedHosts::parse(hosts).unwrap_or_else(|error| {
        tracing::warn!(job.id = %spec.assignment.job_id, %error, "hosts of a profile ignored");
        AllowedHosts::default()
    })
}
