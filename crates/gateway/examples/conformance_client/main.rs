//! A client for the scenarios of the official conformance suite: the gateway's own connection to
//! installed servers, with as little around it as possible.
//!
//! The suite starts it with the URL of a scenario's server. It installs that server, waits until
//! its tools are known, and then calls each of them, reads each resource and gets each prompt, as
//! [`client::AgreeableClient`] would through the gateway. `cargo xtask conformance --upstream` runs it.

mod arguments;
mod client;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_runtime::env;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_upstream::InstalledServer;
use cynode_upstream::ListedTool;
use cynode_upstream::NetworkReach;
use cynode_upstream::NoProcesses;
use cynode_upstream::ServerDirectory;
use cynode_upstream::UpstreamOptions;
use cynode_upstream::UpstreamPool;
use cynode_upstream::interface::SessionKey;
use cynode_upstream::interface::Upstream;
use cynode_upstream::interface::UpstreamClient;
use cynode_upstream::interface::Upstreams as _;
use cynode_wire::servers::Transport;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::arguments::ConformanceRequest;
use crate::client::AgreeableClient;

/// Limit for the discovery of a server's tools.
const PATIENCE: Duration = Duration::from_mins(2);
/// Failed reads of a server before discovery is aborted.
const LOOKS: usize = 3;
/// Limit for closing connections.
const GRACE: Duration = Duration::from_secs(2);

/// In these scenarios the server returns `input_required`. A client with a session cannot receive
/// that: the gateway requests the input and retries the call, which is what the suite checks.
const BRIDGED: &str = "sep-2322-client-request-state";
const SESSIONS: &str = "2025-11-25";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().next_back().ok_or("the URL of a server is needed")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")
        .filter(|_| scenario != BRIDGED)
        .unwrap_or_else(|| SESSIONS.to_owned());

    let (tasks, shutdown) = (BackgroundTasks::new(), Shutdown::new());
    let (seen, mut looked) = mpsc::unbounded_channel();
    let server = InstalledServer {
        id: ServerId::generate(),
        slug: "scenario".to_owned(),
        transport: Transport::Http { url, headers: [].into() },
        reach: NetworkReach::Anywhere,
    };
    let id = server.id;
    let directory = Arc::new(SingleServerDirectory { server, seen });
    let pool = UpstreamPool::new(
        directory,
        Arc::new(NoProcesses),
        UpstreamOptions::default(),
        tasks.clone(),
    );
    let pool = Arc::new(pool);
    let watching = Arc::clone(&pool).run(shutdown.clone());
    tasks.spawn("watch", watching);

    let tools = tokio::time::timeout(PATIENCE, tools_of(&mut looked)).await??;
    let client: Arc<dyn UpstreamClient> = Arc::new(AgreeableClient::new(&version)?);
    let session = SessionKey { id: "conformance".to_owned(), is_stateless: *version > *SESSIONS };
    let upstream = pool.open(id, &session, Arc::clone(&client)).await?;
    let listing = pool.listing(id).unwrap_or_default();
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    for request in arguments::planned_requests(&context, &tools, &listing) {
        run(&upstream, &client, &request).await?;
    }

    pool.close(&session).await;
    shutdown.trigger();
    tasks.finish(GRACE).await;
    Ok(())
}

/// The outcome of discovery: the tools, or the fault.
type DiscoveryOutcome = Result<Vec<ListedTool>, String>;

/// The tools of the server, after the first successful read. On a busy machine the first read may
/// fail.
async fn tools_of(
    looks: &mut mpsc::UnboundedReceiver<DiscoveryOutcome>,
) -> Result<Vec<ListedTool>, Box<dyn Error>> {
    let mut fault = "discovery did not run".to_owned();
    for _ in 0..LOOKS {
        match looks.recv().await {
            Some(Ok(tools)) => return Ok(tools),
            Some(Err(why)) => fault = why,
            None => break,
        }
    }
    Err(fault.into())
}

/// Sends one request; the suite judges the response.
async fn run(
    upstream: &Arc<dyn Upstream>,
    client: &Arc<dyn UpstreamClient>,
    request: &ConformanceRequest,
) -> Result<(), Box<dyn Error>> {
    let ConformanceRequest { method, params } = request;
    let request = json!({ "jsonrpc": "2.0", "id": "one", "method": method, "params": params });
    let request: Box<RawValue> = to_raw_value(&request)?;
    upstream.request(request, Arc::clone(client), CancellationToken::new()).await?;
    Ok(())
}

/// A directory with the scenario's server; forwards discovery reports.
struct SingleServerDirectory {
    server: InstalledServer,
    seen: mpsc::UnboundedSender<DiscoveryOutcome>,
}

#[async_trait]
impl ServerDirectory for SingleServerDirectory {
    async fn servers(&self) -> Result<Vec<InstalledServer>, String> {
        Ok(vec![self.server.clone()])
    }

    async fn server(&self, _: ServerId) -> Result<Option<InstalledServer>, String> {
        Ok(Some(self.server.clone()))
    }

    async fn record_tools(&self, _: ServerId, tools: Vec<ListedTool>) {
        // Only the first read is awaited.
        let _ = self.seen.send(Ok(tools));
    }

    async fn record_health(&self, _: ServerId, fault: Option<String>) {
        if let Some(fault) = fault {
            let _ = self.seen.send(Err(fault));
        }
    }
}
